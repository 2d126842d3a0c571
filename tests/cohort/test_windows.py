from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.cohort import Binary, Cohort, Feature, Visits, VisitTable, WindowSchema, windowed
from autoprog.cohort.windows import last_observed, visit_order, window_statistics
from autoprog.errors import InvalidInputError
from tests.cohorts import cleveland_cohort, event_cohort

FEATURES = (
    Feature("bili", "numeric", unit="mg/dl", meta_group="laboratory"),
    Feature("sex", "binary", ("f", "m")),
    Feature("stage", "categorical", ("a", "b", "c")),
    Feature("grade", "ordinal", ("1", "2", "3")),
)


@cache
def simulated(seed: int = 0, n_patients: int = 60) -> Cohort:
    """Patients with 1 to 8 visits; a signal in five is not measured; sex is written down at some visits alone."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), rng.integers(1, 9, n_patients))
    n = len(patient)
    time = rng.exponential(90, n).cumsum().round(2)
    X = np.column_stack(
        [
            rng.normal(2, 1, n).round(1),
            (rng.random(n_patients) < 0.5)[patient],
            rng.integers(0, 3, n),
            rng.integers(0, 3, n),
        ]
    ).astype(np.float64)
    X[rng.random(X.shape) < 0.2] = np.nan
    outcome = Visits("id", "day", 1.0, Binary("septic", "1", "0"))
    y = (rng.random(n) < 0.3).astype(np.int8)
    return Cohort("visits", outcome, FEATURES, X, y, groups=patient, visits=VisitTable(patient, time))


def get_visits(cohort: Cohort) -> VisitTable:
    assert cohort.visits is not None
    return cohort.visits


def by_hand(t: NDArray[np.float64], x: NDArray[np.float64], window: int) -> dict[str, float]:
    """What is said of one signal at the last of one patient's visits, visit by visit."""
    seen = [(float(a), float(b)) for a, b in zip(t[-window:], x[-window:], strict=True) if not math.isnan(b)]
    nothing = {"last", "mean", "minimum", "maximum", "time since observed"}
    found = dict.fromkeys(nothing, math.nan) | {"change": 0.0, "slope": 0.0}
    found |= {"times observed": len(seen), "missing now": float(math.isnan(x[-1]))}
    if seen:
        values = [value for _, value in seen]
        found |= {"last": values[-1], "mean": sum(values) / len(values), "minimum": min(values), "maximum": max(values)}
        found["time since observed"] = float(t[-1]) - seen[-1][0]
    if len(seen) > 1:
        found["change"] = seen[-1][1] - seen[-2][1]
        found["slope"] = float(np.polyfit(*zip(*seen, strict=True), 1)[0])
    return found


@pytest.mark.parametrize("window", [1, 2, 3, 5, 8, 100])
@pytest.mark.parametrize("cohort", [simulated(), event_cohort("pbcseq")], ids=["simulated", "pbcseq"])
def test_windows_are_what_a_loop_over_the_patients_gives(cohort: Cohort, window: int) -> None:
    result, visits = windowed(cohort, window), get_visits(cohort)
    place = {feature.name: j for j, feature in enumerate(result.features)}
    schema = WindowSchema.of(cohort)
    rows = range(cohort.n_rows) if cohort.n_rows < 500 else range(0, cohort.n_rows, 7)
    for row in rows:
        so_far = np.flatnonzero((visits.patient == visits.patient[row]) & (visits.time <= visits.time[row]))
        t = visits.time[so_far]
        for feature, varies, x in zip(schema.features, schema.varying, cohort.X[so_far].T, strict=True):
            if not varies:
                known = x[~np.isnan(x)]
                expected = {feature.name: known[-1] if len(known) else math.nan}
            else:
                expected = {f"{feature.name} ({what})": value for what, value in by_hand(t, x, window).items()}
            for name, value in expected.items():
                if name in place:
                    np.testing.assert_allclose(result.X[row, place[name]], value, rtol=1e-9, atol=1e-9, err_msg=name)
        expected = {
            "visit number": len(so_far),
            "time since first visit": t[-1] - t[0],
            "time since previous visit": t[-1] - t[-2] if len(t) > 1 else 0,
        }
        for name, value in expected.items():
            assert result.X[row, place[name]] == value


def test_the_features_are_named_by_what_they_say() -> None:
    names = [feature.name for feature in windowed(simulated(), 3).features]
    numeric = [
        "last",
        "change",
        "slope",
        "mean",
        "minimum",
        "maximum",
        "time since observed",
        "times observed",
        "missing now",
    ]
    categorical = ["last", "time since observed", "times observed", "missing now"]
    assert names == [
        *[f"bili ({what})" for what in numeric],
        "sex",
        *[f"stage ({what})" for what in categorical],
        *[f"grade ({what})" for what in numeric],
        "visit number",
        "time since first visit",
        "time since previous visit",
    ]


def test_a_feature_keeps_its_kind_unit_and_group_where_they_hold() -> None:
    features = {feature.name: feature for feature in windowed(simulated(), 3).features}
    assert (features["bili (last)"].unit, features["bili (slope)"].unit) == ("mg/dl", None)
    assert {features[f"bili ({what})"].meta_group for what in ("last", "slope", "missing now")} == {"laboratory"}
    assert (features["stage (last)"].kind, features["stage (last)"].levels) == ("categorical", ("a", "b", "c"))
    assert (features["grade (last)"].kind, features["grade (mean)"].kind) == ("ordinal", "numeric")
    assert features["bili (missing now)"].levels == ("0", "1")


