from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autoprog.cohort import Cohort
from autoprog.errors import InvalidInputError
from autoprog.search import SearchSettings, plan_search
from tests.cohorts import cleveland_cohort, mixed_cohort


def few_events(n: int) -> Cohort:
    """The Cleveland patients with all but `n` of those with disease left out."""
    cohort = cleveland_cohort()
    rows = np.sort(np.concatenate([np.flatnonzero(cohort.y == 0), np.flatnonzero(cohort.y == 1)[:n]]))
    return replace(cohort, X=cohort.X[rows], y=cohort.y[rows])


def test_folds_default_to_five() -> None:
    settings, warnings = plan_search(SearchSettings(), cleveland_cohort())
    assert settings.folds == 5
    assert warnings == ()


def test_default_folds_are_lowered_to_the_smaller_class() -> None:
    grouped = mixed_cohort()
    assert grouped.groups is not None
    four_groups = replace(grouped, groups=np.where(grouped.y == 1, grouped.groups % 4, grouped.groups))
    settings, warnings = plan_search(SearchSettings(), four_groups)
    assert settings.folds == 4
    assert warnings == ("4 folds in place of 5: the 4 groups that hold patients of the smaller class",)


def test_explicit_folds_above_the_smaller_class_are_refused_with_all_other_faults() -> None:
    asked = SearchSettings.model_validate(
        {"folds": 8, "strata": {"high": 0.2, "medium": 0.3}, "space": {"prediction": ["oracle"], "calibration": []}}
    )
    with pytest.raises(InvalidInputError) as caught:
        plan_search(asked, few_events(7))
    faults = {f.pointer: f.detail for f in caught.value.faults}
    assert set(faults) == {"/folds", "/strata/medium", "/space/prediction", "/space/calibration"}
    assert faults["/folds"] == "8 folds are more than the 7 patients of the smaller class"


def test_a_space_that_cannot_take_the_missing_cells_is_refused() -> None:
    asked = SearchSettings.model_validate({"space": {"imputation": ["none"], "prediction": ["ridge"]}})
    with pytest.raises(InvalidInputError, match="/space: no combination"):
        plan_search(asked, cleveland_cohort())
