"""Regret of test selection without the truth, on the instances of the source's Table I and on subsets.

    python -m benchmarks.csmd [--figure FILE]

PIMA (768 patients) and Cleveland (297 complete ones), real out-of-sample predictions: stratified 10-fold (shuffled,
seed 0), logistic regression (C = 1) on raw columns, by lbfgs on PIMA; by liblinear, which penalises the intercept too,
on Cleveland, where it comes nearest to the printed errors. 10,000 rounds drawn with replacement, 100 repetitions, mean
cumulative pseudo-regret with a 95 % interval. Bars: ts below kl_ucb below ucb1 where 0 < xi < inf, sub-linear there;
linear on Heart 5 alone. The policies are each other's rivals in the same run. Draws the curves to
`benchmarks/results/csmd.svg`.
"""

from __future__ import annotations

import argparse
import json
import platform
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from autoprog.cohort import cleveland, read_cohort
from autoprog.csmd import (
    Arms,
    DiagnosticTest,
    PolicyName,
    Replay,
    SelectionProblem,
    make_arms,
    make_policy,
    replay,
)

HERE = Path(__file__).parent
ROUNDS, REPETITIONS, SEED = 10_000, 100, 0
POLICIES: tuple[PolicyName, ...] = ("ts", "kl_ucb", "ucb1")

