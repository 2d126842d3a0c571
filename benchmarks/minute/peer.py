"""Fits one peer on one cohort, in that peer's own environment, and prints one line: RESULT and JSON.

python peer.py PEER COHORT SEED BUDGET_SECONDS DATA_FOLDER
"""

# ruff: noqa: PLC0415  each peer has only its own libraries

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split


def load(name: str, data: Path) -> tuple[pd.DataFrame, pd.Series]:
    """The features, and the outcome as 0 and 1."""
    cohort, _, horizon = name.partition("@")
    manifest = pd.read_csv(data / "datasets.csv").set_index("name")
    frame = pd.read_csv(data / manifest.loc[cohort, "file"])
    if horizon:
        event = (frame["event"] == 1) & (frame["time"] <= float(horizon))
        known = event | (frame["time"] > float(horizon))
        frame = frame.drop(columns=["time", "event"])[known].reset_index(drop=True)
        return frame, event[known].astype(int).reset_index(drop=True)
    outcome = frame.pop(str(manifest.loc[cohort, "outcome_columns"]))
    return frame, (outcome == max(outcome.unique())).astype(int)


def dummies(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Text as dummies of the training levels, for those that take numbers only."""
    text = [name for name in train if not pd.api.types.is_numeric_dtype(train[name])]
    a = pd.get_dummies(train, columns=text, dtype=float)
    return a, pd.get_dummies(test, columns=text, dtype=float).reindex(columns=a.columns, fill_value=0.0)


def logistic(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, _: float) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, new = dummies(X, new)
    regression = LogisticRegressionCV(max_iter=2000, scoring="roc_auc")
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), regression)
    return model.fit(X, y).predict_proba(new)[:, 1]


def flaml(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, budget: float) -> Any:
    from flaml import AutoML

    model = AutoML()
    model.fit(
        X, y, task="classification", metric="roc_auc", time_budget=budget, n_jobs=2, verbose=0, seed=0, ensemble=True
    )
    return model.predict_proba(new)[:, 1]


def autogluon(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, budget: float) -> Any:
    from autogluon.tabular import TabularPredictor

    with tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor("outcome", eval_metric="roc_auc", path=folder, verbosity=0)
        model.fit(X.assign(outcome=y.to_numpy()), time_limit=budget, presets="best_quality", num_cpus=2)
        return model.predict_proba(new).iloc[:, 1].to_numpy()


def autoprog(
    X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, budget: float, settings: dict[str, Any] | None = None
) -> Any:
    from autoprog import AutoPrognosis

    return AutoPrognosis(time_budget_s=budget, random_state=0, settings=settings).fit(X, y).predict_proba(new)[:, 1]


def opening(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, budget: float) -> Any:
    """What a search begins with, and nothing after it."""
    return autoprog(
        X, y, new, budget, {"budget": {"evaluations": 13 if len(X) < 350 else 14 if len(X) < 2_000 else 15}}
    )


def search(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, budget: float) -> Any:
    """The optimizer from the simple pipeline on."""
    return autoprog(X, y, new, budget, {"opening": False})


def ensemble_aim(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, budget: float) -> Any:
    """Proposals by what they are worth beside the pipelines before them."""
    return autoprog(X, y, new, budget, {"optimizer": {"aim": "ensemble"}})


def earlier(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, budget: float) -> Any:
    """Another version of the package."""
    return autoprog(X, y, new, budget)


def main() -> None:
    warnings.filterwarnings("ignore")
    peer, cohort, seed, budget, data = sys.argv[1:]
    X, y = load(cohort, Path(data))
    train, test, ya, yb = train_test_split(X, y, test_size=0.3, random_state=int(seed), stratify=y)
    start = time.perf_counter()
    fits = {f.__name__: f for f in (logistic, flaml, autogluon, autoprog, opening, search, ensemble_aim, earlier)}
    p = np.clip(np.asarray(fits[peer](train, ya, test, float(budget)), dtype=float), 1e-6, 1 - 1e-6)
    seconds = round(time.perf_counter() - start, 1)
    scores = {"auc": roc_auc_score(yb, p), "brier": brier_score_loss(yb, p), "logloss": log_loss(yb, p)}
    told = {"seconds": seconds, "n": len(X), **{name: round(float(value), 5) for name, value in scores.items()}}
    print("RESULT " + json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
