"""The figure of the README: what a search returned for the bundled cohort.

python -m tools.readme_figure       search for up to five minutes, then write docs/result.svg
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from autoprog import AutoPrognosis

ROOT = Path(__file__).parents[1]
COHORT = ROOT / "autoprog" / "cohort" / "data" / "heart_cleveland.csv.gz"
FIGURE = ROOT / "docs" / "result.svg"
MODEL, SIMPLE, OTHERS = "#1b6ca8", "#d1495b", "#8d99ae"


def _fitted() -> tuple[AutoPrognosis, float]:
    """The search, and the share of patients with the outcome."""
    cohort = pd.read_csv(COHORT).astype({"cp": "category", "restecg": "category", "thal": "category"})
    outcome = cohort.pop("outcome")
    # The bundled cohort is among those that the shipped prior was learnt from.
    settings = {"budget": {"evaluations": 60}, "warm_start": False}
    return AutoPrognosis(time_budget_s=300, random_state=0, settings=settings).fit(cohort, outcome), float(
        outcome.mean()
    )


def _draw_calibration(axes: Axes, curve: dict[str, Any]) -> None:
    axes.plot([0, 1], [0, 1], color=OTHERS, linestyle=":", linewidth=1)
    axes.fill_between(curve["risks"], curve["lower"], curve["upper"], color=MODEL, alpha=0.2, linewidth=0)
    axes.plot(curve["risks"], curve["observed"], color=MODEL)
    axes.set(title="Calibration", xlabel="predicted risk", ylabel="observed share", xlim=(0, 1), ylim=(0, 1))


def _draw_net_benefit(axes: Axes, benefit: dict[str, Any], prevalence: float) -> None:
    thresholds = np.array(benefit["thresholds"])
    everybody = prevalence - (1 - prevalence) * thresholds / (1 - thresholds)
    axes.plot(thresholds, benefit["model"], color=MODEL, label="model")
    axes.plot(thresholds, benefit["baseline"], color=SIMPLE, linestyle="--", label="simple model")
    axes.plot(thresholds, everybody, color=OTHERS, linestyle=":", label="treat everybody")
    axes.set(title="Net benefit", xlabel="risk from which to treat", ylabel="net true positives per patient")
    axes.set(xlim=(thresholds[0], thresholds[-1]), ylim=(-0.02, prevalence))
    axes.legend(frameon=False, fontsize=8)


def _draw_scores(axes: Axes, leaderboard: pd.DataFrame, ensemble: dict[str, Any]) -> None:
    score, simple = ensemble["score"], ensemble["baseline"]["score"]
    scores = leaderboard["score"].dropna()
    axes.plot(np.arange(1, len(scores) + 1), scores, "o", color=OTHERS, markersize=3, label="pipelines")
    for place, found, colour, name in ((1.06, score, MODEL, "model"), (1.12, simple, SIMPLE, "simple model")):
        low, high = found["estimate"] - found["lower"], found["upper"] - found["estimate"]
        x = len(scores) * place
        axes.errorbar(x, found["estimate"], [[low], [high]], fmt="o", color=colour, label=f"{name}, 95 % interval")
    axes.set(title="Scores", xlabel="pipelines, best first", ylabel="AUC-ROC")
    axes.legend(frameon=False, fontsize=8, loc="lower left")


def main() -> None:
    """Search, then draw."""
    fitted, prevalence = _fitted()
    plt.rcParams.update(
        {
            "svg.hashsalt": "autoprog",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    _draw_scores(left, fitted.leaderboard_, fitted.ensemble_)
    _draw_calibration(middle, fitted.ensemble_["calibration_curve"])
    _draw_net_benefit(right, fitted.ensemble_["net_benefit"], prevalence)
    figure.savefig(FIGURE, metadata={"Date": None})
    print(fitted.leaderboard_.head().to_string(), fitted.ensemble_["score"], fitted.warnings_, sep="\n")


if __name__ == "__main__":
    main()
