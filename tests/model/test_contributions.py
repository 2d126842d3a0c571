"""Contributions of findings: against independent computations, and where the truth is planted."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from autoprog.cohort import Binary, Cohort, Feature, WindowSchema
from autoprog.interpreter import RuleSet, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator
from autoprog.space import Configuration, Step, TableShape, build_pipeline
from autoprog.validation import FeatureDistribution
from tests.cohorts import event_cohort
from tests.event_models import WINDOW, cox_model

LOGISTIC = Configuration(Step("median"), Step("none"), Step("logistic_regression"), Step("none"))
RHO = 0.7


def _binary(X: NDArray[np.float64], y: NDArray[np.int8], *, drawn: bool = True) -> PrognosticModel:
    features = tuple(
        Feature(f"x{j}", "numeric", minimum=float(x.min()), maximum=float(x.max())) for j, x in enumerate(X.T)
    )
    cohort = Cohort("planted", Binary("y", "1", "0"), features, X, y)
    pipeline = build_pipeline(LOGISTIC, features, TableShape.of(cohort, 5), 0).fit(X, y)
    rules = RuleSet(make_strata(pipeline.predict_proba(X)[:, 1]), (), "no rules")
    members = (Member(1.0, dump_estimator(pipeline)),)
    distribution = FeatureDistribution.fit(features, X) if drawn else None
    return PrognosticModel(
        features, cohort.outcome, members, (rules,), ModelMetadata.of(cohort), distribution=distribution
    )


@cache
def _planted() -> tuple[PrognosticModel, NDArray[np.float64]]:
    """The outcome depends on x0 strongly and on x2 weakly; x1 goes with x0 and tells nothing more."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6_000, 4))
    X[:, 1] = RHO * X[:, 0] + np.sqrt(1 - RHO**2) * X[:, 1]
    y = (rng.random(len(X)) < expit(-0.5 + 1.8 * X[:, 0] + 0.4 * X[:, 2])).astype(np.int8)
    return _binary(X, y), X[:60]


def test_contributions_of_a_redundant_finding_are_near_nothing_and_of_the_strong_one_largest() -> None:
    model, X = _planted()
    size = np.abs(model.contributions(X).risks).mean(axis=0)
    assert size.argmax() == 0
    assert size[0] > 0.15
    assert 0.02 < size[2] < size[0] / 3
    assert size[1] < 0.02
    assert size[3] < 0.02


def test_contributions_are_those_of_the_conditional_normal_distribution() -> None:
    """Removing x0 leaves x1, given which x0 is normal: the integral is done here by quadrature."""
    model, X = _planted()

    def risk(rows: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = model.members[0].estimator.predict_proba(rows)[:, 1]
        return found

    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    expected = np.zeros(len(X))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        guess = X.copy()
        guess[:, 0] = RHO * X[:, 1] + np.sqrt(1 - RHO**2) * node
        expected += weight * risk(guess)
    found = model.contributions(X).risks[:, 0]
    np.testing.assert_allclose(found, risk(X) - expected, atol=0.05)
    assert np.abs(found - (risk(X) - expected)).mean() < 0.015


def test_contributions_batch_is_what_single_removals_give() -> None:
    model, X = _planted()
    X = X.copy()
    X[::3, 2] = np.nan
    found = model.contributions(X)
    assert found.features == ("x0", "x1", "x2", "x3")
    np.testing.assert_array_equal(np.isnan(found.risks), np.isnan(X))
    for j in range(4):
        without = X.copy()
        without[:, j] = np.nan
        change = np.where(np.isnan(X[:, j]), np.nan, model.risks(X) - model.risks(without))
        np.testing.assert_allclose(found.risks[:, j], change, atol=1e-12)


def test_contributions_of_a_model_without_a_distribution_are_against_the_imputation() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    model = _binary(X, (rng.random(400) < expit(X[:, 0])).astype(np.int8), drawn=False)
    model = PrognosticModel.from_bytes(model.to_bytes())
    imputed = X[:10].copy()
    imputed[:, 0] = np.median(X[:, 0])
    np.testing.assert_allclose(
        model.contributions(X[:10]).risks[:, 0], model.risks(X[:10]) - model.risks(imputed), atol=1e-12
    )


def test_predict_explains_only_if_asked_and_lists_the_largest_first() -> None:
    model, _ = _planted()
    patient: dict[str, object] = {"x0": 1.5, "x1": 0.0, "x2": None, "x3": 0.1}
    (plain,), (explained,) = model.predict([patient]), model.predict([patient], explain=True)
    assert plain.contributions is None
    assert replace(explained, contributions=None) == plain
    assert explained.contributions is not None
    assert next(each.feature for each in explained.contributions) == "x0"
    assert {each.feature for each in explained.contributions} == {"x0", "x1", "x3"}
    sizes = [each.size for each in explained.contributions]
    assert sizes == sorted(sizes, reverse=True)
    document = explained.to_json()["contributions"][0]
    assert document == {"feature": "x0", "risk": explained.contributions[0].risk, "horizons": []}
    (nothing,) = model.predict([dict.fromkeys(patient, None)], explain=True)
    assert nothing.contributions == ()


@pytest.mark.parametrize("name", ["mgus2", "pbcseq"])
def test_contributions_of_event_times_are_by_horizon_and_cause(name: str) -> None:
    cohort = event_cohort(name)
    windows = None if cohort.visits is None else WindowSchema.of(cohort)
    model = cox_model(cohort, windows=windows)
    model = replace(model, distribution=FeatureDistribution.fit(model.features, _table(model, cohort)))
    table = _table(model, cohort)[:8]
    X = table if windows is None else {WINDOW: table}
    found = model.contributions(X)
    assert model.time_to_event is not None
    shape = (8, len(model.inputs), len(model.horizons))
    assert found.risks.shape == shape
    assert found.causes is not None
    assert found.causes.shape == (8, shape[1], model.time_to_event.n_causes, shape[2])
    np.testing.assert_allclose(found.causes[:, :, 0], found.risks, atol=1e-9)
    # By hand for one finding: all of its columns are unknown.
    at = next(j for j, feature in enumerate(model.inputs) if feature.name in {"age", "bili"})
    name_of = model.inputs[at].name
    columns = [j for j, f in enumerate(model.features) if f.name == name_of or f.name.startswith(f"{name_of} (")]
    without = table.copy()
    without[:, columns] = np.nan
    changed = model.risks(X) - model.risks(without if windows is None else {WINDOW: without})
    np.testing.assert_allclose(found.risks[:, at], changed, atol=1e-9)
    assert np.abs(changed).max() > 0.005


def _table(model: PrognosticModel, cohort: Cohort) -> NDArray[np.float64]:
    if model.windows is None:
        return cohort.X
    from autoprog.cohort import windowed  # noqa: PLC0415

    return windowed(cohort, WINDOW, model.windows).X


def test_contributions_of_fifty_findings_take_less_than_a_second() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2_000, 50))
    model = _binary(X, (rng.random(2_000) < expit(X[:, 0])).astype(np.int8))
    patient = dict(zip((f.name for f in model.features), X[0].tolist(), strict=True))
    model.predict([patient], explain=True)
    began = time.process_time()
    (found,) = model.predict([patient], explain=True)
    assert found.contributions is not None
    assert len(found.contributions) == 50
    assert time.process_time() - began < 1
