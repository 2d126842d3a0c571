"""Strata: thirds, ties, thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoprog.errors import InvalidInputError
from autoprog.interpreter import empty_strata, make_strata, stratum_indices


def test_thirds_from_the_highest_to_the_lowest() -> None:
    risks = np.random.default_rng(0).random(999)
    strata = make_strata(risks)
    assert [s.name for s in strata] == ["high", "medium", "low"]
    assert [s.fraction for s in strata] == pytest.approx([1 / 3] * 3, abs=0.01)


def test_thresholds_are_kept_and_a_risk_on_one_belongs_above() -> None:
    risks = np.array([0.0, 0.1, 0.2, 0.3, 1.0])
    strata = make_strata(risks, high=0.3, medium=0.1)
    assert [(s.name, s.lower, s.upper, s.fraction) for s in strata] == [
        ("high", 0.3, 1.0, 0.4),
        ("medium", 0.1, 0.3, 0.4),
        ("low", 0.0, 0.1, 0.2),
    ]
    assert stratum_indices(strata, risks).tolist() == [2, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("risks", "names"),
    [([0.2] * 9, ["all"]), ([0.2] * 8 + [0.7], ["high", "low"]), ([0.1, 0.2, 0.3], ["high", "medium", "low"])],
)
def test_equal_risks_stay_together(risks: list[float], names: list[str]) -> None:
    strata = make_strata(np.array(risks))
    assert [s.name for s in strata] == names
    assert all(s.fraction > 0 for s in strata)


@pytest.mark.parametrize(
    ("high", "medium", "faults"),
    [
        (0.1, 0.3, ["/strata/medium: must be below high, 0.1: from there to 0.3 the strata would overlap"]),
        (0.2, 0.2, ["/strata/medium: must be below high, 0.2: nobody would be of medium risk"]),
        (1.0, 0.2, ["/strata/high: must be between 0 and 1, not 1"]),
        (0.3, 0.0, ["/strata/medium: must be between 0 and 1, not 0"]),
        (
            1.5,
            2.0,
            [
                "/strata/high: must be between 0 and 1, not 1.5",
                "/strata/medium: must be between 0 and 1, not 2",
                "/strata/medium: must be below high, 1.5: from there to 2 the strata would overlap",
            ],
        ),
    ],
)
def test_thresholds_that_bound_no_three_strata_are_refused_with_every_fault(
    high: float, medium: float, faults: list[str]
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        make_strata(np.array([0.1, 0.9]), high=high, medium=medium)
    assert [f"{fault.pointer}: {fault.detail}" for fault in refused.value.faults] == faults


def test_a_stratum_without_patients_is_told() -> None:
    risks = np.array([0.05, 0.1, 0.15, 0.2])
    (warning,) = empty_strata(make_strata(risks, high=0.8, medium=0.12))
    assert "the stratum high, 0.8 to 1" in warning
    assert empty_strata(make_strata(risks)) == []


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=50))
def test_every_risk_lies_in_the_bounds_of_its_stratum(values: list[float]) -> None:
    risks = np.array(values, dtype=np.float32)
    strata = make_strata(risks)
    for risk, index in zip(risks.tolist(), stratum_indices(strata, risks), strict=True):
        stratum = strata[index]
        assert stratum.lower <= risk < stratum.upper or risk == stratum.upper == 1
    assert sum(s.fraction for s in strata) == pytest.approx(1)
    assert strata[0].upper == 1
    assert strata[-1].lower == 0
