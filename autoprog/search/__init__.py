"""The main job: the loop over proposing, evaluating and delivering, and what it needs of the world.

`autoprog.search.runner` is imported by the processes that run searches; it brings the learning libraries with it.
"""

from autoprog.search.planning import plan_search
from autoprog.search.settings import SearchSettings

__all__ = ["SearchSettings", "plan_search"]
