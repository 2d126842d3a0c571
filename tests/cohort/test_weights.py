"""A weight says how many patients a row stands for: the cohort is that of a file with so many copies of the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from autoprog.cohort import (
    CohortReadResult,
    ReadLimits,
    from_parquet,
    parse_spec,
    read_cohort,
    to_parquet,
    without_rows,
)
from autoprog.errors import InvalidInputError
from autoprog.performance.influence import brier_losses, of_mean, standard_error
from tests.cohort.tables import find_faults, read, the_fault, twenty
from tests.cohort.test_removal import BINARY, SURVIVAL, patients

CASES = [pytest.param(BINARY, id="binary"), pytest.param(SURVIVAL, id="survival")]


def weights_of(n: int) -> np.ndarray:
    """Weights 1 to 5."""
    return np.arange(n) * 7 % 5 + 1


def read_weighted(spec: Mapping[str, object], table: pd.DataFrame, **more: object) -> CohortReadResult:
    """Read the columns that a spec names, three features, and weights."""
    named = f"{spec['outcome']}{more}"
    columns = [name for name in table if name in {"mrn", "age", "stage", "lab"} or f"'{name}'" in named]
    return read_cohort(table[columns].to_csv(index=False).encode(), parse_spec({**spec, **more}))


@pytest.mark.parametrize("spec", CASES)
def test_weighted_rows_equal_copies_in_groups(spec: Mapping[str, object]) -> None:
    table = patients().assign(w=lambda t: weights_of(len(t)), row=lambda t: t.index)
    copies = table.loc[table.index.repeat(table.w)]
    weighted = read_weighted(spec, table, weights="w")
    plain = {key: value for key, value in spec.items() if key != "identifier"}
    expected = read_weighted({**plain, "ignore": ["mrn"]}, copies, groups="row").cohort
    cohort = weighted.cohort
    np.testing.assert_array_equal(cohort.sampled, copies.row)
    assert to_parquet(replace(cohort, sampled=None)) == to_parquet(expected)
    assert (cohort.n_patients, cohort.n_sampled) == (table.w.sum(), len(table))
    assert np.bincount(cohort.sampled).tolist() == table.w.tolist()
    assert cohort.event_rate == pytest.approx(np.average(np.equal(expected_events(table, spec), 1), weights=table.w))


def expected_events(table: pd.DataFrame, spec: Mapping[str, object]) -> pd.Series:
    """1 for the event of interest."""
    return (table.died == "yes").astype(int) if spec is BINARY else table.status


@pytest.mark.parametrize("spec", CASES)
def test_what_is_said_of_the_sample_does_not_depend_on_weights(spec: Mapping[str, object]) -> None:
    """Copies are no further patients: neither more events per predictor nor repeated rows."""
    table = patients().assign(w=lambda t: weights_of(len(t)))
    weighted, unweighted = read_weighted(spec, table, weights="w"), read_weighted(spec, table)
    assert weighted.sample_size == unweighted.sample_size
    assert weighted.warnings == unweighted.warnings
    assert (weighted.n_rows, weighted.n_dropped) == (unweighted.n_rows, unweighted.n_dropped)
    assert to_parquet(weighted.cohort.unweighted) != to_parquet(weighted.cohort)
    np.testing.assert_array_equal(weighted.cohort.unweighted.X, unweighted.cohort.X)


@pytest.mark.parametrize("spec", CASES)
def test_weights_of_one_change_nothing(spec: Mapping[str, object]) -> None:
    table = patients().assign(w=1.0)
    assert to_parquet(read_weighted(spec, table, weights="w").cohort) == to_parquet(read_weighted(spec, table).cohort)


def test_groups_are_kept_and_missing_shares_are_weighted() -> None:
    columns = twenty(site=["a", "b", "c", "d"] * 5, w=[1, 3] * 10)
    columns["age"] = ["", *list(columns["age"])[1:]]
    cohort = read(columns, groups="site", weights="w").cohort
    assert cohort.groups is not None
    assert np.unique(cohort.groups).tolist() == [0, 1, 2, 3]
    assert cohort.features[0].missing_fraction == pytest.approx(1 / 40)


@pytest.mark.parametrize("spec", CASES)
def test_stored_weights_are_those_read_and_go_with_their_patient(spec: Mapping[str, object]) -> None:
    table = patients().assign(w=lambda t: weights_of(len(t)))
    whole, expected = (
        read_weighted(spec, table, weights="w"),
        read_weighted(spec, table[table.mrn != "P007"], weights="w"),
    )
    cohort = from_parquet(to_parquet(whole.cohort))
    np.testing.assert_array_equal(cohort.sampled, whole.cohort.sampled)
    assert whole.identifiers is not None
    theirs = whole.identifiers.find("P007")
    assert theirs.sum() == table.w[7] > 1
    rest = without_rows(cohort, theirs)
    assert rest is not None
    assert to_parquet(rest) == to_parquet(expected.cohort)


def test_a_rest_of_few_patients_of_large_weight_is_no_cohort() -> None:
    table = patients().assign(died=["yes"] * 5 + ["no"] * 55, w=100)
    whole = read_weighted(BINARY, table, weights="w")
    assert whole.identifiers is not None
    assert without_rows(whole.cohort, whole.identifiers.find("P000")) is None


def test_standard_error_of_copies_is_that_of_a_weighted_mean() -> None:
    """Binder's linearised variance of a weighted mean of independent patients."""
    rng = np.random.default_rng(0)
    y, p, w = rng.integers(0, 2, 80), rng.random(80), rng.integers(1, 9, 80)
    losses = brier_losses(y, p)
    mean = np.average(losses, weights=w)
    variance = 80 / 79 * (w**2 * (losses - mean) ** 2).sum() / w.sum() ** 2
    found = standard_error(of_mean(np.repeat(losses, w)), np.repeat(np.arange(80), w))
    assert found == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            [1, 2, 0.5, 1] * 5,
            "5 rows with a weight that is no whole number from 1: rows 4, 8, 12, 16, 20; divide the weights of",
        ),
        ([1, 2, -1, 0] * 5, "10 rows with a weight that is no whole number from 1: rows 4, 5, 8, 9, 12 and 5 more"),
        ([1, 2, "many", 1] * 5, "5 rows with a weight that is no whole number from 1"),
        ([1, 2, "inf", 1] * 5, "5 rows with a weight that is no whole number from 1"),
        ([1, 2, "", 1] * 5, "5 rows without a weight: rows 4, 8, 12, 16, 20"),
        ([1, 900_000] * 10, "the weights sum to 9,000,010, at most 5,000,000 is possible: divide them and round"),
    ],
)
def test_other_weights_are_faults(values: list[object], text: str) -> None:
    assert text in the_fault(twenty(w=values), "/file/columns/w", weights="w")


