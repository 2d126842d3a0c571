"""A cluster of several machines: Dask.distributed brings calls to workers, whose child processes run them.

`scheduler_main` and `worker_main` are its processes, `ClusterEngine` connects to them, and `make_certificates` lets all
of them trust each other.
"""

from autoprog.engine.cluster.cluster_engine import ClusterEngine
from autoprog.engine.cluster.encryption import are_there, make_certificates
from autoprog.engine.cluster.scheduler import scheduler_main
from autoprog.engine.cluster.worker import worker_main

__all__ = ["ClusterEngine", "are_there", "make_certificates", "scheduler_main", "worker_main"]
