from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from autoprog.cohort import CohortSpec, parse_spec
from autoprog.errors import InvalidInputError

MINIMAL: dict[str, Any] = {"name": "whas500", "outcome": {"column": "died", "positive": 1}}


@pytest.mark.parametrize(("positive", "text"), [(1, "1"), (1.0, "1"), ("1", "1"), (True, "true"), ("yes", "yes")])
def test_positive_is_canonical_whatever_its_json_type(positive: object, text: str) -> None:
    spec = parse_spec(json.dumps({**MINIMAL, "outcome": {"column": "died", "positive": positive}}))
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
    assert CohortSpec.model_validate_json(spec.model_dump_json()) == spec


def test_a_spec_is_frozen() -> None:
    with pytest.raises(ValidationError):
        parse_spec(MINIMAL).name = "other"


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"mode": "survival"}, "/spec/mode", "'survival' is not supported"),
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
        parse_spec({"mode": "temporal", "ignore": [""]})
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
