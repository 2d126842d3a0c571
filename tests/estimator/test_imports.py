"""What is imported when: a script that imports the estimator must not wait for the learners."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import autoprog
from autoprog import AutoPrognosis

LEARNERS = {"torch", "gpytorch", "xgboost", "lightgbm", "lifelines", "sksurv", "skops"}
SERVER = {"fastapi", "starlette", "uvicorn", "sqlalchemy", "alembic", "dask", "distributed", "pydantic", "structlog"}


def loaded(code: str) -> set[str]:
    """Top-level packages in the memory of a process that has run the code."""
    code = f"{code}\nimport sys\nprint(' '.join({{m.split('.')[0] for m in sys.modules}}))"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.decode().split())


def test_package_imports_nothing() -> None:
    assert loaded("import autoprog") & (LEARNERS | SERVER | {"numpy", "pandas", "sklearn", "httpx2", "rich"}) == set()


def test_estimator_imports_scikit_learn_and_pandas_alone() -> None:
    names = loaded("from autoprog import AutoPrognosis\nAutoPrognosis(time_budget_s=5)")
    assert {"sklearn", "pandas"} <= names
    assert names & (LEARNERS | SERVER | {"httpx2", "matplotlib"}) == set()


def test_prediction_imports_no_server_and_no_learner_that_the_model_does_not_have(
    fitted: AutoPrognosis, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model.autoprog")
    code = (
        "from autoprog import AutoPrognosis\n"
        f"model = AutoPrognosis.load({str(tmp_path / 'model.autoprog')!r})\n"
        "import pandas as pd\n"
        "model.predict_proba(pd.DataFrame({'age': [60.0], 'stage': ['I'], 'sex': ['f'], 'outcome': [0.0]}))"
    )
    names = loaded(code)
    assert "skops" in names
    # skops imports all of scikit-learn, and that its shim for Dask where Dask is installed.
    assert names & ((LEARNERS - {"skops"}) | (SERVER - {"pydantic", "dask"}) | {"httpx2"}) == set()


def test_names_of_the_package_are_listed() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'AutoPrognosi'"):
        autoprog.AutoPrognosi  # noqa: B018  asking is the test
    assert set(autoprog.__all__) <= set(dir(autoprog))
