"""Missing tests of one patient, ranked by how much each would change the risk for its cost.

    x         the patient; some features are known
    T         features of a test without a value from the patient                                 (|T|,)
    k         donors: the training patients with T observed who are nearest to x                  scalar
    r(x)      the model's risk, which imputes unknown features                                    scalar
    change    mean over donors z of |r(x with T from z) - r(x)|                                   scalar

Donors stand for the distribution of T given the known features. The values of T come from one patient together, so that
a test's features keep their dependence. A level that no training patient has is missing for the model, but its test was
done. Nearness is Gower's distance: differences in ranges of the training cohort, 0 or 1 for unordered levels, averaged
over what both patients have.

References
----------
Gower 1971, Biometrics 27:857; Andridge & Little 2010, International Statistical Review 78:40 (donors); Ma et al. 2019,
EDDI, ICML (the value of a measurement that is missing).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import Cohort, encode_patients
from autoprog.cohort.patients import imputed_warning, is_unknown
from autoprog.csmd.problem import check_tests
from autoprog.errors import Fault, InvalidInputError

_Floats = NDArray[np.float64]
Risk = Callable[[_Floats], _Floats]

_MIN_DONORS = 30


@dataclass(frozen=True, slots=True)
class MissingTest:
    """Expected effect of a test that was not done."""

    test: str
    cost: float
    expected_change: float  # expected absolute change of the risk, in [0, 1]
    change_per_cost: float  # infinite for a free test that may change the risk
    lower: float  # 10th and 90th percentile of the risk over the donors
    upper: float
    donors: int  # training patients used; 0 if none has the test, and then no change is expected


@dataclass(frozen=True, slots=True)
class MissingTests:
    """Tests of one patient that were not done, or only in part."""

    risk: float  # without these tests
    tests: tuple[MissingTest, ...]  # largest change per cost first
    warnings: tuple[str, ...]  # unusual values: levels unseen in training, numbers outside the training range


def missing_tests(
    cohort: Cohort,
    tests: Sequence[DiagnosticTest],
    patient: Mapping[str, object],
    risk: Risk,
    *,
    donors: int | None = None,
) -> MissingTests:
    """Rank the tests that a patient has not had, or only in part.

    Parameters
    ----------
    cohort : Cohort, the patients that the model was trained on
    tests : sequence of DiagnosticTest, each with the features that it measures
    patient : mapping, feature -> value; an absent feature or None is unknown
    risk : callable (ndarray, shape = (m, n_features)) -> ndarray, shape = (m,)
        The model, `PrognosticModel.risks`. The columns are the cohort's features; NaN is missing.
    donors : int or None, k; None for the square root of the number of training patients, at least 30

    Returns
    -------
    MissingTests
        Largest change per cost first; ties by expected change, then in the order given.

    Raises
    ------
    InvalidInputError
        With every fault of tests and patient, or if `donors` is below 1.
    """
    x, warnings = _checked(cohort, tests, patient, donors)
    k = donors if donors is not None else max(_MIN_DONORS, round(np.sqrt(cohort.n_patients)))
    place = {feature.name: j for j, feature in enumerate(cohort.features)}
    distance = gower_distances(cohort, x)
    now = float(risk(x[None])[0])
    found = []
    for test in tests:
        T = np.array([place[name] for name in test.features if is_unknown(patient.get(name))], dtype=np.intp)
        if len(T):
            found.append(_compute_value(test, T, x=x, X=cohort.X, distance=distance, k=k, risk=risk, now=now))
    ranked = sorted(found, key=lambda v: (v.change_per_cost, v.expected_change), reverse=True)
    return MissingTests(now, tuple(ranked), warnings)


def gower_distances(cohort: Cohort, x: _Floats) -> _Floats:
    """Gower distances of all training patients to a patient.

    Parameters
    ----------
    cohort : Cohort
    x : ndarray, shape = (n_features,), NaN where unknown

    Returns
    -------
    ndarray, shape = (n_patients,)
        In [0, 1] for a patient within the training ranges; 1 where the two patients share no known feature.
    """
    total, shared = np.zeros(cohort.n_patients), np.zeros(cohort.n_patients)
    for j in np.flatnonzero(~np.isnan(x)):
        column, kind = cohort.X[:, j], cohort.features[j].kind
        seen = ~np.isnan(column)
        if not seen.any():
            continue
        if kind in {"numeric", "ordinal"}:
            span = np.nanmax(column) - np.nanmin(column)
            part = np.abs(column - x[j]) / span if span > 0 else (column != x[j]).astype(np.float64)
        else:
            part = (column != x[j]).astype(np.float64)
        total[seen] += part[seen]
        shared[seen] += 1
    return np.where(shared > 0, total / np.maximum(shared, 1), 1.0)


def _compute_value(
    test: DiagnosticTest,
    T: NDArray[np.intp],
    *,
    x: _Floats,
    X: _Floats,
    distance: _Floats,
    k: int,
    risk: Risk,
    now: float,
) -> MissingTest:
    have = np.flatnonzero(~np.isnan(X[:, T]).any(axis=1))
    nearest = have[np.argsort(distance[have], kind="stable")[:k]]
    if not len(nearest):
        return MissingTest(test.name, test.cost, 0.0, 0.0, now, now, 0)
    completed = np.repeat(x[None], len(nearest), axis=0)
    completed[:, T] = X[np.ix_(nearest, T)]
    risks = risk(completed)
    change = float(np.abs(risks - now).mean())
    per_cost = change / test.cost if test.cost > 0 else np.inf if change > 0 else 0.0
    lower, upper = np.quantile(risks, [0.1, 0.9]).tolist()
    return MissingTest(test.name, test.cost, change, per_cost, lower, upper, len(nearest))


def _checked(
    cohort: Cohort, tests: Sequence[DiagnosticTest], patient: Mapping[str, object], donors: int | None
) -> tuple[_Floats, tuple[str, ...]]:
    """The patient's row, and warnings of unusual values; raises InvalidInputError."""
    faults = check_tests(cohort, tests)
    if donors is not None and donors < 1:
        faults.append(Fault("/donors", f"must be at least 1, not {donors}"))
    x = np.empty(0)
    warnings: tuple[str, ...] = ()
    try:
        names = dict.fromkeys((feature.name for feature in cohort.features), None)
        encoded = encode_patients(cohort.features, [{**names, **patient}])
        x, warnings = encoded.X[0], encoded.warnings[0]
    except InvalidInputError as error:
        faults += [Fault(f.pointer.replace("/patients/0", "/patient", 1), f.detail) for f in error.faults]
    if faults:
        raise InvalidInputError(faults)
    unknown = {imputed_warning(feature) for feature in cohort.features}
    return x, tuple(warning for warning in warnings if warning not in unknown)
