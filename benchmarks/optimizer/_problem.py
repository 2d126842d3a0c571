"""By its former name, for `benchmarks/ensembles`."""

from benchmarks.optimizer.problem import Problem

__all__ = ["Problem"]
