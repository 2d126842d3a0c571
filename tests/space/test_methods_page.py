"""The tables of algorithms in docs/methods.md are those of the registry.

The column "method" is written by hand, the others are not: `python -m tests.space.test_methods_page` writes them anew.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

from autoprog.space import (
    Algorithm,
    Space,
    TableShape,
    calibration,
    describe_guards,
    describe_inputs,
    hyperparameter_text,
)
from autoprog.space.calibration import CALIBRATION
from autoprog.space.features import FEATURES
from autoprog.space.imputation import IMPUTATION
from autoprog.space.prediction import BEYOND_TABLE_1, PREDICTION

PAGE = Path(__file__).parents[2] / "docs" / "methods.md"
TABLES = {
    "Imputation": IMPUTATION,
    "Feature processing": FEATURES,
    "Prediction": PREDICTION,
    "Prediction beyond Table 1": BEYOND_TABLE_1,
    "Calibration": CALIBRATION,
    "Calibration beyond Table 1": calibration.BEYOND_TABLE_1,
}
COLUMNS = ("name", "method", "hyperparameters", "takes", "bounds", "reference")
ENTRIES = [(heading, algorithm) for heading, algorithms in TABLES.items() for algorithm in algorithms]
SHAPE = TableShape(n_patients=200, n_columns=8, n_minority=50, has_missing=False)


def table_of(page: str, heading: str) -> re.Match[str]:
    (found,) = re.finditer(rf"(?<=\n### {heading}\n\n)(\|.*\n)+", page)
    return found


def methods_in(table: str) -> dict[str, str]:
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE))


def written(page: str) -> str:
    """The page with every table as the registry has it; the column `method` stays."""
    for heading, algorithms in TABLES.items():
        table = table_of(page, heading)
        methods = methods_in(table[0])
        rows = [COLUMNS, ("---",) * len(COLUMNS), *(row_of(a, methods.get(a.name, "")) for a in algorithms)]
        lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        page = page[: table.start()] + lines + page[table.end() :]
    return page


def row_of(algorithm: Algorithm, method: str) -> tuple[str, ...]:
    axes = "; ".join(f"`{axis.name}` {hyperparameter_text(axis)}" for axis in algorithm.hyperparameters)
    takes, bounds = ", ".join(describe_inputs(algorithm)), "; ".join(describe_guards(algorithm))
    return f"`{algorithm.name}`", method, axes, takes, bounds, algorithm.reference


def classes_of(estimator: BaseEstimator) -> set[str]:
    """Names of the classes that an unfitted estimator is made of, and of those that they are kinds of."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return {kind.__name__ for part in parts if isinstance(part, BaseEstimator) for kind in type(part).__mro__}


def test_the_numbers_of_valid_kinds_are_those_of_the_space() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    space = Space.table_1()
    with_missing, complete = (len(space.valid_kinds(replace(SHAPE, has_missing=missing))) for missing in (True, False))
    assert f"{with_missing:,} for a cohort with missing cells" in page
    assert f"{complete:,} kinds stay" in page


def test_the_tables_are_those_of_the_registry() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run python -m tests.space.test_methods_page"


@pytest.mark.parametrize(("heading", "algorithm"), ENTRIES, ids=lambda value: getattr(value, "key", ""))
def test_the_method_names_the_class_that_is_built(heading: str, algorithm: Algorithm) -> None:
    method = methods_in(table_of(PAGE.read_text(encoding="utf-8"), heading)[0])[algorithm.name]
    estimator = algorithm.build(dict(algorithm.default_step().parameters), SHAPE, 0)
    named = set(re.findall(r"`(\w+)`", method))
    assert method
    if estimator is None:
        assert not named
    else:
        assert named
        assert named <= classes_of(estimator)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
