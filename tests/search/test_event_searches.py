"""Searches for event times and for visits, from the queue to the delivered model, with evaluations in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from api.searches.schemas import EnsembleDocument
from autoprog.cohort import Cohort
from autoprog.model import PrognosticModel
from autoprog.search.clock import MAX_REFITS
from autoprog.search.planning import plan_search
from autoprog.search.settings import SearchSettings
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.tables import SearchRow
from autoprog.validation import IDENTITY
from tests.cohorts import event_cohort, event_file, labelled_visits
from tests.search.bench import Bench
from tests.search.inline import InlineDispatcher

FAST = {"imputation": ["median"], "features": ["none"], "calibration": ["none", "sigmoid"]}
LEARNERS = ["cox", "logistic_regression", "ridge"]

Benches = Callable[[Cohort], Bench]

# What is stored of these searches is of the same kinds on every server; `test_runner` runs on all.
pytestmark = pytest.mark.parametrize("backend", ["sqlite"])


@pytest.fixture
def bench_of(database: Database, tmp_path: Path) -> Benches:
    return lambda cohort: Bench(database, Files(str(tmp_path / "files")), cohort)


def run(bench: Bench, cohort: Cohort, **settings: Any) -> tuple[SearchRow, PrognosticModel]:
    asked = {
        "space": {**FAST, "prediction": LEARNERS},
        "budget": {"evaluations": 6, "time_s": 600},
        "folds": 3,
        **settings,
    }
    planned, _ = plan_search(SearchSettings.model_validate(asked), cohort)
    search_id = bench.queue(**planned.model_dump(mode="json"))
    assert bench.runner(InlineDispatcher()).run_one()
    search = bench.search(search_id)
    assert search.status == "succeeded", search.error
    return search, bench.model(search)


def patients(name: str, n: int, model: PrognosticModel) -> list[dict[str, Any]]:
    frame = pd.read_csv(pd.io.common.BytesIO(event_file(name)), compression="gzip")
    names = [feature.name for feature in model.inputs]
    return frame[names].head(n).astype(object).where(frame[names].head(n).notna(), None).to_dict("records")


def test_a_survival_search_delivers_risks_at_every_horizon(bench_of: Benches) -> None:
    cohort = event_cohort("whas500")
    search, model = run(bench_of(cohort), cohort)
    assert search.settings["metric"] == "uno_c"
    assert search.ensemble is not None
    assert search.ensemble["baseline"]["configuration"]["prediction"]["algorithm"] == "cox"
    score = search.ensemble["score"]
    assert 0.7 < score["lower"] < score["estimate"] < score["upper"] < 0.9
    assert [h["horizon"] for h in search.ensemble["horizons"]] == list(cohort.horizons)
    for horizon in search.ensemble["horizons"]:
        assert 0.65 < horizon["performance"]["auc"] < 0.95
        assert horizon["performance"]["expected_observed"]["estimate"] == pytest.approx(1, abs=0.15)
    answers = model.predict(patients("whas500", 20, model))
    for answer in answers:
        risks = [at.risk for at in answer.horizons]
        assert risks == sorted(risks)
        assert all(0 <= risk <= 1 for risk in risks)
        assert answer.risk is None
        assert [at.horizon for at in answer.horizons] == list(cohort.horizons)
        assert all(at.causes == {"1": at.risk} for at in answer.horizons)


def test_rules_and_strata_are_told_for_every_horizon(bench_of: Benches) -> None:
    cohort = event_cohort("whas500")
    search, model = run(bench_of(cohort), cohort, strata={"high": 0.3, "medium": 0.1})
    assert search.rules is not None
    assert {s["horizon"] for s in search.rules["strata"]} == set(cohort.horizons)
    assert {r["horizon"] for r in search.rules["rules"]} <= set(cohort.horizons)
    for answer in model.predict(patients("whas500", 60, model)):
        for at in answer.horizons:
            assert at.stratum == ("high" if at.risk >= 0.3 else "medium" if at.risk >= 0.1 else "low")
        for place in answer.rules:
            assert 0 <= place < len(search.rules["rules"])


def test_competing_causes_share_what_can_happen(bench_of: Benches) -> None:
    cohort = event_cohort("bmt137")
    learners = ["cox", "fine_gray", "logistic_regression"]
    search, model = run(bench_of(cohort), cohort, space={**FAST, "prediction": learners}, metric="integrated_brier")
    explored = {e[2]["prediction"]["algorithm"] for e in bench_evaluations(search, bench_of(cohort))}
    assert explored == set(learners)
    for answer in model.predict(patients("bmt137", 30, model)):
        for at in answer.horizons:
            assert set(at.causes) == {"1", "2"}
            assert at.causes["1"] == at.risk
            assert sum(at.causes.values()) <= 1 + 1e-9
    assert search.ensemble is not None
    assert model.competing != (IDENTITY,)
    for horizon in search.ensemble["horizons"]:
        (told,) = horizon["causes"]
        assert told["cause"] == "2"
        assert told["n_events"] == ((cohort.y == 2) & (np.array(cohort.time) <= horizon["horizon"])).sum()
        assert told["performance"]["expected_observed"]["estimate"] == pytest.approx(1, abs=0.2)
        assert set(told["performance"]["intervals"]) >= {"auc", "brier", "ici"}
        assert horizon["instability"]["n_refits"] == MAX_REFITS
        assert 0 < horizon["instability"]["mape"] < horizon["instability"]["mape_90"] < 0.5
        shown = EnsembleDocument.model_validate(search.ensemble).model_dump(mode="json")["horizons"]
        assert horizon["instability"] in [each["instability"] for each in shown]


def bench_evaluations(search: SearchRow, bench: Bench) -> list[tuple[Any, ...]]:
    return bench.evaluations(search.id)


def test_classifiers_serve_by_weights_too(bench_of: Benches) -> None:
    cohort = event_cohort("whas500")
    search, _ = run(
        bench_of(cohort), cohort, reduction="ipcw", space={**FAST, "prediction": ["ridge", "logistic_regression"]}
    )
    assert search.ensemble is not None
    assert search.ensemble["score"]["estimate"] > 0.7


@pytest.mark.parametrize("ensemble", ["greedy", "stacking", "best"])
def test_every_rule_makes_an_ensemble_of_curves(bench_of: Benches, ensemble: str) -> None:
    cohort = event_cohort("veteran")
    search, model = run(bench_of(cohort), cohort, ensemble=ensemble)
    assert search.ensemble is not None
    assert sum(m["weight"] for m in search.ensemble["members"]) == pytest.approx(1)
    risks = model.risks(cohort.X)
    assert risks.shape == (cohort.n_rows, len(cohort.horizons))
    assert (np.diff(risks, axis=1) >= 0).all()


def test_windows_of_visits_are_searched_and_predicted_from(bench_of: Benches) -> None:
    cohort = few(event_cohort("pbcseq"))
    search, model = run(
        bench_of(cohort), cohort, window=[1, 3], space={**FAST, "prediction": ["logistic_regression", "ridge"]}
    )
    assert search.settings["metric"] == "time_dependent_auc"
    windows = {m.window for m in model.members}
    assert windows <= {1, 3}
    assert model.window == 3
    assert set(model.window_lengths) == windows | {3}
    assert search.ensemble is not None
    assert search.ensemble["score"]["estimate"] > 0.8
    first = {"visits": [visit(cohort, 0)]}
    (answer,) = model.predict([first])
    assert answer.risk == answer.horizons[0].risk
    assert answer.horizons[0].horizon == 365


def few(cohort: Cohort) -> Cohort:
    """The first visits of 120 patients, and what changes most."""
    assert cohort.visits is not None
    rows = np.flatnonzero(cohort.visits.patient < 120)
    names = {"bili", "albumin", "protime", "age", "edema"}
    kept = [j for j, feature in enumerate(cohort.features) if feature.name in names]
    return replace(cohort.take(rows), X=cohort.X[rows][:, kept], features=tuple(cohort.features[j] for j in kept))


def visit(cohort: Cohort, row: int) -> dict[str, Any]:
    assert cohort.visits is not None
    values: dict[str, Any] = {"visit_time": float(cohort.visits.time[row])}
    for feature, cell in zip(cohort.features, cohort.X[row].tolist(), strict=True):
        values[feature.name] = None if np.isnan(cell) else feature.levels[int(cell)] if feature.levels else cell
    return values


def test_a_label_of_the_visit_is_predicted_as_a_binary_outcome(bench_of: Benches) -> None:
    cohort = few(labelled_visits())
    search, model = run(bench_of(cohort), cohort, space={**FAST, "prediction": ["logistic_regression", "ridge"]})
    assert search.settings["metric"] == "auc_roc"
    assert search.ensemble is not None
    assert "horizons" not in search.ensemble
    (answer,) = model.predict([{"visits": [visit(cohort, 0), visit(cohort, 1)]}])
    assert answer.horizons == ()
    assert answer.risk is not None


def test_a_model_of_visits_is_stored_with_its_windows(bench_of: Benches) -> None:
    cohort = few(labelled_visits())
    _, model = run(bench_of(cohort), cohort, space={**FAST, "prediction": ["ridge"]}, window=2)
    again = PrognosticModel.from_bytes(model.to_bytes())
    asked = [{"visits": [visit(cohort, 0), visit(cohort, 1)]}, {"visits": [visit(cohort, 0)]}]
    assert [a.risk for a in again.predict(asked)] == [a.risk for a in model.predict(asked)]
