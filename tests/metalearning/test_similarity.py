"""Distances and weights of earlier cohorts: the sheet's numbers, identities, limits."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from autoprog.metalearning import META_FEATURES, similarity
from autoprog.metalearning.similarity import (
    DISTANCE_PAIRS,
    SPREAD_COHORTS,
    TYPICAL_DISTANCE,
    compute_spread,
    similarity_weights,
)
from tests.metalearning.repositories import COUNTS, SPREAD, centre, meta_features_at


def test_the_weights_of_the_sheet() -> None:
    np.testing.assert_allclose(similarity_weights(np.array([1.0, 2, 10])), [0.62, 0.37, 0.007], atol=0.01)


def test_the_printed_form_prefers_the_least_similar() -> None:
    np.testing.assert_allclose(similarity_weights(np.array([1.0, 2, 10]), "printed"), [1 / 13, 2 / 13, 10 / 13])
    assert similarity_weights(np.array([0.0, 1.0]), "printed").tolist() == [0, 1]


@pytest.mark.parametrize("form", ["softmin", "printed"])
def test_identical_cohorts_share_alike(form: str) -> None:
    assert similarity_weights(np.zeros(4), form).tolist() == [0.25] * 4  # type: ignore[arg-type]


def test_weights_are_those_of_the_formula_and_do_not_overflow() -> None:
    distances = np.random.default_rng(0).uniform(1, 9, 7)
    raw = np.exp(-distances / np.median(distances))
    np.testing.assert_allclose(similarity_weights(distances), raw / raw.sum())
    huge = similarity_weights(np.array([1e6, 1e6 + 1, 5e6]))
    assert huge.sum() == pytest.approx(1)


def test_where_half_are_identical_they_have_all_weight() -> None:
    assert similarity_weights(np.array([0.0, 0, 0, 5, 7])).tolist() == pytest.approx([1 / 3] * 3 + [0, 0])


def test_a_distance_is_the_sum_of_scaled_differences_of_log_counts_and_shares() -> None:
    rng = np.random.default_rng(1)
    u = np.array([centre(rng) for _ in range(30)])
    earlier = [meta_features_at(each) for each in u]
    target = centre(rng)
    variance = (30 * u.var(axis=0) + SPREAD_COHORTS * SPREAD**2) / (30 + SPREAD_COHORTS)
    expected = (np.abs(u - target) / np.sqrt(variance)).sum(axis=1)
    np.testing.assert_allclose(similarity(meta_features_at(target), earlier).distances, expected, rtol=1e-9)
    np.testing.assert_allclose(compute_spread(u), np.sqrt(variance))


def test_counts_are_compared_by_ratios() -> None:
    base = centre(np.random.default_rng(2))
    n_patients = [m.name for m in META_FEATURES].index("n_patients")
    cohorts = []
    for n in (100, 10_000, 1_000_000):
        u = base.copy()
        u[n_patients] = np.log1p(n)
        cohorts.append(meta_features_at(u))
    distances = similarity(cohorts[0], cohorts).distances
    assert COUNTS[n_patients]
    assert distances[0] == 0
    assert distances[2] == pytest.approx(2 * distances[1], rel=0.01)


def test_trust_grows_with_the_number_of_like_cohorts() -> None:
    u = centre(np.random.default_rng(3))
    trusts = [similarity(meta_features_at(u), [meta_features_at(u)] * k).trust for k in (0, 1, 5, 50)]
    assert trusts == pytest.approx([0, 1 / 2, 5 / 6, 50 / 51])


def test_trust_falls_to_a_quarter_of_the_cohorts_at_twice_the_reach() -> None:
    u = np.where(COUNTS, 3.0, 0.5)
    earlier = [meta_features_at(u)] * 8
    at_reach = similarity(meta_features_at(u), earlier).reach
    far = u + np.where(COUNTS, 1.0, 0.0)
    seen = similarity(meta_features_at(far), earlier)
    far = u + np.where(COUNTS, 2.0 * at_reach / seen.distances[0], 0.0)
    twice = similarity(meta_features_at(far), earlier)
    assert twice.distances == pytest.approx([2 * at_reach] * 8)
    assert not twice.similar.any()
    assert twice.trust == pytest.approx(2 / 3)  # eight cohorts count as two


@pytest.mark.parametrize("K", [0, 1, 2, 40])
def test_the_reach_is_the_mean_distance_of_two_cohorts_averaged_with_the_expected_one(K: int) -> None:
    rng = np.random.default_rng(5)
    u = np.array([centre(rng) for _ in range(K)]).reshape(K, 55)
    distances = pdist(u / compute_spread(u), "cityblock") if K > 1 else np.zeros(0)
    expected = (distances.sum() + DISTANCE_PAIRS * 55 * TYPICAL_DISTANCE) / (len(distances) + DISTANCE_PAIRS)
    found = similarity(meta_features_at(centre(rng)), [meta_features_at(each) for each in u]).reach
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_comparison_takes_memory_for_cohorts_and_not_for_pairs_of_them() -> None:
    rng = np.random.default_rng(6)
    target, *earlier = [meta_features_at(centre(rng)) for _ in range(401)]
    tracemalloc.start()
    try:
        similarity(target, earlier)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 400 * 55 * 8


def test_the_cohorts_of_another_field_are_beyond_reach() -> None:
    rng = np.random.default_rng(4)
    own = centre(rng)
    family = [meta_features_at(own + 0.1 * SPREAD * rng.standard_normal(55)) for _ in range(10)]
    stranger = meta_features_at(np.where(COUNTS, 8.0 - own, 1.0 - own) + np.where(COUNTS, 3.0, 0.0))
    assert similarity(meta_features_at(own), family).similar.all()
    assert not similarity(stranger, family).similar.any()
