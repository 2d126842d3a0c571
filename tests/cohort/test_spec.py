from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from autoprog.cohort import (
    BinaryOutcomeSpec,
    CohortSpec,
    TimeToEventSpec,
    VisitEventSpec,
    VisitLabelSpec,
    parse_spec,
)
from autoprog.errors import InvalidInputError

MINIMAL: dict[str, Any] = {"name": "whas500", "outcome": {"column": "died", "positive": 1}}


@pytest.mark.parametrize(("positive", "text"), [(1, "1"), (1.0, "1"), ("1", "1"), (True, "true"), ("yes", "yes")])
def test_positive_is_canonical_whatever_its_json_type(positive: object, text: str) -> None:
    spec = parse_spec(json.dumps({**MINIMAL, "outcome": {"column": "died", "positive": positive}}))
    assert isinstance(spec.outcome, BinaryOutcomeSpec)
    assert spec.outcome.positive == text


def test_the_example_of_the_contract_is_read() -> None:
    spec = parse_spec(
        {
            **MINIMAL,
            "mode": "classification",
            "features": {"glucose": {"kind": "numeric", "unit": "mg/dL", "meta_group": "laboratory"}},
            "ignore": ["row_id"],
            "groups": "hospital",
            "na_values": ["NA", "?", -9],
            "share_statistics": False,
        }
    )
    assert spec.features["glucose"].unit == "mg/dL"
    assert spec.na_values == ("NA", "?", "-9")
    assert parse_spec(spec.model_dump_json()) == spec


def test_a_spec_is_frozen() -> None:
    with pytest.raises(ValidationError):
        parse_spec(MINIMAL).name = "other"


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"mode": "regression"}, "/spec/mode", "'classification', 'survival' or 'temporal'"),
        ({"mode": None}, "/spec/mode", "'classification', 'survival' or 'temporal'"),
        ({"mode": ["survival"]}, "/spec/mode", "'classification', 'survival' or 'temporal'"),
        ({"nmae": "x"}, "/spec/nmae", "Extra inputs"),
        ({"outcome": {"column": "died"}}, "/spec/outcome/positive", "required"),
        ({"outcome": {"column": "died", "positive": [1]}}, "/spec/outcome/positive", "a text, a number or a boolean"),
        ({"outcome": {"column": "died", "positive": float("nan")}}, "/spec/outcome/positive", "finite"),
        ({"outcome": {"column": "died", "positive": ""}}, "/spec/outcome/positive", "at least 1"),
        ({"features": {"a/b": {"kind": "text"}}}, "/spec/features/a~1b/kind", "'numeric'"),
        (
            {"features": {"a": {"kind": "numeric", "levels": [1, 2]}}},
            "/spec/features/a",
            "levels are for kind 'ordinal'",
        ),
        ({"features": {"a": {"kind": "ordinal", "levels": [1, "1.0"]}}}, "/spec/features/a", "twice"),
    ],
)
def test_what_a_spec_cannot_say_is_named(changes: dict[str, Any], pointer: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_spec({**MINIMAL, **changes})
    (fault,) = caught.value.faults
    assert fault.pointer == pointer
    assert words in fault.detail


def test_all_faults_of_a_spec_come_at_once() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_spec({"mode": "regression", "ignore": [""]})
    assert {fault.pointer for fault in caught.value.faults} == {
        "/spec/name",
        "/spec/mode",
        "/spec/outcome",
        "/spec/ignore/0",
    }


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "9" * 5_000])
def test_what_is_no_json_is_a_fault(text: str) -> None:
    with pytest.raises(InvalidInputError, match="/spec"):
        parse_spec(text)


def test_the_json_schema_offers_every_type_of_value() -> None:
    schema = CohortSpec.model_json_schema()["$defs"]["BinaryOutcomeSpec"]["properties"]["positive"]
    assert {option["type"] for option in schema["anyOf"]} == {"boolean", "integer", "number", "string"}


SURVIVAL: dict[str, Any] = {"time": "days", "event": "status"}
TEMPORAL: dict[str, Any] = {"patient": "id", "visit_time": "month", "time": "days", "event": "status", "horizon": 12}
LABELLED: dict[str, Any] = {"patient": "id", "visit_time": "month", "horizon": 12, "column": "septic", "positive": 1}


