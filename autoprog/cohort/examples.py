"""The example cohort in the package."""

from __future__ import annotations

from importlib.resources import files

from autoprog.cohort.spec import CohortSpec, parse_spec


def cleveland() -> tuple[bytes, CohortSpec]:
    """Load the Cleveland heart disease cohort: 303 patients, 13 findings, a few missing cells.

    Returns
    -------
    (bytes, CohortSpec)
        The gzipped CSV file and its spec; source and licence (CC BY 4.0) are in `data/heart_cleveland.txt`.
    """
    content = (files("autoprog.cohort") / "data" / "heart_cleveland.csv.gz").read_bytes()
    features: dict[str, dict[str, object]] = {
        "age": {"kind": "numeric", "unit": "years", "meta_group": "demographics"},
        "sex": {"kind": "binary", "meta_group": "demographics"},
        "cp": {"kind": "categorical", "meta_group": "symptoms"},
        "trestbps": {"kind": "numeric", "unit": "mm Hg", "meta_group": "vital signs"},
        "chol": {"kind": "numeric", "unit": "mg/dl", "meta_group": "laboratory"},
        "fbs": {"kind": "binary", "meta_group": "laboratory"},
        "restecg": {"kind": "categorical", "meta_group": "electrocardiogram"},
        "thalach": {"kind": "numeric", "unit": "1/min", "meta_group": "exercise test"},
        "exang": {"kind": "binary", "meta_group": "exercise test"},
        "oldpeak": {"kind": "numeric", "unit": "mm", "meta_group": "exercise test"},
        "slope": {"kind": "ordinal", "levels": [1, 2, 3], "meta_group": "exercise test"},
        "ca": {"kind": "numeric", "unit": "vessels", "meta_group": "imaging"},
        "thal": {"kind": "categorical", "meta_group": "imaging"},
    }
    spec = {"name": "Cleveland heart disease", "outcome": {"column": "outcome", "positive": 1}, "features": features}
    return content, parse_spec(spec)
