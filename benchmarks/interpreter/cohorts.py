"""Real cohorts whose rules are compared with a tree and with what medicine knows of the direction of their risks."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.cohort import Cohort, cleveland, parse_spec, read_cohort
from autoprog.interpreter import Condition, Rule

_DATA = Path(__file__).resolve().parents[2] / "tests" / "data"

UNITS = {
    "pima_missing": {"glucose": "mg/dL", "bp": "mm Hg", "bmi": "kg/m2", "age": "years", "skin": "mm"},
    "framingham_chd": {
        "age": "years", "totchol": "mg/dL", "sysbp": "mm Hg", "diabp": "mm Hg", "bmi": "kg/m2", "heartrate": "1/min",
        "glucose": "mg/dL", "cigsperday": "1/day",
    },
}  # fmt: skip
COHORTS = ("cleveland", *UNITS)
MODELS = {
    "logistic": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    "boosting": HistGradientBoostingClassifier(max_depth=3, max_iter=60, learning_rate=0.08, random_state=0),
}


def load(name: str) -> Cohort:
    """A cohort with the units that its columns have."""
    if name == "cleveland":
        return read_cohort(*cleveland()).cohort
    features = {column: {"kind": "numeric", "unit": unit} for column, unit in UNITS[name].items()}
    spec = {"name": name, "outcome": {"column": "outcome", "positive": 1}, "features": features}
    return read_cohort((_DATA / f"{name}.csv.gz").read_bytes(), parse_spec(spec)).cohort


def out_of_fold_risks(cohort: Cohort, model: str) -> NDArray[np.float64]:
    """Risks of a model's five folds."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(MODELS[model], cohort.X, cohort.y, cv=folds, method="predict_proba")[:, 1]
    return np.asarray(p, dtype=np.float64)


@cache
def _directions() -> dict[tuple[str, str, str], bool]:
    """(Cohort, feature, level or nothing) -> whether it raises the risk."""
    with (_DATA / "risk_directions.csv").open(encoding="utf-8", newline="") as file:
        return {(row["cohort"], row["feature"], row["level"]): row["direction"] == "up" for row in csv.DictReader(file)}


def agrees(cohort: str, rule: Rule, condition: Condition) -> bool | None:
    """Whether a condition points where medicine says; None where the table or the stratum does not say."""
    level = str(condition.value) if condition.operator == "=" else ""
    raises = _directions().get((cohort, condition.feature, level))
    if raises is None or rule.stratum not in {"high", "low"}:
        return None
    return (raises == (condition.operator != "<")) == (rule.stratum == "high")
