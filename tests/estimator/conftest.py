"""Fitted estimators, which take seconds to make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autoprog import AutoPrognosis, Survival
from autoprog.app.temporary import close_engines
from tests.estimator.support import QUICK, followed, patients


@pytest.fixture(autouse=True, scope="session")
def _engines() -> Iterator[None]:
    yield
    close_engines()


@pytest.fixture(scope="session")
def fitted(_engines: None) -> AutoPrognosis:
    X, y = patients()
    return AutoPrognosis(time_budget_s=120, settings=QUICK, random_state=1).fit(X, y.rename("died"))


@pytest.fixture(scope="session")
def fitted_survival(_engines: None) -> AutoPrognosis:
    X, time, event = followed()
    words = event.map({0: "alive", 1: "myeloma", 2: "dead"})
    y = Survival(time, words, event_of_interest="myeloma", competing=["dead"])
    model = AutoPrognosis(mode="survival", horizons=[60, 120], time_budget_s=120, settings=QUICK, random_state=0)
    return model.fit(X, y)
