"""Engine of evaluations: Dask.distributed dispatches calls; a child process of the worker runs each and can be killed.

`DaskEngine` implements the port `autoprog.work.Dispatcher`, with workers in this process or on a cluster;
`scheduler_main` and `worker_main` are a cluster's scheduler and worker, `make_certificates` lets them trust each other.
"""

from autoprog.engine.dask_engine import DaskEngine, EngineHealth
from autoprog.engine.encryption import are_there, make_certificates
from autoprog.engine.scheduler import scheduler_main
from autoprog.engine.worker import worker_main

__all__ = ["DaskEngine", "EngineHealth", "are_there", "make_certificates", "scheduler_main", "worker_main"]