def test_every_window_has_the_same_features() -> None:
    cohort = simulated()
    plain = [
        [replace(f, missing_fraction=0.0, minimum=None, maximum=None) for f in windowed(cohort, window).features]
        for window in (1, 2, 7)
    ]
    assert plain[0] == plain[1] == plain[2] == list(WindowSchema.of(cohort).windowed)


def test_ranges_and_missing_shares_are_those_of_the_columns() -> None:
    result = windowed(simulated(), 2)
    for feature, x in zip(result.features, result.X.T, strict=True):
        assert feature.missing_fraction == pytest.approx(np.isnan(x).mean())
        if feature.kind == "numeric":
            assert (feature.minimum, feature.maximum) == (np.nanmin(x), np.nanmax(x))
        else:
            assert set(x[~np.isnan(x)]) <= set(range(len(feature.levels)))


def test_a_window_of_one_visit_knows_no_course() -> None:
    result = windowed(simulated(), 1)
    place = {feature.name: j for j, feature in enumerate(result.features)}
    assert not result.X[:, place["bili (change)"]].any()
    assert not result.X[:, place["bili (slope)"]].any()
    np.testing.assert_array_equal(result.X[:, place["bili (last)"]], simulated().X[:, 0])


@pytest.mark.parametrize("seed", range(10))
def test_later_visits_and_other_patients_change_nothing(seed: int) -> None:
    cohort = simulated()
    visits, rng = get_visits(cohort), np.random.default_rng(seed)
    row = int(rng.integers(cohort.n_rows))
    known = (visits.patient == visits.patient[row]) & (visits.time <= visits.time[row])
    X = cohort.X.copy()
    X[~known] = rng.integers(0, 3, X[~known].shape)
    schema = WindowSchema.of(cohort)
    changed = windowed(replace(cohort, X=X), 4, schema)
    np.testing.assert_array_equal(changed.X[known], windowed(cohort, 4, schema).X[known])


def test_part_of_a_cohort_gives_the_same_rows() -> None:
    cohort = simulated()
    schema, whole = WindowSchema.of(cohort), windowed(cohort, 3)
    rows = np.flatnonzero(get_visits(cohort).patient % 3 == 1)
    np.testing.assert_array_equal(windowed(cohort.take(rows), 3, schema).X, whole.X[rows])


def test_all_but_the_features_stays() -> None:
    cohort = event_cohort("pbcseq")
    result = windowed(cohort, 3)
    assert (result.mode, result.outcome, result.n_patients) == ("temporal", cohort.outcome, 312)
    for name in ("y", "time", "groups", "visits"):
        assert getattr(result, name) is getattr(cohort, name)


def test_a_signal_that_does_not_move_has_no_slope_whatever_its_level() -> None:
    t, x = np.arange(50) * 1e3 + 1e9, np.full(50, 1e8 + 0.1)
    known = window_statistics(x, t, visit_order(np.zeros(50, dtype=np.int64)), 20)
    assert not known.slope.any()
    np.testing.assert_array_equal(known.mean, x)


def test_slopes_keep_their_digits_far_from_zero() -> None:
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 10, 30))
    order = visit_order(np.zeros(30, dtype=np.int64))
    known = window_statistics(3 * t + 1, t, order, 30)
    np.testing.assert_allclose(known.slope[1:], 3, rtol=1e-8)
    moved = window_statistics(3 * t + 1, t + 1e6, order, 30)
    np.testing.assert_allclose(moved.slope[5:], 3, rtol=1e-6)


def test_the_order_of_visits_starts_anew_with_each_patient() -> None:
    assert visit_order(np.array([4, 4, 4, 7, 9, 9])).tolist() == [0, 1, 2, 0, 0, 1]
    assert visit_order(np.empty(0, dtype=np.int64)).tolist() == []


def test_the_last_value_is_carried_forward_in_the_patient_and_the_window_alone() -> None:
    nan = math.nan
    x, patient = np.array([1.0, nan, nan, nan, 2, nan]), np.array([0, 0, 0, 1, 1, 1])
    order = visit_order(patient)
    np.testing.assert_array_equal(last_observed(x, order), [1, 1, 1, nan, 2, 2])
    np.testing.assert_array_equal(last_observed(x, order, 2), [1, 1, nan, nan, 2, 2])
    np.testing.assert_array_equal(last_observed(x, order, 1), x)


def test_half_a_million_visits_take_memory_for_the_result_and_little_more() -> None:
    rng = np.random.default_rng(0)
    n = 500_000
    patient = np.sort(rng.integers(0, 60_000, n))
    time = np.arange(n, dtype=np.float64)
    X = rng.normal(size=(n, 3))
    outcome = Visits("id", "day", 1.0, Binary("septic", "1", "0"))
    features = tuple(Feature(name, "numeric") for name in "abc")
    cohort = Cohort("many", outcome, features, X, np.zeros(n, np.int8), visits=VisitTable(patient, time))
    tracemalloc.start()
    result = windowed(cohort, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.X.shape == (n, 3 * 9 + 3)
    assert peak < result.X.nbytes + 40 * X[:, 0].nbytes


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: windowed(simulated(), 0), "a window has at least 1 visit, got 0"),
        (lambda: windowed(cleveland_cohort(), 3), "has no visits: its mode is 'classification'"),
    ],
)
def test_what_has_no_windows_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_a_feature_with_the_name_of_a_made_one_is_refused() -> None:
    cohort = simulated()
    features = (*FEATURES[:1], replace(FEATURES[1], name="visit number"), *FEATURES[2:])
    with pytest.raises(InvalidInputError, match="rename the column") as caught:
        windowed(replace(cohort, features=features), 3)
    assert [fault.pointer for fault in caught.value.faults] == ["/file/columns/visit number"]
