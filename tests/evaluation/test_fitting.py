from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from autoprog.cohort import Binary, Cohort, Feature
from autoprog.evaluation import Plan, fit_pipeline
from autoprog.performance import bootstrap_rows
from autoprog.space import CalibratedIncidence, CalibratedRisk, Configuration, Parameter, Reduction, Space, Step
from autoprog.space.path import compute_log_loss
from tests.cohorts import event_cohort, mixed_cohort

CALIBRATED = Configuration(Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("sigmoid"))
PLAN = Plan("auc_roc", folds=4, repeats=1, seed=0)


def test_inner_folds_keep_groups_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = mixed_cohort()
    rows = PLAN.fold(cohort, 0).train
    seen: list[list[tuple[np.ndarray, np.ndarray]]] = []
    fit = CalibratedRisk.fit

    def spy(self: CalibratedRisk, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> CalibratedRisk:
        seen.append(self.cv)
        return fit(self, X, y, groups)

    monkeypatch.setattr(CalibratedRisk, "fit", spy)
    pipeline = fit_pipeline(CALIBRATED, cohort, rows, PLAN, seed=3)
    (splits,) = seen
    assert len(splits) == 3
    assert cohort.groups is not None
    groups = cohort.groups[rows]
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(rows)))
    assert pipeline.cv.n_splits == 3  # no rows are stored


@pytest.mark.parametrize("reduction", [None, "discrete_time"])
def test_inner_folds_keep_copies_of_a_patient_together(
    monkeypatch: pytest.MonkeyPatch, reduction: Reduction | None
) -> None:
    """A bootstrap sample has patients twice; none may be held out of an inner fold and be learnt from as well."""
    if reduction is None:
        cohort, plan = replace(mixed_cohort(), groups=None), PLAN
    else:
        cohort = event_cohort("veteran")
        plan = Plan("uno_c", 4, 1, 0, times=cohort.time_grid, reduction=reduction)
    rows = bootstrap_rows(cohort.y, None, np.random.default_rng(1))
    seen: list[list[tuple[np.ndarray, np.ndarray]]] = []
    for calibrated in (CalibratedRisk, CalibratedIncidence):
        fit = calibrated.fit
        spy = lambda self, X, y, groups, fit=fit: (seen.append(self.cv), fit(self, X, y, groups))[1]  # noqa: E731
        monkeypatch.setattr(calibrated, "fit", spy)
    fit_pipeline(CALIBRATED, cohort, rows, plan, seed=3)
    (splits,) = seen
    assert len(splits) == 3
    for train, test in splits:
        assert not set(rows[train]) & set(rows[test])
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(rows)))


def test_a_bootstrap_sample_does_not_make_the_calibration_too_steep() -> None:
    """Slopes of calibration among new patients: 1 is right. With copies apart their mean is 0.67."""
    slopes = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(4400, 3))
        y = (rng.random(4400) < expit(1.5 * X.sum(axis=1) - 0.5)).astype(np.int8)
        features = tuple(Feature(name, "numeric") for name in "abc")
        cohort = Cohort("simulated", Binary("y", "1", "0"), features, X[:400], y[:400])
        rows = bootstrap_rows(cohort.y, None, rng)
        nearest = replace(CALIBRATED, prediction=Step.of("k_nearest_neighbours", {"neighbours": 3}))
        risks = cohort.target.predict_risks(fit_pipeline(nearest, cohort, rows, PLAN, seed), X[400:])
        slopes.append(LogisticRegression(C=np.inf).fit(logit(risks)[:, None], y[400:]).coef_[0, 0])
    assert np.mean(slopes) == pytest.approx(1.0, abs=0.2)


