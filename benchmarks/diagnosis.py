"""Figures 6 and 7 of the source, drawn anew: how many questions greedy trees ask on random models.

Prints JSON and draws `benchmarks/results/diagnosis.svg`.

    python -m benchmarks.diagnosis
"""

from __future__ import annotations

import itertools
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

from autoprog.diagnosis import (
    ModelOptions,
    cost_bounds,
    expected_cost,
    exponential_cost,
    grow_tree,
    random_model,
    with_options,
)

OBJECTS, QUERIES, GROUPS, REPEATS, SEED = 400, 200, 15, 100, 0
BETAS = (0.5, 0.75, 0.95, 1.0, 2.0, 4.0, 8.0)
DELTAS = (0.0, 0.5, 1.0, 1.5, 2.0)
OTHER_BETAS = (0.5, 2.0, 4.0, 8.0)
BASES = (1.001, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e6, 1e8)

# Means that another implementation measured over 100 models of its own. The costs are skewed, and means of 100 vary
# more than their standard errors tell: where there is something to compare with, 1,000 are measured.
KNOWN_REPEATS, COMPARED_REPEATS = 100, 1000
KNOWN_6 = {(0.5, 8.0): (7.910, 3.935), (1.0, 1.0): (8.459, 4.519), (8.0, 1.0): (8.664, 7.536)}
KNOWN_7 = {2.0: 7.963, 10.0: 8.436, 1e8: 8.916}
MIN_TOLERANCE = 0.005


def summary(values: list[float]) -> dict[str, Any]:
    figures = {
        "mean": round(float(np.mean(values)), 4),
        "se": round(float(np.std(values, ddof=1) / np.sqrt(len(values))), 4),
        "models": len(values),
    }
    if len(values) > REPEATS:
        figures["mean_of_first_100"] = round(float(np.mean(values[:REPEATS])), 4)
    return figures


def compared(measured: dict[str, Any], known: float) -> dict[str, Any]:
    """Within the larger of .005 and three standard errors of the difference of the two means."""
    tolerance = max(MIN_TOLERANCE, 3.0 * measured["se"] * np.sqrt(1.0 + measured["models"] / KNOWN_REPEATS))
    off = abs(measured["mean"] - known)
    return {**measured, "known": known, "tolerance": round(tolerance, 4), "met": bool(off <= tolerance)}


def figure_6() -> list[dict[str, Any]]:
    cells = []
    for beta_w, beta_b in itertools.product(BETAS, BETAS):
        costs: dict[str, list[float]] = {"gbs": [], "ggbs": []}
        bound = 0.0
        for repeat in range(COMPARED_REPEATS if (beta_w, beta_b) in KNOWN_6 else REPEATS):
            rng = np.random.default_rng([SEED, 6, int(100 * beta_w), int(100 * beta_b), repeat])
            model = random_model(rng, OBJECTS, QUERIES, GROUPS, beta_within=beta_w, beta_between=beta_b)
            bound = cost_bounds(model).expected
            costs["ggbs"].append(expected_cost(grow_tree(model)))
            costs["gbs"].append(expected_cost(grow_tree(with_options(model, ModelOptions("gbs")))))
        cell: dict[str, Any] = {"beta_w": beta_w, "beta_b": beta_b, "entropy": round(bound, 4)}
        for place, name in enumerate(costs):
            measured = summary(costs[name])
            known = KNOWN_6.get((beta_w, beta_b))
            cell[name] = measured if known is None else compared(measured, known[place])
        cells.append(cell)
    return cells


