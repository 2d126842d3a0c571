"""A search goes on from the estimator to a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoprog import AutoPrognosis
from tests.client.serving import Place
from tests.estimator.support import patients


@pytest.mark.timeout(400)
def test_estimator_takes_its_search_to_a_server(fitted: AutoPrognosis, tmp_path: Path) -> None:
    X, _ = patients()
    place = Place(tmp_path)
    place.start()
    try:
        budget = {"time_s": 5.0, "evaluations": 4}
        goes_on = AutoPrognosis()
        goes_on.__dict__.update({**fitted.__dict__, "settings_": {**fitted.settings_, "budget": budget}})
        search = goes_on.to_server(place.url, name="ward")
        assert search.document["settings"]["seed"] == 1
        assert search.document["settings"]["budget"]["time_s"] == fitted.time_budget_s  # not its continuation's
        # With the same seed and a budget of evaluations it is the same model.
        search.wait(timeout_s=240, poll_s=0.2)
        assert search.score["estimate"] == pytest.approx(fitted.ensemble_["score"]["estimate"])
        there = search.model.predict(X.astype({"stage": object}))["risk"]
        assert there.tolist() == pytest.approx(fitted.predict_risk(X).tolist())
    finally:
        place.end()
