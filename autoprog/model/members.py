"""Members of a model, and its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
    """One fitted pipeline of the ensemble."""

    weight: float  # share of the ensemble's risk, in (0, 1]
    artifact: bytes  # the fitted pipeline, written by `dump_estimator`
    window: int | None = None  # visits that it looks back on; None if the cohort's rows are patients

    @cached_property
    def estimator(self) -> Any:  # noqa: ANN401  scikit-learn has no common type of classifiers
        """Fitted pipeline, read on first use; raises ArtifactError if it cannot be read."""
        return load_estimator(self.artifact)


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Origin of a model."""

    cohort: str  # name of the cohort that it was fitted on
    n_patients: int
    event_rate: float  # share with the outcome, in (0, 1)
    versions: Mapping[str, str]  # library -> version at the fit
    na_values: tuple[str, ...] = ()  # canonical texts of cells that meant missing, besides the usual ones

    @classmethod
    def of(cls, cohort: Cohort) -> Self:
        """Metadata of a model that this process fits on a cohort."""
        return cls(cohort.name, cohort.n_patients, cohort.event_rate, _installed_versions(), cohort.na_values)

    def to_json(self) -> dict[str, Any]:
        """JSON document; without `na_values` it is the one of versions that had none."""
        document = asdict(self)
        if not self.na_values:
            del document["na_values"]
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` made."""
        return cls(**{**document, "na_values": tuple(document.get("na_values", ()))})


def _installed_versions() -> dict[str, str]:
    versions = {}
    for library in _LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:  # xgboost comes by either of two names
            continue
    return versions
