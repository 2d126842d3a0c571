from __future__ import annotations

from autoprog.logs import errors_without_text


def fail() -> None:
    raise ValueError("could not convert string to float: 'Smith'")


def test_an_exception_is_logged_by_type_and_place_alone() -> None:
    try:
        fail()
    except ValueError as error:
        by_flag = errors_without_text(None, "error", {"event": "search_crashed", "exc_info": True})
        by_error = errors_without_text(None, "error", {"event": "search_crashed", "exc_info": error})
    assert by_flag == by_error
    assert by_flag["error"] == "ValueError"
    assert by_flag["frames"][-1].endswith(" fail")
    assert "Smith" not in str(by_flag)
    assert "exc_info" not in by_flag


def test_a_line_without_an_exception_stays_as_it_is() -> None:
    assert errors_without_text(None, "info", {"event": "search_claimed"}) == {"event": "search_claimed"}
    assert errors_without_text(None, "info", {"event": "x", "exc_info": None}) == {"event": "x"}
