"""By its former name, for `benchmarks/ensembles`."""

from benchmarks.optimizer.methods import METHODS

__all__ = ["METHODS"]
