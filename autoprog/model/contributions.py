"""Contributions of findings: how much the risk of a patient changes by knowing each of them.

    K        known findings of a patient
    r(K)     the model's risk, averaged over the distribution of the unknown findings given K
    c_j      contribution of finding j in K:  r(K) - r(K without j)

This is the effect of removing one finding, with a conditional expectation in its place. Contributions do not add up to
the risk: of two findings that tell the same, each contributes little, since the other remains. They describe the model,
not causes. A model of an earlier version has no distribution; there the members' imputations stand in for the finding.

References
----------
Covert, Lundberg & Lee 2021, Journal of Machine Learning Research 22:209 (removal-based explanations); Robnik-Sikonja &
Kononenko 2008, IEEE Transactions on Knowledge and Data Engineering 20:589 (the difference, averaged over values).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature, WindowSchema

_Floats = NDArray[np.float64]
Tables = Mapping[int, _Floats]

RisksAndCauses = tuple[_Floats, _Floats | None]
Predict = Callable[[Tables, NDArray[np.bool_]], RisksAndCauses]

_ROWS_AT_ONCE = 5_000  # patients with a finding removed; each is drawn many times


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions of the findings of some patients; NaN for findings that are unknown.

    Attributes
    ----------
    features : tuple of str
        Names of the model's inputs.
    risks : ndarray, shape = (n_patients, n_inputs) or (n_patients, n_inputs, n_horizons)
        Differences of the risk, in [-1, 1].
    causes : ndarray, shape = (n_patients, n_inputs, n_causes, n_horizons), or None
        Differences of each cause's risk, the event of interest first; None if the outcome has no time.
    """

    features: tuple[str, ...]
    risks: _Floats
    causes: _Floats | None = None


@dataclass(frozen=True, slots=True)
class HorizonContribution:
    """Contribution of one finding to the risk until a horizon.

    Attributes
    ----------
    horizon : float
        In the unit of the cohort's times.
    risk : float
        Difference of the risk of the event of interest, in [-1, 1].
    causes : mapping of str to float
        Difference of each cause's risk, by its value in the file, the event of interest first.
    """

    horizon: float
    risk: float
    causes: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {"horizon": self.horizon, "risk": self.risk, "causes": dict(self.causes)}


@dataclass(frozen=True, slots=True)
class Contribution:
    """Contribution of one finding of one patient.

    Attributes
    ----------
    feature : str
        Name of the model's input.
    risk : float or None
        Risk with the finding minus risk without it, in [-1, 1]; None if there are several horizons.
    horizons : tuple of HorizonContribution
        Ascending; empty if the outcome has no time.
    """

    feature: str
    risk: float | None
    horizons: tuple[HorizonContribution, ...] = ()

    @property
    def size(self) -> float:
        """Largest absolute difference over the horizons."""
        return max(abs(each.risk) for each in self.horizons) if self.risk is None else abs(self.risk)

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "feature": self.feature,
            "risk": self.risk,
            "horizons": [horizon.to_json() for horizon in self.horizons],
        }


def remove_each(
    tables: Tables,
    groups: Sequence[slice],
    names: tuple[str, ...],
    predict: Predict,
) -> Contributions:
    """Predict with all known findings and without each of them; `groups` holds the columns of each input."""
    # `predict` takes the tables, and the cells that were removed from them, shape = (n, n_features).
    longest = tables[max(tables)]
    # For visits the first column is the last observed value: without one, nothing of the finding is known.
    known = np.column_stack([~np.isnan(longest[:, group.start]) for group in groups])
    parts = [_differences(part, known[rows], groups, predict) for rows, part in _in_parts(tables, len(groups))]
    causes = [part[1] for part in parts if part[1] is not None]
    risks = np.concatenate([part[0] for part in parts])
    return Contributions(names, risks, np.concatenate(causes) if causes else None)


def find_columns(features: Sequence[Feature], windows: WindowSchema | None) -> list[slice]:
    """Columns of a model's table that stem from each of its inputs."""
    if windows is None:
        return [slice(j, j + 1) for j in range(len(features))]
    names = [feature.name for feature in features]
    groups, start = [], 0
    for feature, varies in zip(windows.features, windows.varying, strict=True):
        end = names.index(f"{feature.name} (missing now)", start) + 1 if varies else start + 1
        groups.append(slice(start, end))
        start = end
    return groups


def list_contributions(found: Contributions, causes: Sequence[str], horizons: Sequence[float]) -> list[Patient]:
    """Name each patient's contributions, the largest first."""
    return [
        tuple(sorted(_of_patient(found, i, causes, horizons), key=lambda c: -c.size)) for i in range(len(found.risks))
    ]


Patient = tuple[Contribution, ...]


def _of_patient(
    found: Contributions, i: int, causes: Sequence[str], horizons: Sequence[float]
) -> Iterator[Contribution]:
    for j, name in enumerate(found.features):
        changes = np.atleast_1d(found.risks[i, j])
        if np.isnan(changes).any():
            continue
        if found.causes is None:
            yield Contribution(name, float(changes[0]))
            continue
        at = tuple(
            HorizonContribution(horizon, change, dict(zip(causes, found.causes[i, j, :, k].tolist(), strict=True)))
            for k, (horizon, change) in enumerate(zip(horizons, changes.tolist(), strict=True))
        )
        yield Contribution(name, at[0].risk if len(at) == 1 else None, at)


def _in_parts(tables: Tables, n_inputs: int) -> Iterator[tuple[slice, Tables]]:
    """Split patients so that those with a finding removed stay few."""
    n, size = len(tables[max(tables)]), max(1, _ROWS_AT_ONCE // (n_inputs + 1))
    for start in range(0, n, size):
        rows = slice(start, start + size)
        yield rows, {w: x[rows] for w, x in tables.items()}


def _differences(
    tables: Tables,
    known: NDArray[np.bool_],
    groups: Sequence[slice],
    predict: Predict,
) -> RisksAndCauses:
    """Differences for some patients, by one prediction of them all, with and without each finding."""
    n = len(known)
    patients, findings = np.nonzero(known)
    stacked = {}
    for window, x in tables.items():
        removed = x[patients]
        for j, group in enumerate(groups):
            removed[findings == j, group] = np.nan
        stacked[window] = np.concatenate([x, removed])
    longest = tables[max(tables)]
    taken = np.zeros((n + len(patients), longest.shape[1]), dtype=bool)
    for j, group in enumerate(groups):
        taken[n:][findings == j, group] = True

    def difference(found: _Floats) -> _Floats:
        changes = np.full((*known.shape, *found.shape[1:]), np.nan)
        changes[patients, findings] = found[:n][patients] - found[n:]
        return changes

    risks, causes = predict(stacked, taken)
    return difference(risks), None if causes is None else difference(causes)