def figure_7() -> list[dict[str, Any]]:
    """The curves of the source, beta_b = 1, and those of other beta_b at delta = 1."""
    curves = []
    for delta, beta in [(delta, 1.0) for delta in DELTAS] + [(1.0, beta) for beta in OTHER_BETAS]:
        costs: dict[str, dict[float, list[float]]] = {
            name: {base: [] for base in BASES} for name in ("lambda_gbs", "gbs", "gbs_uniform", "bound")
        }
        for repeat in range(REPEATS):
            key = [SEED, 7, int(100 * delta), repeat] + ([] if beta == 1.0 else [int(100 * beta)])
            rng = np.random.default_rng(key)
            gbs = ModelOptions("gbs")
            model = random_model(rng, OBJECTS, QUERIES, beta_between=beta, delta=delta, options=gbs)
            plain = grow_tree(model)
            uniform = grow_tree(model.with_uniform_prior()).measured_by(model)
            for base in BASES:
                of_base = with_options(model, ModelOptions("lambda_gbs", base))
                costs["lambda_gbs"][base].append(exponential_cost(grow_tree(of_base), base))
                costs["gbs"][base].append(exponential_cost(plain, base))
                costs["gbs_uniform"][base].append(exponential_cost(uniform, base))
                costs["bound"][base].append(cost_bounds(of_base).exponential)
        points = [{"lambda": base, **{name: summary(of[base]) for name, of in costs.items()}} for base in BASES]
        if delta == beta == 1.0:
            for point in points:
                if (known := KNOWN_7.get(point["lambda"])) is not None:
                    point["lambda_gbs"] = compared(point["lambda_gbs"], known)
        curves.append({"delta": delta, "beta_b": beta, "points": points, "crossing": crossing(points)})
    return curves


def crossing(points: list[dict[str, Any]]) -> float | None:
    """The lambda at which GBS with uniform prior becomes as good as GBS, log-linear between two points."""
    gaps = np.array([point["gbs"]["mean"] - point["gbs_uniform"]["mean"] for point in points])
    for i in range(1, len(gaps)):
        if gaps[i - 1] < 0 <= gaps[i]:
            share = -gaps[i - 1] / (gaps[i] - gaps[i - 1])
            logs = np.log([points[i - 1]["lambda"], points[i]["lambda"]])
            return round(float(np.exp(logs[0] + share * (logs[1] - logs[0]))), 3)
    return None


def draw(six: list[dict[str, Any]], seven: list[dict[str, Any]]) -> None:
    mpl.rcParams["svg.hashsalt"] = "diagnosis"
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    for beta_b, colour in ((0.5, "C0"), (1.0, "C1"), (8.0, "C2")):
        row = [cell for cell in six if cell["beta_b"] == beta_b]
        for name, line in (("gbs", "--"), ("ggbs", "-")):
            label = f"{name.upper()}, beta_b = {beta_b:g}"
            left.plot([c["beta_w"] for c in row], [c[name]["mean"] for c in row], line, color=colour, label=label)
    left.axhline(six[0]["entropy"], color="grey", lw=1, label="entropy of the groups")
    left.set(xlabel="beta_w", ylabel="mean number of questions", xscale="log", title="Figure 6: 15 groups")
    points = next(curve["points"] for curve in seven if curve["delta"] == curve["beta_b"] == 1.0)
    labels = {"lambda_gbs": "lambda-GBS", "gbs": "GBS", "gbs_uniform": "GBS, uniform prior", "bound": "Renyi entropy"}
    for name, label in labels.items():
        right.plot([p["lambda"] for p in points], [p[name]["mean"] for p in points], label=label)
    right.set(xlabel="lambda", ylabel="exponential cost", xscale="log", title="Figure 7: Zipf prior, delta = 1")
    for axes in (left, right):
        axes.legend(fontsize=7)
    figure.tight_layout()
    target = Path(__file__).parent / "results" / "diagnosis.svg"
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    six, seven = figure_6(), figure_7()
    draw(six, seven)
    document = {
        "benchmark": "diagnosis",
        "objects": OBJECTS,
        "queries": QUERIES,
        "repeats": REPEATS,
        "seed": SEED,
        "figure_6": six,
        "figure_7": seven,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("autoprog", "numpy", "scipy")},
        },
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
