"""By its former name, for `benchmarks/ensembles`."""

from training.prior.cohorts import family_of, load, whole

__all__ = ["family_of", "load", "whole"]
