"""The shipped prior: statistics of searches on open cohorts, for a first search.

`python -m training.prior` makes `data/open_cohorts.json.gz`, which holds nothing about a patient.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from autoprog.metalearning.cohort_statistics import CohortStatistics

SAME_NAMES, SAME_SHARE = 3, 1 / 3
"""Shared names, and their share of the shorter list, from which two cohorts count as one study."""

_EVERYBODY_S = frozenset({"age", "sex", "gender"})
_PLACE = files("autoprog.metalearning") / "data" / "open_cohorts.json.gz"


@dataclass(frozen=True, slots=True)
class OpenCohort:
    """An open cohort that a search was made on."""

    study: str  # equal for cohorts of the same patients
    features: frozenset[str]  # `plain_names`
    statistics: CohortStatistics  # `cohort_id` is the cohort's name

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {"study": self.study, "features": sorted(self.features), "statistics": self.statistics.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> OpenCohort:
        """Read the document of `to_json`."""
        statistics = CohortStatistics.from_json(document["statistics"])
        return cls(document["study"], frozenset(document["features"]), statistics)


def write_open_cohorts(cohorts: Sequence[OpenCohort]) -> bytes:
    """Serialise cohorts to the bytes of the shipped file, reproducibly."""
    lines = [json.dumps(cohort.to_json(), sort_keys=True) for cohort in cohorts]
    return gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)


def read_open_cohorts(content: bytes) -> tuple[OpenCohort, ...]:
    """Read the bytes of `write_open_cohorts`."""
    return tuple(OpenCohort.from_json(json.loads(line)) for line in gzip.decompress(content).splitlines())


@cache
def open_cohorts() -> tuple[OpenCohort, ...]:
    """Load the open cohorts that autoprog is shipped with."""
    return read_open_cohorts(_PLACE.read_bytes())


def shipped_statistics(features: Collection[str]) -> tuple[CohortStatistics, ...]:
    """Statistics of the open cohorts, without studies that a cohort may belong to by its column names."""
    here = plain_names(features)
    same = {cohort.study for cohort in open_cohorts() if _may_be_one_study(here, cohort.features)}
    return tuple(cohort.statistics for cohort in open_cohorts() if cohort.study not in same)


def plain_names(features: Collection[str]) -> frozenset[str]:
    """Reduce column names to lower-case letters and digits, without age and sex, which identify no study."""
    return frozenset(re.sub(r"[^a-z0-9]", "", name.lower()) for name in features) - _EVERYBODY_S


def _may_be_one_study(one: frozenset[str], other: frozenset[str]) -> bool:
    # A search on a copy of a study would begin with the best pipelines for its own patients, and its score would not
    # account for that choice. To skip a study in error costs little. Renamed columns cannot be recognised.
    fewer, shared = min(len(one), len(other)), len(one & other)
    return fewer > 0 and shared >= min(SAME_NAMES, fewer) and shared >= SAME_SHARE * fewer