GROUPS = {
    "PIMA": (("pregnancies", "bp", "skin", "bmi", "pedigree", "age"), ("glucose",), ("insulin",)),
    "Heart": (
        ("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
        ("thalach", "exang", "oldpeak", "slope"),
        ("ca", "thal"),
    ),
}
# Total costs of the three classifiers as the table has them, and what the groups of tests cost by their fees.
TOTALS = {"PIMA": (4.0, 29.0, 46.0), "Heart": (32.0, 397.0, 601.0)}
FEES = {"PIMA": (6.0, 17.61, 22.78), "Heart": (31.97, 364.80, 203.80)}
TRADE_OFFS = {
    "PIMA": (
        (0.01, 0.0106, 0.015),
        (0.01, 0.004, 0.0038),
        (0.01, 0.0113, 0.015),
        (1e-4, 1e-4, 1e-4),
        (0.01, 0.002, 0.0055),
    ),
    "Heart": ((1e-4, 8e-4, 1e-3), (1e-4, 1e-4, 3.5e-4), (1e-4, 9e-4, 1e-3), (1e-5, 4e-5, 1e-4), (4.2e-3, 1e-4, 2.7e-4)),
}
SUBSETS = {"PIMA": (0.03, 0.003, 0.0), "Heart": (0.002, 0.005, 0.0003, 0.0)}


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Patients and outcomes."""
    if name == "PIMA":
        frame = pd.read_csv(HERE.parent / "tests" / "data" / "pima_missing.csv.gz").fillna(0)
        return frame, frame["outcome"].to_numpy()
    content, spec = cleveland()
    cohort = read_cohort(content, spec).cohort
    # Levels by their codes in the file, as a regression on raw columns takes them.
    columns = {
        f.name: [float(f.levels[int(x)]) if f.levels and not np.isnan(x) else x for x in cohort.X[:, j]]
        for j, f in enumerate(cohort.features)
    }
    frame = pd.DataFrame(columns)
    whole = frame.notna().all(axis=1).to_numpy()
    return frame[whole], cohort.y[whole]


def predictions(name: str, columns: list[str], solver: str) -> np.ndarray:
    """Out-of-sample predictions of one classifier."""
    frame, y = table(name)
    model = LogisticRegression(max_iter=10_000, solver=solver)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return cross_val_predict(model, frame[columns].to_numpy(), y, cv=folds)


def columns_of(name: str, subset: tuple[int, ...]) -> list[str]:
    return [column for k in subset for column in GROUPS[name][k]]


def runs(arms: Arms, Y: np.ndarray, y: np.ndarray) -> dict[PolicyName, Replay]:
    return {
        policy: replay(
            SelectionProblem(arms, make_policy(policy)),
            Y,
            y,
            rounds=ROUNDS,
            repetitions=REPETITIONS,
            order="resampled",
            rng=np.random.default_rng(SEED),
        )
        for policy in POLICIES
    }


def figures(arms: Arms, results: dict[PolicyName, Replay]) -> dict[str, Any]:
    """What is reported of one instance."""
    some = results["ts"]
    assert some.errors is not None
    assert some.weak_dominance is not None
    xi = some.weak_dominance.xi
    found: dict[str, Any] = {
        "totals": np.round(arms.C + some.errors, 4).tolist(),
        "optimal": arms.arms[some.weak_dominance.optimal].id,
        "xi": "inf" if np.isinf(xi) else round(xi, 4),
    }
    for policy, result in results.items():
        curve = result.regret
        assert curve is not None
        assert curve.lower is not None
        assert curve.upper is not None
        found[policy] = {
            "regret": round(float(curve.mean[-1]), 1),
            "interval": [round(float(curve.lower[-1]), 1), round(float(curve.upper[-1]), 1)],
            # 1 of a straight line, towards 0 of a curve that flattens; of next to no regret it says nothing.
            "second half over first": _growth(curve.mean),
            "last arm": round(float(result.shares[-1]), 3),
        }
    return found


def _growth(mean: np.ndarray) -> float | None:
    half = float(mean[len(mean) // 2 - 1])
    return round(float(mean[-1]) / half - 1, 2) if half > 1 else None


def draw(curves: dict[str, dict[PolicyName, Replay]], file: Path) -> None:
    """All instances, a panel each."""
    mpl.rcParams.update({"svg.hashsalt": "csmd", "svg.fonttype": "none"})
    figure, axes = plt.subplots(-(-len(curves) // 5), 5, figsize=(20, 4 * -(-len(curves) // 5)), squeeze=False)
    for axis, (title, results) in zip(axes.flat, curves.items(), strict=False):
        for policy, result in results.items():
            curve = result.regret
            assert curve is not None
            axis.plot(curve.rounds[7::8], curve.mean[7::8], label=policy)
            if curve.lower is not None and curve.upper is not None:
                axis.fill_between(curve.rounds[7::8], curve.lower[7::8], curve.upper[7::8], alpha=0.3)
        dominance = results["ts"].weak_dominance
        assert dominance is not None
        axis.set_title(f"{title}, xi = {dominance.xi:.3f}")
        axis.set_xlabel("round")
    for axis in axes.flat[len(curves) :]:
        axis.set_visible(False)
    axes[0, 0].set_ylabel("cumulative pseudo-regret")
    axes[0, 0].legend()
    figure.tight_layout()
    file.parent.mkdir(exist_ok=True)
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Print the figures and draw the curves."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--figure", type=Path, default=HERE / "results" / "csmd.svg")
    arguments = parser.parse_args()
    mpl.use("svg")
    reported: dict[str, Any] = {}
    curves: dict[str, dict[PolicyName, Replay]] = {}
    everything = [subset for size in (1, 2, 3) for subset in combinations(range(3), size)]
    for name, solver in (("PIMA", "lbfgs"), ("Heart", "liblinear")):
        y = table(name)[1]
        by_subset = {subset: predictions(name, columns_of(name, subset), solver) for subset in everything}
        Y = np.array([by_subset[subset] for subset in ((0,), (0, 1), (0, 1, 2))]).T
        reported[f"{name} errors"] = (y[:, None] != Y).sum(axis=0).tolist()
        for case, trade_offs in enumerate(TRADE_OFFS[name], 1):
            costs = np.diff([0.0, *TOTALS[name]])
            arms = make_arms("cascade", [DiagnosticTest(f"t{k}", float(c)) for k, c in enumerate(costs)], trade_offs)
            curves[f"{name} {case}"] = results = runs(arms, Y, y)
            reported[f"{name} {case}"] = figures(arms, results)
        for trade_off in SUBSETS[name]:
            tests = [DiagnosticTest(f"t{k}", fee) for k, fee in enumerate(FEES[name])]
            arms = make_arms("subset", tests, trade_off)
            table_of_subsets = np.array([by_subset[arm.tests] for arm in arms]).T
            title = f"{name} subsets, lambda {trade_off}"
            curves[title] = results = runs(arms, table_of_subsets, y)
            reported[title] = figures(arms, results)
    draw(curves, arguments.figure)
    document = {
        "benchmark": "csmd",
        "rounds": ROUNDS,
        "repetitions": REPETITIONS,
        "seed": SEED,
        "instances": reported,
        "versions": {"python": platform.python_version()}
        | {n: version(n) for n in ("autoprog", "numpy", "scipy", "scikit-learn")},
        "machine": platform.machine(),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
