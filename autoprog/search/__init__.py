"""The main job: the loop of proposing, evaluating and delivering, and what it needs of the world.

Processes that run searches import `autoprog.search.runner`, which brings the learning libraries with it.
"""

from autoprog.search.planning import plan_search
from autoprog.search.settings import SearchSettings

__all__ = ["SearchSettings", "plan_search"]
