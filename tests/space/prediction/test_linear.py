"""The linear learners against their formulas."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.covariance import ledoit_wolf, oas

from autoprog.space import Algorithm, HeldOut
from autoprog.space.prediction.linear import LDA, LINEAR_SVM, LOGISTIC_REGRESSION, RIDGE
from autoprog.space.prediction.penalised import PenalisedLogistic
from tests.space.prediction.learners import Table, fitted, patients, standardised

X, Y = patients(150, 6)
Z = standardised(X)


def test_logistic_regression_is_at_the_maximum_of_the_penalised_likelihood() -> None:
    model = fitted(LOGISTIC_REGRESSION, X, Y)
    p = model.predict_proba(X)[:, 1]
    beta = np.linalg.lstsq(np.column_stack([Z, np.ones(len(Z))]), logit(p), rcond=None)[0]
    gradient = np.append(Z.T @ (p - Y) + beta[:-1], (p - Y).sum())
    np.testing.assert_allclose(gradient / len(Z), 0, atol=1e-3)  # the solver stops at 1e-4 of the mean loss


@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_a_penalty_leaves_as_many_expected_as_observed_events(l1_ratio: float, weighted: bool) -> None:
    """The intercept has no penalty, at any value of the path."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(400, 20))
    y = (rng.random(400) < expit(columns[:, 0] - 4)).astype(np.int8)
    assert 5 < y.sum() < 20
    weights = rng.uniform(0.2, 3.0, 400) if weighted else None
    path = PenalisedLogistic(3.0, l1_ratio).fit_path(columns, y, HeldOut(columns, y), weights)
    of_rows = np.ones(400) if weights is None else weights
    np.testing.assert_allclose(path.risks_of(columns) @ of_rows, of_rows @ y, rtol=1e-6)
    single = PenalisedLogistic(path.values[0], l1_ratio).fit(columns, y, weights)
    assert single.predict_proba(columns)[:, 1] @ of_rows == pytest.approx(of_rows @ y, rel=1e-6)


@pytest.mark.parametrize("alpha", [0.01, 10.0, 1e4])
def test_ridge_solves_the_normal_equations(alpha: float) -> None:
    risks = fitted(RIDGE, X, Y, alpha=alpha).predict_proba(X)[:, 1]
    beta = np.linalg.solve(Z.T @ Z + alpha * np.eye(6), Z.T @ (2.0 * Y - 1))
    expected = (1 + Z @ beta + (2.0 * Y - 1).mean()) / 2
    np.testing.assert_allclose(risks, np.clip(expected, 0, 1), atol=1e-10)


def test_a_ridge_risk_beyond_certainty_is_cut() -> None:
    x = np.append(np.tile([0.0, 1.0], 20), 50.0)[:, None]
    y = np.append(np.tile([0, 1], 20), 1)
    risks = fitted(RIDGE, x[:-1], y[:-1], alpha=0.01).predict_proba([[50.0], [-50.0]])[:, 1]
    np.testing.assert_array_equal(risks, [1.0, 0.0])


def _covariance(group: Table, kind: str, shrinkage: float) -> Table:
    """Of one class; Ledoit and Wolf's after scaling the group to unit variance, as the library has it."""
    S = np.cov(group.T, bias=True)
    if kind == "shrunk":
        return (1 - shrinkage) * S + shrinkage * np.trace(S) / len(S) * np.eye(len(S))
    if kind == "ledoit_wolf":
        sd = group.std(axis=0)
        return sd[:, None] * ledoit_wolf(group / sd)[0] * sd[None, :]
    return oas(group)[0] if kind == "oas" else S


@pytest.mark.parametrize(
    ("kind", "priors"), list(product(("empirical", "ledoit_wolf", "oas", "shrunk"), ("observed", "equal")))
)
def test_lda_is_the_posterior_of_two_normal_classes_of_one_covariance(kind: str, priors: str) -> None:
    share = np.array([(Y == 0).mean(), (Y == 1).mean()])
    prior = share if priors == "observed" else np.array([0.5, 0.5])
    groups = [Z[Y == 0], Z[Y == 1]]
    mean_0, mean_1 = (g.mean(axis=0) for g in groups)
    # Only the unshrunk covariance is pooled by what was observed; the library weights the others by the priors.
    weight = share if kind == "empirical" else prior
    S = sum(w * _covariance(g, kind, 0.3) for w, g in zip(weight, groups, strict=True))
    odds = (Z - (mean_0 + mean_1) / 2) @ np.linalg.solve(S, mean_1 - mean_0) + np.log(prior[1] / prior[0])
    model = fitted(LDA, X, Y, covariance=kind, shrinkage=0.3, priors=priors)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(odds), atol=1e-10)


def test_every_pair_of_the_machine_s_choices_is_valid() -> None:
    for loss, penalty, weight in product(("hinge", "squared_hinge"), ("l1", "l2"), ("none", "balanced")):
        risks = fitted(LINEAR_SVM, X, Y, loss=loss, penalty=penalty, class_weight=weight).predict_proba(X)[:, 1]
        assert 0 < risks.min() < risks.max() < 1


def test_the_machine_ranks_patients_by_its_margin() -> None:
    model = fitted(LINEAR_SVM, X, Y)
    margin = model.estimator_.estimator_.decision_function(Z)
    np.testing.assert_array_equal(rankdata(model.predict_proba(X)[:, 1]), rankdata(margin))


def test_an_absolute_penalty_leaves_columns_out_and_a_squared_one_does_not() -> None:
    columns = {
        penalty: np.count_nonzero(fitted(LINEAR_SVM, X, Y, penalty=penalty, C=0.01).estimator_.estimator_.coef_)
        for penalty in ("l1", "l2")
    }
    assert 0 < columns["l1"] < columns["l2"] == 6


@pytest.mark.parametrize("algorithm", [LOGISTIC_REGRESSION, RIDGE, LDA, LINEAR_SVM], ids=lambda a: a.name)
def test_units_do_not_matter(algorithm: Algorithm) -> None:
    scaled = X * np.array([1e-6, 1e6, -1.0, 60.0, 7.0, 0.1]) + 3.0
    first, second = (fitted(algorithm, table, Y).predict_proba(table)[:, 1] for table in (X, scaled))
    np.testing.assert_allclose(first, second, atol=1e-4)
