from __future__ import annotations

import json

import pytest

from autoprog.errors import InvalidInputError
from autoprog.strict_json import load_strictly


@pytest.mark.parametrize("text", ['{"a": {"b": [1, {"c": null}]}, "d": ""}', "[]", '"x"', '{"a": {"a": 1}}'])
def test_json_is_read_as_python_reads_it(text: str) -> None:
    assert load_strictly(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"a": 1, "a": 1}', ["/x/a"]),
        ('{"a": [{}, {"b/c": 1, "d": 2, "b/c": 3, "d": 4, "e": 5}]}', ["/x/a/1/b~1c", "/x/a/1/d"]),
        ('{"a": {"b": 1, "b": 2}, "a": {"c": 1, "c": 2}}', ["/x/a", "/x/a/c"]),
        ('[{"a": {"b": 1, "b": 2}, "a": 1}]', ["/x/0/a"]),
        ('{"\\ud800": 1, "\\ud800": 2}', ["/x/?"]),
    ],
)
def test_every_key_that_stands_twice_is_named(text: str, places: list[str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_strictly(text, "/x")
    assert [fault.pointer for fault in caught.value.faults] == places


def test_many_repetitions_take_no_time() -> None:
    with pytest.raises(InvalidInputError):
        load_strictly("{" + ", ".join(f'"{i}": 1, "{i}": 2' for i in range(100_000)) + "}")
