"""The parts of the network's benchmark whose mistakes would not show in its figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.network import figures, marginals, models, tasks


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with two cohorts of 300 patients: a binary one, and one with two causes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    group = rng.choice(["a", "b", "c"], 300)
    outcome = (rng.random(300) < 1 / (1 + np.exp(-2 * x))).astype(int)
    time, event = rng.exponential(np.exp(-x)), rng.integers(0, 3, 300)
    (tmp_path / "datasets.csv").write_text(
        "name,file,kind,outcome_columns\none,one.csv,classification,outcome\ntwo,two.csv,competing_risks,time;event\n"
    )
    for name, head, columns in (
        ("one", "x,group,outcome", (x, group, outcome)),
        ("two", "x,time,event", (x, time, event)),
    ):
        lines = [head, *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    return tmp_path


def test_marginals_of_a_table_are_those_it_was_made_with() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(2, size=4_000), rng.normal(size=(4_000, 2)), rng.lognormal(size=4_000)])
    y = (rng.random(4_000) < 0.3).astype(np.int64)
    X[:800, 1] = np.nan
    told = marginals._told(X, y)
    assert told["patients"] == 4_000
    assert told["share of columns with two values"] == 0.25
    assert told["share of columns with more than 20"] == 0.75
    assert told["share of cells missing"] == 0.05
    assert told["share of events"] == pytest.approx(0.3, abs=0.03)
    assert told["size of a correlation, mean"] < 0.04
    assert told["AUC of ridge regression, left out"] == pytest.approx(0.5, abs=0.04)


class Constant:
    """One incidence for everyone, rising in time; of the other cause none."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Constant:
        assert y.dtype.names is not None
        assert len(X) == len(y) == 240
        return self

    def cumulative_incidence(self, X: np.ndarray, times: np.ndarray) -> np.ndarray:
        F = np.zeros((len(X), 2, len(times)))
        F[:, 0] = np.linspace(0.1, 0.4, len(times))
        return F


def test_risks_are_of_fits_to_other_patients_and_are_kept(data: Path, tmp_path: Path) -> None:
    task = tasks.load("one", data)
    answer = task.ask(models.Imported(LogisticRegression), 1)
    answer.save(tmp_path / "model" / "one-1.npz")
    kept = tasks.Answer.load(tmp_path / "model" / "one-1.npz")
    arrays = task.arrays()
    X, y = arrays["X"], arrays["y"]
    assert X.shape == (300, 4)
    assert (arrays["learn"] ^ arrays["new"]).all()
    assert (arrays["new"].sum(axis=1) == 1).all()
    for learn, new in zip(arrays["learn"][1], arrays["new"][1], strict=True):
        expected = LogisticRegression().fit(X[learn], y[learn]).predict_proba(X[new])[:, 1]
        np.testing.assert_allclose(kept.risks[new], expected, atol=1e-5)


def test_models_take_the_outcomes_that_they_are_for(data: Path) -> None:
    binary, competing = (tasks.load(name, data).cohort for name in ("one", "two"))
    takers = {name for name, model in models.MODELS.items() if model.takes(competing)}
    assert takers == {"fine_gray", "cause_specific", "prior_network"}
    assert {name for name in takers if models.MODELS[name].takes(binary)} == {"prior_network"}
    assert models.Imported(Constant).takes(competing)
    assert not models.Imported(Constant).takes(binary)


def test_incidence_of_an_imported_model_is_that_of_the_first_cause(data: Path) -> None:
    answer = tasks.load("two", data).ask(models.Imported(Constant), 0)
    assert answer.risks.shape == (300, len(answer.times))
    np.testing.assert_allclose(answer.risks[0], np.linspace(0.1, 0.4, 10), rtol=1e-6)


def test_wins_and_differences_of_a_table_by_hand() -> None:
    """The model is below ridge by .1 and .3, and below both in one cohort of two; the third has no boosting yet."""

    def told(loss: float) -> dict[str, float]:
        return {"log_loss": loss, "auc": 1 - loss, "brier": loss / 2, "seconds": 1.0}

    table = {
        "pima": {"network": told(0.4), "ridge": told(0.5), "boosting": told(0.3)},
        "ilpd": {"network": told(0.2), "ridge": told(0.5), "boosting": told(0.6)},
        "ckd": {"network": told(0.2), "ridge": told(0.4)},
    }
    found = figures.figures(table, "network")["binary"]
    assert found["means"]["network"]["log_loss"] == pytest.approx(0.3)
    ridge, both = found["compared"]["ridge"], found["compared"]["best of ridge, boosting"]
    assert (ridge["cohorts"], ridge["wins"]) == (3, 1.0)
    assert ridge["difference"]["log_loss"] == pytest.approx(-0.2)
    assert ridge["standard_error"]["log_loss"] == pytest.approx(0.1 / 3**0.5)
    assert (both["cohorts"], both["wins"]) == (2, 0.5)
    assert both["difference"]["auc"] == pytest.approx(0.1)
    assert "ckd" in figures.as_text({"binary": found})
