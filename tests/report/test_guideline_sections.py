"""The guidelines as sections of the report: the same data, in tables."""

from __future__ import annotations

import pytest

from autoprog.report import ItemList, Paragraph, Section, Table
from autoprog.report.methods import methods_section, write_methods
from autoprog.report.model_card import fill_model_card, model_card_section
from autoprog.report.probast import fill_probast, probast_section
from autoprog.report.tripod import fill_tripod, tripod_section
from autoprog.report.tripod_answers import ANCHORS
from tests.report.runs import KINDS, stored_run

TITLES = {name: f"Section {name}" for name in ANCHORS}


def tables(section: Section) -> list[Table]:
    return [block for block in section.blocks if isinstance(block, Table)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("validated", [False, True])
def test_sections_hold_all_that_was_filled_in(kind: str, validated: bool) -> None:
    run = stored_run(kind, validated=validated)
    checklist = fill_tripod(run, TITLES)
    tripod, probast, card = tripod_section(run, TITLES), probast_section(run), model_card_section(run)
    found = [row for table in tables(tripod) for row in table.rows]
    assert [row[0] for row in found] == [each.element.number for item in checklist.items for each in item.elements]
    assert [row[3] for row in found] == [each.text for item in checklist.items for each in item.elements]
    assert isinstance(tripod.blocks[0], Paragraph)
    assert checklist.summary in tripod.blocks[0].text
    assert sum(len(table.rows) for table in tables(probast)) == len(fill_probast(run))
    assert sum(len(table.rows) for table in tables(card)) == sum(len(part.entries) for part in fill_model_card(run))
    every = [*tables(tripod), *tables(probast), *tables(card)]
    assert all(len(row) == len(table.columns) for table in every for row in table.rows)
    assert len({table.name for table in every}) == len(every)


def test_answers_name_the_section_where_they_are_found() -> None:
    rows = [row for table in tables(tripod_section(stored_run("binary"), TITLES)) for row in table.rows]
    places = {row[4] for row in rows if row[2] == "answered"}
    assert None not in places
    assert places <= set(TITLES.values())
    assert {row[4] for row in rows if row[2] != "answered"} == {None}
    bare = [row for table in tables(tripod_section(stored_run("binary"), {})) for row in table.rows]
    assert {row[4] for row in bare} == {None}


def test_methods_end_with_their_references() -> None:
    run = stored_run("event_times")
    section, methods = methods_section(run), write_methods(run)
    references = section.blocks[-1]
    assert isinstance(references, ItemList)
    assert references.numbered
    assert len(references.items) == len(methods.references)
    assert "doi:10." in references.items[0]
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    assert all(any(paragraph.text in text for text in texts) for paragraph in methods.paragraphs)


def test_authors_entries_of_the_card_are_marked() -> None:
    run = stored_run("binary")
    texts = [str(row[2]) for table in tables(model_card_section(run)) for row in table.rows]
    marked = sum(text.startswith("For the author: ") for text in texts)
    assert marked == sum(entry.by_author for part in fill_model_card(run) for entry in part.entries) > 0
