from __future__ import annotations

import csv
import io

import pytest

from autoprog.spreadsheet import write_rows


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "\t=1", " =1", "\r=1"])
def test_what_would_be_a_formula_is_a_text(text: str) -> None:
    file = io.StringIO(newline="")
    write_rows(file, [["patient"], [text]])
    assert list(csv.reader(io.StringIO(file.getvalue(), newline=""))) == [["patient"], ["'" + text.replace("\r", " ")]]


def test_all_else_stays_as_it_is() -> None:
    file = io.StringIO()
    write_rows(file, [["", "a=b", "-12", "+1e5", 'x"y'], [None, 0.1 + 0.2, -1, "9-2", "a, b"]])
    assert file.getvalue() == ',a=b,-12,+1e5,"x""y"\n,0.30000000000000004,-1,9-2,"a, b"\n'
