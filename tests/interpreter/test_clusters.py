"""What rows of a group are worth: by identities, by dealing groups anew, and by the law of the test that uses it."""

from __future__ import annotations

import numpy as np
import pytest

from autoprog.interpreter.clusters import Clusters
from autoprog.interpreter.selection import p_values
from tests.interpreter.groups import alike, serial


def test_rows_that_nothing_links_are_worth_themselves() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 7, 60)) < 0.3
    for clusters in (Clusters(), Clusters(None, rng.permutation(60))):
        assert clusters.design_effect(a[0]) == 1
        assert clusters.design_effect(a, b).tolist() == [1.0] * 7


def test_copies_are_worth_one_row() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(50), 4)
    a, b = (rng.random((2, 5, 50)) < 0.4)[..., group]
    order = rng.permutation(200)
    clusters = Clusters(None, group[order])
    assert clusters.design_effect(a[:, order], b[:, order]) == pytest.approx(4.0)
    assert clusters.design_effect(a[0, order]) == pytest.approx(4.0)


def test_rows_that_are_all_the_same_could_be_copies() -> None:
    group = np.repeat(np.arange(3), [1, 2, 5])
    assert Clusters(None, group).design_effect(np.ones(8)) == pytest.approx((1 + 4 + 25) / 8)


def test_of_no_rows_and_of_one_group_nothing_is_told() -> None:
    assert Clusters(None, np.array([], dtype=np.int64)).design_effect(np.ones((2, 0))).tolist() == [1.0, 1.0]
    assert Clusters(None, np.zeros(9, dtype=np.int64)).design_effect(np.arange(9.0)) < 1.3


def test_patients_are_counted_however_many_their_visits() -> None:
    patient = np.array([0, 0, 0, 1, 2, 2])
    rows = np.array([True, True, False, False, True, False])
    visits = Clusters(patient, patient // 2)
    assert (visits.n_patients(rows), visits.counted(rows)) == (2, "3 visits of 2 patients")
    assert visits.take(rows).n_patients(np.ones(3, dtype=np.bool_)) == 2
    assert (Clusters(None, patient).n_patients(rows), Clusters().counted(np.ones(1200))) == (3, "1,200 patients")


def test_visits_are_alike_within_patients_of_a_hospital_that_are_not() -> None:
    patient = np.repeat(np.arange(200), 6)
    a, b = (x > 0.5 for x in alike(np.random.default_rng(4), patient, 2, 0.8))
    by_patient = Clusters(patient, patient).design_effect(a, b)
    assert by_patient > 2
    assert Clusters(patient, patient // 50).design_effect(a, b) == pytest.approx(by_patient, rel=0.1)


@pytest.mark.parametrize("draw", [alike, serial])
def test_the_design_effect_is_that_of_dealing_the_groups_anew(draw) -> None:  # noqa: ANN001
    # The variance of 4,000 deals is known to 2.3 %; what is due to one correlation a distance, to a few more.
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(200), 8)
    a, b = draw(rng, group, 2, 0.8) > 0.5
    dealt = b.reshape(200, 8)
    counts = [np.count_nonzero(a & rng.permutation(dealt).ravel()) for _ in range(4_000)]
    independent = a.mean() * (1 - a.mean()) * b.mean() * (1 - b.mean()) * len(group)
    assert Clusters(None, group).design_effect(a, b) == pytest.approx(np.var(counts) / independent, rel=0.12)


def test_an_association_does_not_pass_for_likeness() -> None:
    group = np.repeat(np.arange(40), 6)
    a = alike(np.random.default_rng(3), group, 50, 0.0) > 0.5
    assert Clusters(None, group).design_effect(a, a).mean() < 1.15


def _p_values(draw, sizes: np.ndarray, likeness: float, association: float = 0.0) -> np.ndarray:  # noqa: ANN001
    """Of rules that have to do with a third of the rows as far as said; 40 rules of each of 50 draws."""
    found = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(len(sizes)), sizes)
        x, z = draw(rng, group, 40, likeness), draw(rng, group, 40, likeness)
        z = association * x + (1 - association**2) ** 0.5 * z
        share = rng.uniform(0.05, 0.5, (40, 1))
        A = np.argsort(np.argsort(-x)) < share * len(group)
        r = np.argsort(np.argsort(-z)) < len(group) / 3
        counts = A.sum(axis=1), (A & r).sum(axis=1), len(group), r.sum(axis=1)
        found.append(p_values(*counts, Clusters(None, group).design_effect(A, r)))
    return np.concatenate(found)


SIZES = {"equal": np.full(25, 6), "unequal": np.resize([1, 3, 6, 12, 25], 60), "few": np.array([40, 120, 80])}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
@pytest.mark.parametrize(("draw", "likeness"), [(alike, 0.0), (alike, 0.3), (alike, 0.9), (serial, 0.9)])
def test_a_rule_that_tells_nothing_is_significant_no_more_often_than_stated(draw, likeness, sizes) -> None:  # noqa: ANN001
    # 2,000 p-values: 4.5 standard errors of a share of 0.01 are 0.01; of 0.05, 0.022.
    p = _p_values(draw, sizes, likeness)
    assert np.mean(p <= 0.01) <= 0.02
    assert np.mean(p <= 0.05) <= 0.072


@pytest.mark.parametrize(("sizes", "least"), [(SIZES["equal"], 0.8), (SIZES["few"], 0.9)])
def test_a_rule_that_tells_something_is_still_seen(sizes, least) -> None:  # noqa: ANN001
    # One row a group would be 25 rows, and 3: of these too few are significant for any use.
    assert np.mean(_p_values(alike, sizes, 0.2, association=0.6) <= 0.01) >= least
