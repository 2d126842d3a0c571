"""Searches for event times and over visits through the API of a server of its own, on real cohorts."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cohorts import event_file, event_spec
from tests.system.server import Server

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
VISITS = {"patient": "patient_id", "visit_time": "visit_time", "horizon": 3652}
SPECS: dict[str, dict[str, Any]] = {
    "flchain": {"mode": "survival", "outcome": {"horizons": [365, 1826, 3652]}},
    "framingham_long": {"mode": "temporal", "outcome": VISITS},
}
COHORTS = ("whas500", "gbsg2", "mgus2", "framingham_cr", "pbcseq", *SPECS)
TIME_S, MIN_OF_FLCHAIN = 60, 25


def spec_of(name: str) -> dict[str, Any]:
    if name not in SPECS:
        return event_spec(name)
    outcome = {"time": "time", "event": "event", "event_of_interest": 1, **SPECS[name]["outcome"]}
    return {"name": name, "mode": SPECS[name]["mode"], "outcome": outcome}


def content_of(name: str) -> bytes:
    return (DATA / f"{name}.csv.gz").read_bytes() if name in SPECS else event_file(name)


def patients_of(name: str, features: list[str], spec: dict[str, Any], n: int = 5) -> list[dict[str, Any]]:
    """The first patients of the file as a client sends them; of visits, with all of them."""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(content_of(name)).decode())))
    if spec["mode"] != "temporal":
        return [{feature: row[feature] or None for feature in features} for row in rows[:n]]
    key, when = spec["outcome"]["patient"], spec["outcome"]["visit_time"]
    names = list(dict.fromkeys(row[key] for row in rows))[:n]
    visits = [{**{f: row[f] or None for f in features}, when: row[when], key: row[key]} for row in rows]
    return [{"visits": [_without(v, key) for v in visits if v[key] == name]} for name in names]


def _without(visit: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: float(value) if name == "visit_time" else value for name, value in visit.items() if name != key}


@pytest.mark.parametrize(("name", "time_s"), [("whas500", 15), *((name, TIME_S) for name in COHORTS)])
def test_a_cohort_becomes_a_model_that_is_asked_at_every_horizon(name: str, time_s: int, tmp_path: Path) -> None:
    spec = spec_of(name)
    with Server(tmp_path / "data") as server:
        part = {"file": (f"{name}.csv.gz", content_of(name)), "spec": (None, json.dumps(spec))}
        cohort = server.post("/v1/cohorts", files=part)
        budget = {"time_s": time_s, "evaluations": 1000}
        search = server.post("/v1/searches", json={"cohort_id": cohort["id"], "budget": budget})
        done = server.wait(search["id"], 4 * TIME_S)
        assert done["status"] == "succeeded", done["error"]
        ensemble, rules = (server.get(f"/v1/searches/{search['id']}/{what}") for what in ("ensemble", "rules"))
        model = server.get(f"/v1/models/{done['model_id']}")
        asked = patients_of(name, [f["name"] for f in model["features"]], spec)
        told = server.post(f"/v1/models/{done['model_id']}/predictions", json={"patients": asked})
        report = server.client.get(f"/v1/searches/{search['id']}/report")
    horizons = model["horizons"]
    assert horizons == [h["horizon"] for h in ensemble["horizons"]]
    assert ensemble["score"]["lower"] > 0.5
    assert {s["horizon"] for s in rules["strata"]} == set(horizons)
    causes = {"1", "2"} if spec["outcome"].get("competing") else {"1"}
    for item in told["items"]:
        assert [at["horizon"] for at in item["horizons"]] == horizons
        risks = [at["risk"] for at in item["horizons"]]
        assert risks == sorted(risks)
        assert all(set(at["causes"]) == causes and sum(at["causes"].values()) <= 1 + 1e-9 for at in item["horizons"])
    assert report.is_success
    if name == "flchain":
        counts = done["progress"]["evaluations"]
        assert counts["succeeded"] + done["account"]["raced_out"] >= MIN_OF_FLCHAIN