def faults_of_outcome(mode: str, outcome: object) -> dict[str, str]:
    with pytest.raises(InvalidInputError) as caught:
        parse_spec({"name": "test", "mode": mode, "outcome": outcome})
    return {fault.pointer: fault.detail for fault in caught.value.faults}


def test_the_outcome_is_read_as_the_mode_has_it() -> None:
    contract = {**SURVIVAL, "event_of_interest": 1, "competing": [2], "horizons": [365, 1095]}
    survival = parse_spec({"name": "test", "mode": "survival", "outcome": contract})
    assert survival.outcome == TimeToEventSpec(
        time="days", event="status", event_of_interest="1", competing=("2",), horizons=(365.0, 1095.0)
    )
    events = parse_spec({"name": "test", "mode": "temporal", "outcome": TEMPORAL})
    assert isinstance(events.outcome, VisitEventSpec)
    assert (events.outcome.censored, events.outcome.event_of_interest) == ("0", None)
    labels = parse_spec({"name": "test", "mode": "temporal", "outcome": LABELLED})
    assert isinstance(labels.outcome, VisitLabelSpec)
    for spec in (survival, events, labels):
        assert parse_spec(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("mode", "outcome", "pointer", "words"),
    [
        ("survival", {"time": "days"}, "/spec/outcome/event", "required: the outcome of mode 'survival' takes time"),
        ("survival", {**SURVIVAL, "horizon": 3}, "/spec/outcome/horizon", "unknown: the outcome of mode 'survival'"),
        ("survival", {**SURVIVAL, "event": "days"}, "/spec/outcome", "time and event are both column 'days'"),
        ("survival", {**SURVIVAL, "horizons": [3, 2]}, "/spec/outcome/horizons", "must ascend, and 2 comes after 3"),
        ("survival", {**SURVIVAL, "horizons": [2, 2]}, "/spec/outcome/horizons", "must ascend, and 2 comes after 2"),
        ("survival", {**SURVIVAL, "horizons": []}, "/spec/outcome/horizons", "at least 1"),
        ("survival", {**SURVIVAL, "horizons": [0, 2]}, "/spec/outcome/horizons/0", "greater than 0"),
        ("survival", {**SURVIVAL, "horizons": [float("inf")]}, "/spec/outcome/horizons/0", "finite"),
        ("survival", {**SURVIVAL, "event_of_interest": 0}, "/spec/outcome", "name '0' twice"),
        ("survival", {**SURVIVAL, "competing": [2, "2.0"]}, "/spec/outcome", "name '2' twice"),
        ("temporal", {**TEMPORAL, "horizon": -1}, "/spec/outcome/horizon", "greater than 0"),
        ("temporal", {**TEMPORAL, "visit_time": "days"}, "/spec/outcome", "visit_time and time are both column 'days'"),
        (
            "temporal",
            {**TEMPORAL, "horizons": [12]},
            "/spec/outcome/horizons",
            "unknown: the outcome of mode 'temporal'",
        ),
        ("temporal", {**LABELLED, "time": "days"}, "/spec/outcome/time", "in place of column and positive"),
        ("temporal", {**LABELLED, "column": "id"}, "/spec/outcome", "patient and column are both column 'id'"),
        ("classification", SURVIVAL, "/spec/outcome/time", "mode 'classification' takes column and positive"),
    ],
)
def test_what_an_outcome_cannot_say_is_named(mode: str, outcome: object, pointer: str, words: str) -> None:
    faults = faults_of_outcome(mode, outcome)
    assert words in faults[pointer], faults


@pytest.mark.parametrize("outcome", [None, [], "days", {}])
@pytest.mark.parametrize("mode", ["classification", "survival", "temporal", "regression"])
def test_an_outcome_of_another_shape_is_a_fault(mode: str, outcome: object) -> None:
    assert all(place.startswith(("/spec/outcome", "/spec/mode")) for place in faults_of_outcome(mode, outcome))


@pytest.mark.parametrize("spec", ["[1]", "null", '"x"', "3"])
def test_what_is_no_object_is_a_fault(spec: str) -> None:
    with pytest.raises(InvalidInputError, match="/spec"):
        parse_spec(spec)
