"""What a new search begins with: averages by likeness, shrunk to the agnostic prior."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from autoprog.metalearning import META_FEATURES, MetaFeatures, calibrated_prior
from autoprog.metalearning.prior import independent_statistics
from autoprog.optimizer import OptimizerOptions
from tests.metalearning.repositories import COUNTS, centre, collect_statistics, meta_features_at

U = centre(np.random.default_rng(0))
HERE = meta_features_at(U)


def test_without_an_earlier_cohort_the_prior_is_the_optimizer_s_own() -> None:
    prior = calibrated_prior(HERE, [], mode="classification", metric="auc_roc")
    assert (prior.subspaces, prior.length, prior.variance) == (8, pytest.approx(0.5), pytest.approx(1))
    assert (prior.offsets, prior.scale, prior.trust, prior.cohorts) == ({}, None, 0, ())
    assert OptimizerOptions(**prior.constants) == OptimizerOptions()


def test_identical_cohorts_are_averaged_and_the_agnostic_prior_counts_as_one() -> None:
    earlier = [
        collect_statistics(
            f"c{j}", HERE, [0.0], subspaces=2, log_concentration=math.log(4), log_length=0.0, offsets=[0.02]
        )
        for j in range(5)
    ]
    prior = calibrated_prior(HERE, earlier, mode="classification", metric="auc_roc")
    t = 5 / 6
    assert prior.trust == pytest.approx(t)
    assert prior.subspaces == round(t * 2 + (1 - t) * 8)
    assert math.log(prior.concentration) == pytest.approx(t * math.log(4))
    assert math.log(prior.length) == pytest.approx((1 - t) * math.log(0.5))
    assert prior.offsets["prediction/a00"] == pytest.approx(t * 0.02 / 0.01)  # in standardised units
    assert [weight for _, weight in prior.cohorts] == pytest.approx([0.2] * 5)
    assert prior.scale == pytest.approx(0.01)
    assert prior.constants["subspaces"] == prior.subspaces
    assert OptimizerOptions(**prior.constants).length == prior.length


def test_the_nearer_cohort_counts_more() -> None:
    near, far = (meta_features_at(U + np.where(COUNTS, step, 0.0)) for step in (0.1, 1.0))
    earlier = [collect_statistics("far", far, log_variance=-3.0), collect_statistics("near", near, log_variance=3.0)]
    prior = calibrated_prior(HERE, earlier, mode="classification", metric="auc_roc")
    assert prior.cohorts[0][0] == "near"
    assert prior.variance > 1
    printed = calibrated_prior(HERE, earlier, mode="classification", metric="auc_roc", form="printed")
    assert printed.variance < 1


def test_far_cohorts_leave_the_agnostic_prior() -> None:
    away = meta_features_at(U + np.where(COUNTS, 30.0, 0.0))
    earlier = [collect_statistics(f"c{j}", away, [0.0], subspaces=14, offsets=[0.5]) for j in range(20)]
    prior = calibrated_prior(HERE, earlier, mode="classification", metric="auc_roc")
    assert prior.trust < 0.1
    assert prior.subspaces == 8


def test_an_algorithm_that_few_tried_is_believed_less() -> None:
    both = collect_statistics("both", HERE, [0.0, 0.0], offsets=[0.02, 0.02])
    one = collect_statistics("one", HERE, [0.0], offsets=[0.02])
    prior = calibrated_prior(HERE, [both, one], mode="classification", metric="auc_roc")
    assert prior.offsets["prediction/a01"] == pytest.approx(prior.offsets["prediction/a00"] / 2)


def test_there_are_at_least_two_subspaces() -> None:
    earlier = [collect_statistics(f"c{j}", HERE, subspaces=0.0) for j in range(50)]
    assert calibrated_prior(HERE, earlier, mode="classification", metric="auc_roc").subspaces == 2


def test_other_modes_and_metrics_are_passed_over() -> None:
    other = collect_statistics("other", HERE, metric="brier")
    assert calibrated_prior(HERE, [other], mode="classification", metric="auc_roc").cohorts == ()
    assert calibrated_prior(HERE, [other], mode="survival", metric="brier").cohorts == ()
    assert len(calibrated_prior(HERE, [other], mode="classification", metric="brier").cohorts) == 1


def test_a_cohort_counts_once_under_whatever_name_and_never_for_itself() -> None:
    u = centre(np.random.default_rng(7))
    here, there = meta_features_at(u), meta_features_at(u + 0.2)
    few, more = (replace(collect_statistics(n, there), n_evaluations=k) for n, k in (("few", 10), ("more", 90)))
    another = collect_statistics("another", meta_features_at(u + 0.4))
    copy = collect_statistics("copy", here)
    given = [few, copy, another, more]
    found = independent_statistics(here, given, "classification", "auc_roc")
    assert [s.cohort_id for s in found] == ["more", "another"]
    # What columns mean can be told apart by their names alone: it does not make another cohort of the same patients.
    named = np.array([m.group == "clinical" and m.name != "visits_per_patient" for m in META_FEATURES])
    renamed = MetaFeatures(tuple(np.where(named, 0.0, here.to_array()).tolist()))
    assert independent_statistics(renamed, [copy], "classification", "auc_roc") == []
