"""Missing values of patients: what their absence told the pipelines counts; of other features they are drawn."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.interpreter import explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator, prediction
from autoprog.performance import compute_logit
from autoprog.space import STAGES, Configuration, Space, TableShape, build_pipeline
from autoprog.validation import IDENTITY, FeatureDistribution, Refit, fit_patient_intervals

N = 1_500
_FEATURES = tuple(Feature(name, "numeric") for name in ("lactate", "age", "sodium"))


def patients(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Lactate is measured in those who look ill: whoever lacks it is well. Nobody lacks sodium."""
    rng = np.random.default_rng(seed)
    ill = rng.random(N) < 0.4
    X = np.column_stack([rng.normal(2, 1, N), rng.normal(60, 10, N), rng.normal(140, 4, N) + 2 * ill])
    X[~ill & (rng.random(N) < 0.9), 0] = np.nan
    y = (rng.random(N) < np.where(ill, 0.5 + 0.1 * np.nan_to_num(X[:, 0] - 2), 0.05)).astype(np.int8)
    return X, y


def fitted() -> PrognosticModel:
    X, y = patients(0)
    cohort = Cohort("lactate", Binary("y", "1", "0"), _FEATURES, X, y)
    space, shape = Space.full(), TableShape.of(cohort, 5)
    names = (("none", "none", "penalised_logistic", "none"), ("none", "none", "stochastic_boosting", "none"))
    members = []
    for each in names:
        configuration = Configuration(
            *(space.algorithm(s, n).default_step() for s, n in zip(STAGES, each, strict=True))
        )
        members.append(Member(0.5, dump_estimator(build_pipeline(configuration, _FEATURES, shape, 0).fit(X, y))))
    rules = explain(cohort, np.full(N, 0.3), make_strata(np.full(N, 0.3)))
    model = PrognosticModel(cohort.features, cohort.outcome, tuple(members), (rules,), ModelMetadata.of(cohort))
    rng = np.random.default_rng(1)
    p = np.array([model.risks(X)] * 2)
    refits = [
        Refit(np.where(rng.random(N) < 0.5, np.nan, np.clip(p[0] + rng.normal(0, 0.03, N), 0.01, 0.99)), p[0])
        for _ in range(6)
    ]
    intervals = fit_patient_intervals(
        _FEATURES, X, p, np.array([0.5, 0.5]), p[0], refits, folds=5, covariance=np.eye(2) * 0.01, lack_of_fit=0.1
    )
    return dataclasses.replace(
        model, distribution=FeatureDistribution.fit(_FEATURES, X), intervals=(intervals,), recalibration=IDENTITY
    )


MODEL = fitted()
AS_THEY_ARE = dataclasses.replace(MODEL, distribution=None)


def test_absence_that_pipelines_learnt_is_left_to_them() -> None:
    X, y = patients(2)
    np.testing.assert_array_equal(MODEL.risks(X), AS_THEY_ARE.risks(X))
    drawn = dataclasses.replace(MODEL, distribution=dataclasses.replace(MODEL.distribution, n_missing=()))
    # Were the lactate of the well drawn from that of the ill, the ranking would be far worse than validated.
    assert roc_auc_score(y, MODEL.risks(X)) > roc_auc_score(y, drawn.risks(X)) + 0.03


def test_a_value_that_nobody_lacked_is_averaged_over() -> None:
    X, _ = patients(3)
    assert MODEL.distribution is not None
    without = X.copy()
    without[:, 2] = np.nan
    completed = MODEL.distribution.completed(without, 32)
    draws = np.array([AS_THEY_ARE.risks(np.column_stack([without[:, :2], drawn[:, 2]])) for drawn in completed])
    np.testing.assert_allclose(MODEL.risks(without), draws.mean(axis=0))


def test_the_interval_is_by_draws_of_all_that_is_missing_around_the_risk() -> None:
    X, _ = patients(4)
    lacking = X[np.isnan(X[:, 0])][:50]
    risks, bounds = MODEL.risks_with_intervals(lacking)
    assert bounds is not None
    np.testing.assert_array_equal(risks, MODEL.risks(lacking))
    assert ((bounds[:, 0] <= risks) & (risks <= bounds[:, 1])).all()
    drawn = dataclasses.replace(MODEL, distribution=dataclasses.replace(MODEL.distribution, n_missing=()))
    other, ends = drawn.risks_with_intervals(lacking)
    assert ends is not None
    # The same width on the log odds, about another risk.
    inside = (bounds[:, 0] < risks) & (risks < bounds[:, 1]) & (ends[:, 0] < other) & (other < ends[:, 1])
    moved = compute_logit(risks) - compute_logit(other)
    assert inside.sum() > 30
    for end in (0, 1):
        np.testing.assert_allclose(
            compute_logit(bounds[inside, end]), compute_logit(ends[inside, end]) + moved[inside], atol=1e-6
        )


def test_a_finding_that_is_taken_away_is_drawn_though_its_absence_was_learnt() -> None:
    X, _ = patients(5)
    ill = X[~np.isnan(X[:, 0])][:20]
    assert MODEL.distribution is not None
    found = MODEL.contributions(ill)
    without = ill.copy()
    without[:, 0] = np.nan
    completed = MODEL.distribution.completed(without, 32)
    draws = np.array([AS_THEY_ARE.risks(drawn) for drawn in completed]).mean(axis=0)
    np.testing.assert_allclose(found.risks[:, 0], MODEL.risks(ill) - draws)


def test_models_of_before_draw_whatever_is_missing() -> None:
    assert MODEL.distribution is not None
    document = MODEL.distribution.to_json()
    again = FeatureDistribution.from_json(document)
    assert again.n_missing == MODEL.distribution.n_missing == (again.n_missing[0], 0, 0)
    assert again.n_missing[0] > 500
    del document["n_missing"]
    assert not FeatureDistribution.from_json(document).learnt_gaps.any()
    with pytest.raises(ValueError, match="counts"):
        FeatureDistribution.from_json({**document, "n_missing": [1]})


def test_members_are_asked_for_a_bounded_table_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many features a model has; the predictions do not depend on it."""
    X, _ = patients(6)
    X[::3, 2] = np.nan
    whole = MODEL.risks_with_intervals(X)
    asked: list[int] = []
    plain = prediction._ask_members

    def note(model: PrognosticModel, tables: dict[int, np.ndarray], times: list[float] | None) -> prediction._Found:
        asked.append(max(x.size for x in tables.values()))
        return plain(model, tables, times)

    monkeypatch.setattr(prediction, "_ask_members", note)
    monkeypatch.setattr(prediction, "_CELLS_AT_ONCE", 9_600)
    in_parts = MODEL.risks_with_intervals(X)
    assert sum(asked) > 3 * N
    assert max(asked) <= 9_600
    for one, other in zip(whole, in_parts, strict=True):
        assert one is not None
        assert other is not None
        np.testing.assert_allclose(one, other, rtol=1e-12)
