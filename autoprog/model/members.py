"""What a model is made of, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

from autoprog.cohort import Cohort
from autoprog.model.serialization import load_estimator

_LIBRARIES = (
    "autoprog",
    "lightgbm",
    "numpy",
    "scikit-learn",
    "scikit-survival",
    "scipy",
    "skops",
    "xgboost",
    "xgboost-cpu",
)


@dataclass(frozen=True)
class Member:
    """One fitted pipeline of the ensemble.

    Attributes
    ----------
    weight : float
        Its share of the ensemble's risk, in (0, 1].
    artifact : bytes
        The fitted pipeline, as `dump_estimator` writes it.
    window : int or None
        Visits that it looks back on; None where the cohort's rows are patients.
    """

    weight: float
    artifact: bytes
    window: int | None = None

    @cached_property
    def estimator(self) -> Any:  # noqa: ANN401  scikit-learn has no common type of classifiers
        """The fitted pipeline; read on first use, which raises ArtifactError where it cannot be read."""
        return load_estimator(self.artifact)


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Where a model comes from.

    Attributes
    ----------
    cohort : str
        Name of the cohort that it was fitted on.
    n_patients : int
        Patients of that cohort.
    event_rate : float
        Share of them with the outcome, in (0, 1).
    versions : mapping
        Library -> version that fitted it.
    """

    cohort: str
    n_patients: int
    event_rate: float
    versions: Mapping[str, str]

    @classmethod
    def of(cls, cohort: Cohort) -> Self:
        """Metadata of a model that this process fits on a cohort."""
        return cls(cohort.name, cohort.n_patients, cohort.event_rate, _installed_versions())


def _installed_versions() -> dict[str, str]:
    versions = {}
    for library in _LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:  # xgboost comes by either of two names
            continue
    return versions
