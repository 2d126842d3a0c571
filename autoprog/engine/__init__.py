"""Engine of evaluations: Dask.distributed dispatches calls; a child process of the worker runs each and can be killed.

`DaskEngine` implements the port `autoprog.work.Dispatcher`, with workers in this process or on a cluster;
`worker_main` is a cluster's worker.
"""

from autoprog.engine.dask_engine import DaskEngine, EngineHealth
from autoprog.engine.worker import worker_main

__all__ = ["DaskEngine", "EngineHealth", "worker_main"]
