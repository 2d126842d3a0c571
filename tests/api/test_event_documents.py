"""What is told of event times has a form that the API can show, also where something has no value."""

from __future__ import annotations

import numpy as np

from api.searches.event_schemas import HorizonDocument
from autoprog.performance import horizon_document


def test_a_threshold_whose_patients_are_all_lost_early_has_no_net_benefit() -> None:
    rng = np.random.default_rng(0)
    y = np.zeros(200, dtype=[("event", "i1"), ("time", "f8")])
    y["time"], y["event"] = rng.exponential(2.0, 200), rng.random(200) < 0.6
    risk = rng.uniform(0.05, 0.6, 200)
    risk[:3] = 0.9
    y["time"][:3], y["event"][:3] = 0.1, 0  # lost from sight long before the horizon
    document = horizon_document(y, risk, risk / 2, 1.0, (0.1, 0.3))
    assert None in document["net_benefit"]["model"]
    shown = HorizonDocument.model_validate(document).model_dump(mode="json")
    assert shown["net_benefit"]["model"] == document["net_benefit"]["model"]
