"""What is told of errors and warnings holds no patient's value, whichever way it came."""

from __future__ import annotations

import warnings

import pytest

from autoprog.engine import child
from autoprog.evaluation import without_values
from autoprog.evaluation.notes import recorded_warnings

TEXTS = {
    "creatinine 63.71 is out of range": "creatinine ... is out of range",
    "from -0.5 to 1,063.71, or 6.371e+01, 1e-05 and .25": "from ... to ..., or ..., ... and ...",
    "could not convert 'Smith' or \"O'Brien\" to float": "could not convert '...' or '...' to float",
    "unseen labels: [63, [71, 'a']] of [5]": "unseen labels: [...]",
    "rows [[63 71]\n [12 13]] were dropped": "rows [...] were dropped",
    "rows [63 71 and so on": "rows [...]",
    "value 'Smith and so on": "value '...'",
    "can't use 3 of 12 columns, it won't do": "can't use 3 of 12 columns, it won't do",
    "the columns' ranges": "the columns' ranges",
}


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_left_out_of_errors_and_of_warnings_alike(text: str) -> None:
    expected = TEXTS[text]
    assert without_values(text) == expected
    assert child._describe(ValueError(text)) == f"ValueError: {expected}"
    with recorded_warnings() as notes:
        warnings.warn(text, UserWarning, stacklevel=1)
    (note,) = notes  # its first sentence
    assert f"UserWarning: {expected}".startswith(note)
    assert not {"63", "Smith", "1e-05"} & set(note.replace("'", " ").split())


@pytest.mark.parametrize("text", ["9" * 10**6, "'" * 10**6, "[" * 10**6, "1." * 10**6, "'a " * 10**6])
def test_of_a_long_text_the_beginning_is_read(text: str) -> None:
    assert len(without_values(text)) < 20_000