def test_weights_count_towards_the_limit_of_cells() -> None:
    source = "\n".join(["died,age,w", *(f"{i % 2},{i % 7},50" for i in range(20))]).encode()
    spec = parse_spec({"name": "c", "outcome": {"column": "died", "positive": 1}, "weights": "w"})
    assert read_cohort(source, spec, ReadLimits(cells=3_000)).cohort.n_patients == 1_000
    with pytest.raises(InvalidInputError, match="the weights sum to 1,000, at most 999 is possible"):
        read_cohort(source, spec, ReadLimits(cells=2_999))


def test_a_column_is_weights_alone() -> None:
    for changes, place, text in (
        ({"weights": "died"}, "/spec/weights", "'died' is the outcome and cannot be the weights"),
        ({"weights": "w", "groups": "w"}, "/spec/weights", "'w' is the groups and cannot be the weights"),
        ({"weights": "w", "identifier": "w"}, "/spec/identifier", "'w' is the weights and cannot be the identifier"),
        ({"weights": "w", "features": {"w": {}}}, "/spec/features/w", "'w' is the weights and cannot be a feature too"),
        ({"weights": "v"}, "/spec/weights", "the file has no column 'v'"),
    ):
        faults = {fault.pointer: fault.detail for fault in find_faults(twenty(w=[1, 2] * 10), **changes)}
        assert text in faults[place], faults


def test_visits_take_no_weights() -> None:
    columns = {
        "who": [i // 2 for i in range(40)],
        "day": [0, 1] * 20,
        "age": [*range(39), 3],
        "died": [0, 1] * 20,
        "w": [1] * 40,
    }
    outcome = {"patient": "who", "visit_time": "day", "horizon": 2, "column": "died", "positive": 1}
    faults = find_faults(columns, mode="temporal", outcome=outcome, weights="w")
    assert [(fault.pointer, fault.detail) for fault in faults] == [("/spec/weights", "visits take no weights")]
