"""Two models on the same patients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from autoprog.errors import InvalidInputError
from autoprog.model import compare_models
from autoprog.validation import Recalibration
from tests.cohort.test_alignment import LEFT_OUT
from tests.cohorts import event_cohort
from tests.model.test_external_validation import RANGE, model, others, part


def test_measures_are_each_models_and_the_difference_is_paired() -> None:
    flat = replace(model(), recalibration=Recalibration(0.0, 0.2))  # ranks patients alike
    (found,) = compare_models(model(), flat, others(), RANGE)["horizons"]
    p, q = model().risks(others().X), flat.risks(others().X)
    y = others().y
    assert found["horizon"] is None
    assert found["model"]["auc_roc"]["estimate"] == pytest.approx(roc_auc_score(y, p))
    assert found["other"]["brier"]["estimate"] == pytest.approx(brier_score_loss(y, q))
    brier = found["difference"]["brier"]
    assert brier["estimate"] == pytest.approx(brier_score_loss(y, p) - brier_score_loss(y, q))
    assert brier["lower"] < brier["estimate"] < brier["upper"]
    # The same order of patients: no difference, and no chance in it, although each AUC has a wide interval.
    auc = found["difference"]["auc_roc"]
    assert (auc["estimate"], auc["lower"], auc["upper"]) == pytest.approx((0, 0, 0), abs=1e-12)


def test_a_model_compared_with_itself_differs_by_nothing() -> None:
    (found,) = compare_models(model(), model(), others(), RANGE)["horizons"]
    assert all(each["estimate"] == each["lower"] == each["upper"] == 0 for each in found["difference"].values())
    assert found["model"] == found["other"]


def test_training_patients_are_warned_of_for_the_model_that_knows_them() -> None:
    training = part(np.arange(0, 303, 2))
    found = compare_models(model(), model(), training, RANGE, ([training], [others()]))
    assert [text.split(":")[0] for text in found["warnings"]] == ["this model"]


def test_the_faults_of_both_models_are_named_at_once() -> None:
    features = others().features
    first, second = (replace(model(), features=features[:n]) for n in (1, 2))
    healthy = others().take(np.flatnonzero(others().y == 0))
    lacking = healthy.with_features(features[2:], range(2, len(features)))
    with pytest.raises(InvalidInputError) as caught:
        compare_models(first, second, lacking, RANGE)
    details = [fault.detail for fault in caught.value.faults]
    assert details[:2] == [f"the cohort has no feature {feature.name!r}, {LEFT_OUT}" for feature in features[:2]]
    assert "have the outcome" in details[2]
    assert len(details) == 3


def test_another_kind_of_outcome_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="a comparison of this model takes a cohort of mode classification"):
        compare_models(model(), model(), event_cohort("veteran"), RANGE)
