"""The next test of a patient: how far each test that was not done is expected to change the risk.

======  ====================================================================================  =====
symbol  meaning                                                                               shape
======  ====================================================================================  =====
x       the patient's findings, some unknown                                                  (m,)
T       unknown findings that a test reveals                                                  (|T|,)
z_k     draw k of T from the model's distribution of the findings, given those that are known  (|T|,)
r(x)    risk by the model, averaged over what stays unknown; of event times until the last
        horizon                                                                               scalar
c       expected change, mean over k of |r(x with T = z_k) - r(x)|                            scalar
p       price of the test                                                                     scalar
======  ====================================================================================  =====

Findings of one test are drawn together, so that their dependence counts. `autoprog.csmd.missing_tests` takes the values
from similar patients of the training cohort instead, which a model alone does not have.

References
----------
Ma et al. 2019, EDDI, ICML (the value of a measurement that is missing); Andridge & Little 2010, International
Statistical Review 78:40 (draws from a conditional distribution).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from autoprog.catalogue import DiagnosticTest
from autoprog.cohort import encode_patients
from autoprog.cohort.patients import is_unknown
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.model.prediction import N_DRAWS, build_prediction

if TYPE_CHECKING:
    from autoprog.model.model import PrognosticModel

MAX_RANKED = 30
"""Most tests whose effect is computed; of more, those whose findings widen the interval most."""

_LOWER, _UPPER = 0.1, 0.9  # percentiles of the risk after a test


@dataclass(frozen=True, slots=True)
class NextTest:
    """A test that was not done, or only in part.

    Attributes
    ----------
    test : str
    reveals : tuple of str
        Unknown findings of the model that it reveals.
    price : float
        In money.
    expected_change : float
        c, in [0, 1].
    lower, upper : float
        10th and 90th percentile of the risk after the test.
    """

    test: str
    reveals: tuple[str, ...]
    price: float
    expected_change: float
    lower: float
    upper: float

    @property
    def change_per_price(self) -> float:
        """c / p; infinite for a free test that may change the risk."""
        if self.price > 0:
            return self.expected_change / self.price
        return math.inf if self.expected_change > 0 else 0.0


@dataclass(frozen=True, slots=True)
class NextTests:
    """Tests of one patient, the largest change per price first, and how many were not computed."""

    risk: float
    tests: tuple[NextTest, ...]
    n_left_out: int = 0


def rank_next_tests(
    model: PrognosticModel, patient: Mapping[str, object], tests: Sequence[DiagnosticTest] | None = None
) -> NextTests:
    """Rank the tests that a patient has not had, or only in part.

    Parameters
    ----------
    model : PrognosticModel
    patient : mapping
        Finding -> value; absent or None if it is unknown.
    tests : sequence of DiagnosticTest or None
        Their costs are their prices; what they reveal beside the model's features does not count. None for each unknown
        finding as a free test of its own.

    Returns
    -------
    NextTests
        Largest change per price first; ties, such as free tests, by expected change, then in the order given.

    Raises
    ------
    ConflictError
        If the model takes visits, or is of a version that stored no distribution of its findings.
    InvalidInputError
        With every fault of the patient, below `/patient`.
    """
    if model.windows is not None:
        msg = "the model takes visits: the next test is named for models of one row per patient"
        raise ConflictError(msg)
    if model.distribution is None:
        msg = "the model is of an earlier version, which stored no distribution of the findings: search again"
        raise ConflictError(msg)
    x = _encode(model, patient)
    widening = build_prediction(model, x[None], bounds=True).widening
    shares = np.zeros(len(x)) if widening is None else widening[0]
    missing = _list_missing(model, patient, tests)
    order = sorted(range(len(missing)), key=lambda k: -float(shares[missing[k][1]].sum()))
    kept = [missing[k] for k in sorted(order[:MAX_RANKED])]
    now, changed = _predict_after(model, x, [places for _, places in kept])
    found = [
        NextTest(
            test.name,
            tuple(model.features[j].name for j in places),
            test.cost,
            float(np.abs(risks - now).mean()),
            *np.quantile(risks, [_LOWER, _UPPER]).tolist(),
        )
        for (test, places), risks in zip(kept, changed, strict=True)
    ]
    found.sort(key=lambda each: (-each.change_per_price, -each.expected_change))
    return NextTests(now, tuple(found), len(missing) - len(kept))


def _encode(model: PrognosticModel, patient: Mapping[str, object]) -> NDArray[np.float64]:
    nothing = dict.fromkeys((feature.name for feature in model.features), None)
    try:
        x: NDArray[np.float64] = encode_patients(model.features, [{**nothing, **patient}]).X[0]
    except InvalidInputError as error:
        faults = [Fault(each.pointer.replace("/patients/0", "/patient", 1), each.detail) for each in error.faults]
        raise InvalidInputError(faults) from None
    return x


def _list_missing(
    model: PrognosticModel, patient: Mapping[str, object], tests: Sequence[DiagnosticTest] | None
) -> list[tuple[DiagnosticTest, list[int]]]:
    """Tests that reveal something unknown, each with the places of it."""
    unknown = {f.name: j for j, f in enumerate(model.features) if is_unknown(patient.get(f.name))}
    if tests is None:
        tests = [DiagnosticTest(feature.name, 0.0) for feature in model.features]
    found = [(test, [unknown[name] for name in test.revealed if name in unknown]) for test in tests]
    return [(test, places) for test, places in found if places]


def _predict_after(
    model: PrognosticModel, x: NDArray[np.float64], groups: Sequence[Sequence[int]]
) -> tuple[float, NDArray[np.float64]]:
    """Risk now, and after each group of findings is revealed, shape = (n_groups, n_draws)."""
    assert model.distribution is not None  # noqa: S101  checked before
    drawn = model.distribution.completed(x[None], N_DRAWS)[:, 0]
    patients = np.repeat(x[None], 1 + len(groups) * N_DRAWS, axis=0)
    for k, group in enumerate(groups):
        rows = slice(1 + k * N_DRAWS, 1 + (k + 1) * N_DRAWS)
        patients[rows, group] = drawn[:, group]
    risks = model.risks(patients)
    last = risks if risks.ndim == 1 else risks[:, -1]
    return float(last[0]), last[1:].reshape(len(groups), N_DRAWS)
