"""Numbers and lists as a paper writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.report.digits import decimal

MOST_DIGITS = 8
"""Digits of a number that is shown as it is."""


def listed(parts: Sequence[str], conjunction: str = "and") -> str:
    """`a`, `a and b` or `a, b and c`."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {conjunction} {parts[-1]}"


def in_one(*sentences: str | None) -> str:
    """Join sentences to a paragraph, without those that are None or empty."""
    return " ".join(sentence for sentence in sentences if sentence)


def upper_first(text: str) -> str:
    """The text as the beginning of a sentence; names in it keep their case."""
    return text[:1].upper() + text[1:]


def plural(n: int, noun: str) -> str:
    """`1 patient`, `1,303 patients`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def were(n: int) -> str:
    """The verb for so many."""
    return "was" if n == 1 else "were"


def percent(share: float) -> str:
    """A share with one decimal: `45.9 %`; `less than 0.1 %` for one that would look like none."""
    return "less than 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def number(value: float) -> str:
    """A number of the author's, such as a time, with all its digits: `1,209,600`; a computed one has six."""
    is_computed = value % 1 != 0 and len(f"{value:.12g}") > MOST_DIGITS
    return f"{float(f'{value:.6g}') if is_computed else value:,.12g}"


def quoted(name: str) -> str:
    """A name of the author's, set apart from the sentence."""
    return f"“{name}”"


DIFFERENCE_DECIMALS = 4
"""Decimals of a difference: with three, an interval that ends short of 0 may look as if it held 0."""


SAME_MODEL = "The model is the simple pipeline."
"""What is said of the differences if a search found nothing better than the simple pipeline."""


def with_bounds(value: float, bounds: Mapping[str, Any] | None, level: float = 0.95, decimals: int = 3) -> str:
    """`0.905 (95 % interval 0.866 to 0.934)`, or the value alone."""
    if bounds is None or None in (bounds["lower"], bounds["upper"]):
        return decimal(value, decimals)
    lower, upper = (decimal(bounds[end], decimals) for end in ("lower", "upper"))
    return f"{decimal(value, decimals)} ({100 * level:.0f} % interval {lower} to {upper})"


def estimate(found: Mapping[str, Any] | None, level: float = 0.95, decimals: int = 3) -> str:
    """An estimate with its interval; `not finite` for none."""
    return "not finite" if found is None else with_bounds(found["estimate"], found, found.get("level", level), decimals)


def algorithm_name(name: str) -> str:
    """An algorithm as a paper names it."""
    return _NAMES.get(name, name.replace("_", " "))


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Hyperparameters of a step: `C = 0.01, l1 ratio = 0`."""
    return ", ".join(f"{name.replace('_', ' ')} = {_value(value)}" for name, value in parameters.items())


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


_NAMES = {
    "agglomeration": "feature agglomeration",
    "accelerated_failure_time": "accelerated failure time regression",
    "ada_boost": "adaptive boosting of trees",
    "bernoulli_nb": "naive Bayes on binary columns",
    "cox": "Cox regression",
    "em": "imputation by expectation maximisation",
    "ensemble_temperature": "ensemble temperature scaling",
    "fast_ica": "independent components",
    "fine_gray": "Fine and Gray's regression",
    "gaussian_nb": "Gaussian naive Bayes",
    "gaussian_process": "Gaussian process",
    "isotonic": "isotonic calibration",
    "k_nearest_neighbours": "nearest neighbours",
    "kernel_logistic": "kernel logistic regression",
    "kernel_pca": "kernel principal components",
    "lda": "linear discriminant analysis",
    "lightgbm": "LightGBM",
    "linear_svm": "linear support vector machine",
    "linear_svm_selection": "selection by a linear support vector machine",
    "matrix_completion": "imputation by matrix completion",
    "mice": "imputation by chained equations",
    "miss_forest": "imputation by chained random forests",
    "mlp": "multilayer perceptrons",
    "most_frequent": "imputation by the most frequent value",
    "mean": "mean imputation",
    "median": "median imputation",
    "multinomial_nb": "multinomial naive Bayes",
    "nystroem": "Nyström features",
    "pca": "principal components",
    "penalised_cox": "penalised Cox regression",
    "penalised_logistic": "penalised logistic regression",
    "polynomial": "polynomial features",
    "random_kitchen_sinks": "random kitchen sinks",
    "ridge": "ridge regression",
    "select_rates": "univariate selection",
    "spline_cox": "penalised Cox regression on splines",
    "spline_logistic": "penalised logistic regression on splines",
    "sigmoid": "sigmoid calibration",
    "stochastic_boosting": "stochastic gradient boosting",
    "temperature": "temperature scaling",
    "xgboost": "XGBoost",
}
