"""Fits one peer to event times, in a process of its own, and writes its risks of the other patients to a file.

python event_peer.py PEER COHORT SEED BUDGET_SECONDS DATA_FOLDER FILE

With competing causes a peer that knows of none is fitted to each cause, the others as censored, and what it says of
their hazards is joined: F_1(t) = sum of S(s-) dH_1(s) over s up to t, with S = exp(-H_1 - H_2).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

_SHARES = (0.25, 0.5, 0.75)  # of the event times, at which risks are asked for
_PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
_NO_FEATURES = {"whas500": ["los"]}

_Floats = NDArray[np.float64]


def load(name: str, data: Path) -> tuple[pd.DataFrame, pd.Series, pd.Series, _Floats]:
    """Features, times, events (1 of interest, 2 competing) and horizons of a cohort."""
    manifest = pd.read_csv(data / "datasets.csv").set_index("name")
    frame = pd.read_csv(data / str(manifest.loc[name, "file"])).drop(columns=_NO_FEATURES.get(name, []))
    times, events = frame.pop("time"), frame.pop("event").astype(int)
    return frame, times, events, np.quantile(times[events == 1], _SHARES, method="inverted_cdf")


def split(events: pd.Series, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn from, and the others."""
    learn, new = train_test_split(np.arange(len(events)), test_size=0.3, random_state=seed, stratify=events)
    return learn, new


def autoprog(X: pd.DataFrame, t: pd.Series, e: pd.Series, new: pd.DataFrame, h: _Floats, budget: float) -> _Floats:
    """A search of the budget."""
    from autoprog import AutoPrognosis, Survival  # noqa: PLC0415  an earlier version, for one of the peers

    model = AutoPrognosis(mode="survival", horizons=h.tolist(), time_budget_s=budget, random_state=0)
    return np.asarray(model.fit(X, Survival(t.to_numpy(), e.to_numpy())).predict_risk(new))


def fine_gray(X: pd.DataFrame, t: pd.Series, e: pd.Series, new: pd.DataFrame, h: _Floats, budget: float) -> _Floats:
    """Fine and Gray's model after median imputation."""
    from autoprog import AutoPrognosis, Survival  # noqa: PLC0415

    stages = {
        "imputation": ["none", "median"],
        "features": ["none"],
        "prediction": ["fine_gray"],
        "calibration": ["none"],
    }
    settings = {"space": stages, "budget": {"evaluations": 1}, "ensemble": "best"}
    model = AutoPrognosis(mode="survival", horizons=h.tolist(), time_budget_s=budget, random_state=0, settings=settings)
    return np.asarray(model.fit(X, Survival(t.to_numpy(), e.to_numpy())).predict_risk(new))


def ridge_cox(X: pd.DataFrame, t: pd.Series, e: pd.Series, new: pd.DataFrame, h: _Floats, _: float) -> _Floats:
    """Cox's model with the ridge penalty that ranks held-out patients best."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis  # noqa: PLC0415

    def fit(Z: _Floats, y: NDArray[np.void]) -> Any:
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        means = [
            np.mean([
                CoxPHSurvivalAnalysis(alpha=alpha, ties="efron").fit(Z[a], y[a]).score(Z[b], y[b])
                for a, b in folds.split(Z, y["event"])
            ])
            for alpha in _PENALTIES
        ]  # fmt: skip
        return CoxPHSurvivalAnalysis(alpha=_PENALTIES[int(np.argmax(means))], ties="efron").fit(Z, y)

    return _joined(fit, X, t, e, new, h)


def survival_forest(X: pd.DataFrame, t: pd.Series, e: pd.Series, new: pd.DataFrame, h: _Floats, _: float) -> _Floats:
    """A random survival forest of 300 trees, on at most a hundred different times."""
    from sksurv.ensemble import RandomSurvivalForest  # noqa: PLC0415

    grid = np.unique(np.quantile(t, np.linspace(0, 1, 101)))
    coarse = pd.Series(grid[np.minimum(np.searchsorted(grid, t), len(grid) - 1)], index=t.index)
    forest = RandomSurvivalForest(300, min_samples_leaf=10, n_jobs=2, random_state=0)
    return _joined(forest.fit, X, coarse, e, new, h)


def boosted_cox(X: pd.DataFrame, t: pd.Series, e: pd.Series, new: pd.DataFrame, h: _Floats, _: float) -> _Floats:
    """Boosted trees for Cox's partial likelihood."""
    from sksurv.ensemble import GradientBoostingSurvivalAnalysis  # noqa: PLC0415

    booster = GradientBoostingSurvivalAnalysis(
        n_estimators=150, learning_rate=0.08, max_depth=2, subsample=0.7, random_state=0
    )
    return _joined(booster.fit, X, t, e, new, h)


def _joined(
    fit: Callable[..., Any], X: pd.DataFrame, t: pd.Series, e: pd.Series, new: pd.DataFrame, h: _Floats
) -> _Floats:
    """Risks of the event of interest from a model of every cause."""
    text = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    train = pd.get_dummies(X, columns=text, dtype=float)
    others = pd.get_dummies(new, columns=text, dtype=float).reindex(columns=train.columns, fill_value=0.0)
    prepare = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    Z, z = prepare.fit_transform(train), prepare.transform(others)
    grid = np.unique(t[t <= h[-1]])
    hazards = []
    for cause in range(1, int(e.max()) + 1):
        y = np.array(list(zip(e == cause, t, strict=True)), dtype=[("event", bool), ("time", float)])
        curves = fit(Z, y).predict_cumulative_hazard_function(z)
        hazards.append(np.array([curve(np.clip(grid, *curve.domain)) for curve in curves]))
    total = np.sum(hazards, axis=0)
    if len(hazards) == 1:
        F = 1.0 - np.exp(-total)
    else:
        before = np.exp(-np.concatenate([np.zeros((len(z), 1)), total[:, :-1]], axis=1))
        F = np.minimum(np.cumsum(before * np.diff(hazards[0], prepend=0.0, axis=1), axis=1), 1.0)
    return F[:, np.searchsorted(grid, h, side="right") - 1]


PEERS = {f.__name__: f for f in (autoprog, ridge_cox, survival_forest, boosted_cox, fine_gray)}


def main() -> None:
    """Fit one."""
    warnings.filterwarnings("ignore")
    peer, cohort, seed, budget, data, path = sys.argv[1:]
    X, t, e, h = load(cohort, Path(data))
    learn, new = split(e, int(seed))
    start = time.perf_counter()
    fit = PEERS["autoprog" if peer == "earlier" else peer]
    risks = fit(X.iloc[learn], t.iloc[learn], e.iloc[learn], X.iloc[new], h, float(budget))
    np.savez(path, risks=risks, seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main()
