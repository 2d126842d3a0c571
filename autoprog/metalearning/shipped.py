"""The shipped prior: what searches on open cohorts have taught, so that the first search of all begins with something.

`data/open_cohorts.json.gz` holds the `CohortStatistics` of each, its feature names and its study, nothing about a
patient. `python -m training.prior` learns it anew.

A new cohort may be one of these, or another copy of the same study. Its search would then begin with what was best for
its own patients, and its score would not know of that choice. Studies whose columns it has are therefore passed over:
those of which it shares three names, or all of the shorter list, and a third of the shorter list, whatever their
capitals and punctuation; age and sex say nothing. It costs little to pass over a study in error. A cohort whose columns
were renamed cannot be told.
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
"""Names, and share of those of the cohort that has fewer, from which on two cohorts are taken for one study."""

_EVERYBODY_S = frozenset({"age", "sex", "gender"})
_PLACE = files("autoprog.metalearning") / "data" / "open_cohorts.json.gz"


@dataclass(frozen=True, slots=True)
class OpenCohort:
    """An open cohort that a search was made on.

    Attributes
    ----------
    study : str
        Cohorts with the same patients have the same.
    features : frozenset of str
        Its `plain_names`.
    statistics : CohortStatistics
        What the search taught; `cohort_id` is the cohort's name.
    """

    study: str
    features: frozenset[str]
    statistics: CohortStatistics

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {"study": self.study, "features": sorted(self.features), "statistics": self.statistics.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> OpenCohort:
        """The inverse of `to_json`."""
        statistics = CohortStatistics.from_json(document["statistics"])
        return cls(document["study"], frozenset(document["features"]), statistics)


def write_open_cohorts(cohorts: Sequence[OpenCohort]) -> bytes:
    """The shipped file of these cohorts; the same bytes every time."""
    lines = [json.dumps(cohort.to_json(), sort_keys=True) for cohort in cohorts]
    return gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)


def read_open_cohorts(content: bytes) -> tuple[OpenCohort, ...]:
    """The inverse of `write_open_cohorts`."""
    return tuple(OpenCohort.from_json(json.loads(line)) for line in gzip.decompress(content).splitlines())


@cache
def open_cohorts() -> tuple[OpenCohort, ...]:
    """Those that autoprog is shipped with."""
    return read_open_cohorts(_PLACE.read_bytes())


def shipped_statistics(features: Collection[str]) -> tuple[CohortStatistics, ...]:
    """What open cohorts teach a search on a cohort.

    Parameters
    ----------
    features : collection of str
        Names of the cohort's columns.

    Returns
    -------
    tuple of CohortStatistics
        Of all studies but those that this cohort may be of.
    """
    here = plain_names(features)
    same = {cohort.study for cohort in open_cohorts() if _may_be_one_study(here, cohort.features)}
    return tuple(cohort.statistics for cohort in open_cohorts() if cohort.study not in same)


def plain_names(features: Collection[str]) -> frozenset[str]:
    """Names by which a study can be told: in lower case, letters and digits only, without age and sex."""
    return frozenset(re.sub(r"[^a-z0-9]", "", name.lower()) for name in features) - _EVERYBODY_S


def _may_be_one_study(one: frozenset[str], other: frozenset[str]) -> bool:
    fewer, shared = min(len(one), len(other)), len(one & other)
    return fewer > 0 and shared >= min(SAME_NAMES, fewer) and shared >= SAME_SHARE * fewer
