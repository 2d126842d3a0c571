"""Engines of calls: each call runs in a child process that is watched and can be killed.

`LocalEngine` runs calls on this machine; `autoprog.engine.cluster` on the workers of several. Both implement the port
`autoprog.work.Dispatcher`.
"""

from autoprog.engine.local_engine import EngineHealth, LocalEngine

__all__ = ["EngineHealth", "LocalEngine"]
