"""What the curves say: means, paired differences, ranks, evaluations to a target.

A cohort's figure is the mean over its surrogates and seeds; a family's the mean over its cohorts. The unit of every
interval is the family: copies of one study are no independent evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

from benchmarks.optimizer.curves import Curves, Place, Table

Array = NDArray[np.float64]
At = Callable[[Curves], Mapping[int, float]]

_RESAMPLES = 10_000


def cohort_means(curves: Mapping[Place, Curves], at: At, surrogate: str | None = None) -> dict[str, float]:
    """Mean over surrogates of the mean over seeds, by cohort."""
    values: dict[str, list[float]] = defaultdict(list)
    for place, of_place in curves.items():
        by_seed = at(of_place)
        if by_seed and surrogate in {None, place.surrogate}:
            values[place.cohort].append(float(np.mean(list(by_seed.values()))))
    return {cohort: float(np.mean(means)) for cohort, means in values.items()}


@dataclass(frozen=True)
class Difference:
    """A method against another, at equal evaluations, on the landscapes and seeds that both have.

    Attributes
    ----------
    mean, low, high : float
        Mean over families of the regret's difference, and its 95 % interval over resampled families; below 0 the first
        method is better.
    ratio, ratio_low, ratio_high : float
        The first method's mean regret over families as a share of the second's, and its interval over the same.
    by_cohort : mapping
        Cohort -> (mean difference, its standard error over seeds).
    """

    mean: float
    low: float
    high: float
    ratio: float
    ratio_low: float
    ratio_high: float
    by_cohort: Mapping[str, tuple[float, float]]

    @property
    def wins(self) -> int:
        """Cohorts on which the first method is better."""
        return sum(mean < 0 for mean, _ in self.by_cohort.values())


def difference(
    first: Mapping[Place, Curves],
    second: Mapping[Place, Curves],
    at: At,
    family_of: Callable[[str], str],
) -> Difference | None:
    """Compare two methods.

    Parameters
    ----------
    first, second : mapping
        Landscape -> curves.
    at : callable
        Curves -> regret by seed.
    family_of : callable
        Cohort -> family.

    Returns
    -------
    Difference or None
        None where they have no run in common.
    """
    by_cohort: dict[str, list[Array]] = defaultdict(list)
    for place in sorted(first.keys() & second.keys(), key=str):
        a, b = at(first[place]), at(second[place])
        common = sorted(a.keys() & b.keys())
        if common:
            by_cohort[place.cohort].append(np.array([[a[seed], b[seed]] for seed in common]))
    if not by_cohort:
        return None
    of_family: dict[str, list[Array]] = defaultdict(list)
    for cohort, parts in by_cohort.items():
        of_family[family_of(cohort)].append(np.mean([part.mean(axis=0) for part in parts], axis=0))
    pairs = np.array([np.mean(means, axis=0) for _, means in sorted(of_family.items())])
    differences = pairs[:, 0] - pairs[:, 1]
    return Difference(
        float(differences.mean()),
        *interval(differences.tolist()),
        *_ratio(pairs),
        {cohort: _mean_and_error([p[:, 0] - p[:, 1] for p in parts]) for cohort, parts in sorted(by_cohort.items())},
    )


def _ratio(pairs: Array) -> tuple[float, float, float]:
    """Of the means of both columns, and its 95 % interval over resampled rows; NaN where there is nothing to lack."""
    rng = np.random.default_rng(0)
    resampled = pairs[rng.integers(len(pairs), size=(_RESAMPLES, len(pairs)))].mean(axis=1)
    if not (resampled[:, 1] > 0).all():
        return float("nan"), float("nan"), float("nan")
    low, high = np.quantile(resampled[:, 0] / resampled[:, 1], [0.025, 0.975])
    mean = pairs.mean(axis=0)
    return float(mean[0] / mean[1]), float(low), float(high)


def interval(of_families: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean over resampled families; NaN without one."""
    means = np.array(of_families)
    if not len(means):
        return float("nan"), float("nan")
    rng = np.random.default_rng(0)
    resampled = means[rng.integers(len(means), size=(_RESAMPLES, len(means)))].mean(axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return float(low), float(high)


def _mean_and_error(parts: Sequence[Array]) -> tuple[float, float]:
    """Mean over surrogates of means over seeds; surrogates are fixed, seeds are drawn.

    Of real evaluations every part is one run on a split of its own, and the parts are what is drawn.
    """
    mean = float(np.mean([part.mean() for part in parts]))
    if len(parts) > 1 and all(len(part) == 1 for part in parts):
        return mean, float(np.std(np.concatenate(parts), ddof=1) / np.sqrt(len(parts)))
    if min(len(part) for part in parts) < 2:
        return mean, float("nan")
    variance = sum(part.var(ddof=1) / len(part) for part in parts) / len(parts) ** 2
    return mean, float(np.sqrt(variance))


def evaluations_to(curve: Array, target: float) -> int | None:
    """The first number of evaluations at which the mean curve is at most the target; None if it never is."""
    reached = np.flatnonzero(curve <= target + 1e-12)
    return int(reached[0]) + 1 if len(reached) else None


def mean_curve(curves: Mapping[Place, Curves], attribute: str = "regret") -> Array:
    """Mean over cohorts of the mean over surrogates and seeds; as long as the shortest run."""
    by_cohort: dict[str, list[Array]] = defaultdict(list)
    for place, of_place in curves.items():
        runs = list(getattr(of_place, attribute).values())
        length = min(len(run) for run in runs)
        by_cohort[place.cohort].append(np.mean([run[:length] for run in runs], axis=0))
    length = min(len(curve) for parts in by_cohort.values() for curve in parts)
    means = [np.mean([curve[:length] for curve in parts], axis=0) for parts in by_cohort.values()]
    return np.asarray(np.mean(means, axis=0))


@dataclass(frozen=True)
class Ranks:
    """Mean ranks over cohorts, and the difference beyond which two are told apart.

    References
    ----------
    Demsar 2006, JMLR 7:1, section 3.2.2: the test of Nemenyi at 5 %.
    """

    mean: Mapping[str, float]
    critical_difference: float
    cohorts: int


def ranks(table: Table, at: At) -> Ranks | None:
    """Rank the methods that have a figure on every cohort that any of them has.

    Parameters
    ----------
    table : mapping
        Method -> landscape -> curves.
    at : callable
        Curves -> regret by seed.

    Returns
    -------
    Ranks or None
        None with fewer than two such methods or cohorts.
    """
    figures = {method: cohort_means(curves, at) for method, curves in table.items()}
    cohorts = sorted({cohort for means in figures.values() for cohort in means})
    whole = {method: means for method, means in figures.items() if len(means) == len(cohorts)}
    k, n = len(whole), len(cohorts)
    if k < 2 or n < 2:
        return None
    matrix = np.array([[means[cohort] for cohort in cohorts] for means in whole.values()])
    mean = rankdata(matrix, axis=0).mean(axis=1)
    q = studentized_range.ppf(0.95, k, np.inf) / np.sqrt(2.0)
    critical = float(q * np.sqrt(k * (k + 1) / (6.0 * n)))
    return Ranks(dict(zip(whole, mean.tolist(), strict=True)), critical, n)
