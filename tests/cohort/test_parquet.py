from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from autoprog.cohort import Binary, Cohort, Feature, cleveland, from_parquet, read_cohort, to_parquet
from autoprog.errors import ArtifactError
from tests.cohorts import event_cohort, labelled_visits, partly_labelled_visits


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    content, spec = cleveland()
    plain = read_cohort(content, spec).cohort
    return replace(plain, groups=np.arange(plain.n_patients, dtype=np.int64) % 7)


def assert_same(a: Cohort, b: Cohort) -> None:
    assert (a.name, a.mode, a.outcome, a.features) == (b.name, b.mode, b.outcome, b.features)
    assert a.na_values == b.na_values
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    assert (a.X.dtype, a.y.dtype) == (b.X.dtype, b.y.dtype)
    assert (a.groups is None) == (b.groups is None)
    if a.groups is not None and b.groups is not None:
        np.testing.assert_array_equal(a.groups, b.groups)
        assert a.groups.dtype == b.groups.dtype
    assert (a.time is None, a.visits is None) == (b.time is None, b.visits is None)
    if a.time is not None and b.time is not None:
        np.testing.assert_array_equal(a.time, b.time)
    if a.visits is not None and b.visits is not None:
        np.testing.assert_array_equal(a.visits.patient, b.visits.patient)
        np.testing.assert_array_equal(a.visits.time, b.visits.time)
        assert (a.visits.patient.dtype, a.visits.time.dtype) == (np.int64, np.float64)


def test_a_cohort_comes_back_as_it_was(cohort: Cohort, tmp_path: Path) -> None:
    content = to_parquet(cohort)
    path = tmp_path / "cohort.parquet"
    path.write_bytes(content)
    assert_same(from_parquet(content), cohort)
    assert_same(from_parquet(path), cohort)
    with path.open("rb") as file:
        assert_same(from_parquet(file), cohort)
    alone = replace(cohort, groups=None, na_values=("999", "unk"))
    assert_same(from_parquet(to_parquet(alone)), alone)


@pytest.mark.parametrize("name", ["whas500", "mgus2", "pbcseq"])
def test_times_competing_causes_and_visits_come_back(name: str) -> None:
    cohort = event_cohort(name)
    assert_same(from_parquet(to_parquet(cohort)), cohort)
    assert to_parquet(from_parquet(to_parquet(cohort))) == to_parquet(cohort)


def test_labels_of_visits_come_back() -> None:
    assert_same(from_parquet(to_parquet(labelled_visits())), labelled_visits())


def test_visits_without_an_outcome_come_back_and_others_have_the_bytes_they_had() -> None:
    whole, cohort = labelled_visits(), partly_labelled_visits()
    assert cohort.visits is not None
    assert cohort.visits.earlier is not None
    content = to_parquet(cohort)
    again = from_parquet(content)
    assert to_parquet(again) == content
    assert_same(again, cohort)
    assert again.visits is not None
    assert again.visits.earlier is not None
    for name in ("X", "patient", "time"):
        np.testing.assert_array_equal(getattr(again.visits.earlier, name), getattr(cohort.visits.earlier, name))

    def version(content: bytes) -> int:
        return int(json.loads(pq.read_schema(io.BytesIO(content)).metadata[b"autoprog.cohort"])["version"])

    assert (version(content), version(to_parquet(whole))) == (3, 2)


def test_a_file_of_the_first_version_is_read() -> None:
    features = (
        Feature("age", "numeric", unit="years", missing_fraction=1 / 3, minimum=-2.0, maximum=1.5),
        Feature("sex", "binary", ("f", "m"), missing_fraction=1 / 3),
    )
    X = np.array([[1.5, 0], [np.nan, 1], [-2, np.nan]])
    y, groups = np.array([0, 1, 1], np.int8), np.array([4, 4, 7], np.int64)
    written = Cohort("written by version 1", Binary("died", "yes", "no"), features, X, y, groups=groups)
    assert_same(from_parquet(Path(__file__).parents[1] / "data" / "cohort_version_1.parquet"), written)


def test_the_same_cohort_gives_the_same_bytes(cohort: Cohort) -> None:
    content = to_parquet(cohort)
    assert to_parquet(from_parquet(content)) == content
    fortran = replace(cohort, X=np.asfortranarray(cohort.X))
    assert to_parquet(fortran) == content
    assert to_parquet(replace(cohort, name="other")) != content


def test_names_may_repeat_those_of_the_other_columns() -> None:
    X = np.array([[1.5, np.nan], [-0.0, 1e300]])
    features = (Feature("groups", "numeric"), Feature("y", "binary", ("a/b", "é")))
    cohort = Cohort("n", Binary("y", "1", "0"), features, X, np.array([0, 1], np.int8), np.array([5, 6], np.int64))
    again = from_parquet(to_parquet(cohort))
    assert_same(again, cohort)
    assert np.signbit(again.X[1, 0])


def test_what_is_no_cohort_is_refused(cohort: Cohort, tmp_path: Path) -> None:
    foreign = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), foreign)
    content = to_parquet(cohort)
    for bad in (
        b"",
        b"no parquet",
        content[:-30],
        foreign.getvalue(),
        content.replace(b'"version": 2', b'"version": 9'),
    ):
        with pytest.raises(ArtifactError):
            from_parquet(bad)
    with pytest.raises(ArtifactError, match="not there"):
        from_parquet(tmp_path / "absent.parquet")