def test_without_groups_it_is_the_pipeline_as_built() -> None:
    cohort = replace(mixed_cohort(), groups=None)
    rows = np.arange(cohort.n_patients)
    first, second = (fit_pipeline(CALIBRATED, cohort, rows, PLAN, seed=3).predict_proba(cohort.X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def hospitals() -> Cohort:
    """Patients of six hospitals, two of which have no one with the outcome."""
    counts = ((10, 0), (1, 30), (0, 60), (0, 4), (9, 5), (6, 9))  # with and without it
    y = np.concatenate([np.repeat([1, 0], pair) for pair in counts]).astype(np.int8)
    groups = np.repeat(np.arange(len(counts)), [sum(pair) for pair in counts])
    X = np.random.default_rng(0).normal(size=(len(y), 2)) + y[:, None]
    return Cohort("hospitals", Binary("y", "1", "0"), (Feature("a", "numeric"), Feature("b", "numeric")), X, y, groups)


def test_inner_folds_of_few_groups_lack_no_outcome() -> None:
    cohort = hospitals()
    assert cohort.groups is not None
    for seed in range(5):
        fitted = fit_pipeline(CALIBRATED, cohort, np.flatnonzero(cohort.groups < 4), replace(PLAN, folds=3), seed)
        assert np.isfinite(fitted.predict_proba(cohort.X)).all()


def test_an_outcome_of_one_group_alone_is_named() -> None:
    cohort = hospitals()
    rows = np.flatnonzero(np.isin(cohort.groups, (0, 2, 3)))
    with pytest.raises(ValueError, match="a single group has all patients with an outcome"):
        fit_pipeline(CALIBRATED, cohort, rows, replace(PLAN, folds=3), 0)


def test_censored_patients_of_event_times_may_all_be_of_one_group() -> None:
    cohort = event_cohort("gbsg2")
    censored = cohort.y == 0
    groups = np.where(censored, 6, np.arange(cohort.n_rows) % 6)
    plan = Plan("uno_c", 4, 1, 0, times=cohort.time_grid, reduction="discrete_time")
    fitted = fit_pipeline(CALIBRATED, replace(cohort, groups=groups), np.arange(cohort.n_rows), plan, 0)
    assert isinstance(fitted, CalibratedIncidence)


def alike_rows(seed: int) -> tuple[Cohort, np.ndarray, np.ndarray]:
    """150 patients of five rows that are almost alike, with one outcome each, and columns and outcomes of others."""
    rng = np.random.default_rng(seed)
    levels = tuple(map(str, range(100)))
    Z, level = rng.normal(size=(750, 8)), rng.integers(100, size=750)
    of_patient = (rng.random(750) < expit(Z[:, 0])).astype(np.int8)
    patient = np.repeat(np.arange(750), 5)
    X = np.column_stack([Z[patient] + rng.normal(0, 0.1, (3750, 8)), level[patient]])
    y = of_patient[patient]
    features = (*(Feature(f"x{j}", "numeric") for j in range(8)), Feature("site", "categorical", levels))
    return Cohort("rows", Binary("y", "1", "0"), features, X[:750], y[:750], patient[:750]), X[750:], y[750:]


@pytest.mark.parametrize(
    ("imputation", "predictor", "settings"),
    [
        ("none", "stochastic_boosting", {"levels": "outcomes", "trees": 60, "min_leaf": 5}),
        ("median", "linear_svm", {"C": 1.0}),
        ("median", "neural_network", {}),
    ],
)
def test_learners_that_split_rows_keep_groups_whole_and_learn_better(
    imputation: str, predictor: str, settings: dict[str, Parameter]
) -> None:
    """With a patient's rows on both sides, log losses among new patients are .1 to .7 higher."""
    default = dict(Space.full().algorithm("prediction", predictor).default_step().parameters)
    step = Step.of(predictor, {**default, **settings})
    configuration = Configuration(Step.of(imputation), Step.of("none"), step, Step.of("none"))
    losses = np.empty((3, 2))
    for seed in range(3):
        cohort, X, y = alike_rows(seed)
        for k, learnt in enumerate((cohort, replace(cohort, groups=None))):
            pipeline = fit_pipeline(configuration, learnt, np.arange(750), PLAN, seed)
            losses[seed, k] = compute_log_loss(pipeline.predict_proba(X)[:, 1], y, None)
    assert losses[:, 0].mean() < losses[:, 1].mean() - 0.08
    assert losses[:, 0].mean() < 0.78
