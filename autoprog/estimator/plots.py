"""Figures of a search's documents, with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from autoprog.endpoints import curve_risks, list_parts
from autoprog.estimator.tables import place_of_horizon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Json = Mapping[str, Any]

_LABELS = {"model": "model", "baseline": "simple model", "treat_all": "treat all", "treat_none": "treat none"}
_STYLES = {"model": "C0-", "baseline": "C1--", "treat_all": "k:", "treat_none": "k-"}
_MOST_PATIENTS = 20


def new_axes(ax: Axes | None) -> Axes:
    """The axes that were given, or those of a new figure; raises ImportError without matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  an extra
    except ImportError as error:
        msg = "figures need matplotlib: pip install 'autoprog[plots]'"
        raise ImportError(msg) from error
    return plt.subplots(layout="constrained")[1]


def at_horizon(ensemble: Json, horizon: float | None) -> Json:
    """The part of the document that is about a horizon, None for the last; the whole where there are none."""
    parts = list_parts(ensemble)
    return parts[place_of_horizon([place for place, _ in parts], horizon)][1]


def plot_calibration(document: Json, ax: Axes | None) -> Axes:
    """Observed frequency by risk, with its interval."""
    curve = document.get("calibration_curve")
    if curve is None:
        msg = "there is no calibration curve: the risks separate the outcomes"
        raise ValueError(msg)
    ax = new_axes(ax)
    risk = curve_risks(curve)
    end = max(*risk, *curve["observed"], *curve["upper"])
    ax.plot([0, end], [0, end], "k:", label="ideal")
    ax.fill_between(risk, curve["lower"], curve["upper"], color="C0", alpha=0.2, linewidth=0)
    ax.plot(risk, curve["observed"], "C0-", label="model")
    ax.set(xlabel="predicted risk", ylabel="observed frequency", xlim=(0, end), ylim=(0, end))
    ax.legend()
    return ax


def plot_decision_curve(document: Json, ax: Axes | None) -> Axes:
    """Net benefit by threshold, of the model, the simple model, and of treating all or none."""
    ax, curve = new_axes(ax), document["net_benefit"]
    t = _numbers(curve["thresholds"])
    bounds = curve.get("model_interval")
    if bounds is not None:
        ax.fill_between(t, _numbers(bounds["lower"]), _numbers(bounds["upper"]), color="C0", alpha=0.2, linewidth=0)
    for name, label in _LABELS.items():
        if curve[name] is not None:
            ax.plot(t, _numbers(curve[name]), _STYLES[name], label=label)
    of_use = t[_numbers(curve["model"]) > 0]
    top = max(float(np.nanmax(_numbers(curve["model"]))), float(np.nanmax(_numbers(curve["treat_all"]))))
    ax.axvspan(*curve["range"], color="0.5", alpha=0.1, linewidth=0, label="thresholds asked for")
    ax.set(xlabel="threshold", ylabel="net benefit", xlim=(0, max(curve["range"][1], of_use.max(initial=0.0))))
    ax.set_ylim(-0.15 * top, 1.1 * top)
    ax.legend()
    return ax


def plot_roc(document: Json, ax: Axes | None) -> Axes:
    """Sensitivity by false positive rate, with its pointwise band."""
    curve = document["operating"]["roc"]
    ax, rate = new_axes(ax), _numbers(curve["false_positive_rate"])
    ax.plot([0, 1], [0, 1], "k:", label="chance")
    ax.fill_between(rate, _numbers(curve["lower"]), _numbers(curve["upper"]), color="C0", alpha=0.2, linewidth=0)
    ax.plot(rate, _numbers(curve["sensitivity"]), "C0-", label="model")
    ax.set(xlabel="false positive rate", ylabel="sensitivity", xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="lower right")
    return ax


def plot_importance(table: pd.DataFrame, most: int, ax: Axes | None) -> Axes:
    """Loss of the AUC without each input, with its interval; the most important at the top."""
    ax, shown = new_axes(ax), table.head(most).iloc[::-1]
    reach = [shown["auc_loss"] - shown["lower"], shown["upper"] - shown["auc_loss"]]
    ax.barh(shown["feature"], shown["auc_loss"], xerr=np.array(reach), color="C0", alpha=0.75)
    ax.axvline(0, color="k", linewidth=0.8)
    ax.set(xlabel="loss of AUC with the input shuffled")
    return ax


def plot_learning_curve(metric: str, points: Sequence[Json], ax: Axes | None) -> Axes:
    """Score by number of patients, with its interval."""
    ax, n = new_axes(ax), [point["n_patients"] for point in points]
    ax.fill_between(n, [p["lower"] for p in points], [p["upper"] for p in points], color="C0", alpha=0.2, linewidth=0)
    ax.plot(n, [point["estimate"] for point in points], "C0o-")
    ax.set(xlabel="patients fitted to", ylabel=metric, xlim=(0, None))
    return ax


def plot_risks(
    times: NDArray[np.float64], risks: NDArray[np.float64], names: Sequence[object], ax: Axes | None
) -> Axes:
    """Risk of the event by time, a line for each patient."""
    if len(risks) > _MOST_PATIENTS:
        msg = f"at most {_MOST_PATIENTS} patients can be told apart in one figure, not {len(risks):,}"
        raise ValueError(msg)
    ax = new_axes(ax)
    for name, risk in zip(names, risks, strict=True):
        ax.plot(np.append(0.0, times), np.append(0.0, risk), label=str(name))
    ax.set(xlabel="time", ylabel="risk of the event", xlim=(0, times[-1]), ylim=(0, None))
    ax.legend(title="patient")
    return ax


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)
