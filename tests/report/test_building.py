"""The report of a search, from the documents that searches of every kind left."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import docx
import numpy as np
import pytest
from docx.oxml.ns import qn
from lxml import html as lxml_html
from PIL import Image

from autoprog.cohort import Binary, Cohort, Feature, describe_by_outcome
from autoprog.cohort.weights import weigh
from autoprog.report.building import build_report
from autoprog.report.digits import decimal, percentage
from autoprog.report.document import Block, ItemList, Notice, Paragraph, Report, Section, Table
from autoprog.report.docx import write_docx
from autoprog.report.drawing import draw
from autoprog.report.html import write_html
from autoprog.report.markdown import write_markdown
from autoprog.report.phrases import number, percent, with_bounds
from autoprog.report.png import write_png
from autoprog.report.run import ReportedRun
from autoprog.report.sentences import gain_figures, update, validation_sample
from autoprog.report.svg import write_svg
from autoprog.report.verdict import knows_nothing, reasons_for_doubt
from tests.cohorts import event_cohort
from tests.report.complete import complete_run
from tests.report.runs import KINDS, changed, stored_run, updated_run

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def texts(report: Report) -> Iterator[str]:
    for section in report.sections:
        yield section.left_out or ""
        for block in section.blocks:
            yield from texts_of(block)


def texts_of(block: Block) -> Iterator[str]:
    if isinstance(block, Paragraph | Notice):
        yield block.text
    elif isinstance(block, ItemList):
        yield from block.items
    elif isinstance(block, Table):
        yield from (cell or "" for row in block.rows for cell in row)
        yield from block.notes
    else:
        yield block.caption


def section(report: Report, name: str) -> Any:
    return next(each for each in report.sections if each.name == name)


def texts_of_section(report: Report, name: str) -> list[str]:
    return [text for block in section(report, name).blocks for text in texts_of(block)]


@EVERY_KIND
@pytest.mark.parametrize("validated", [False, True])
def test_every_kind_has_a_report_in_every_form(kind: str, *, validated: bool) -> None:
    report = build_report(stored_run(kind, validated=validated))
    page = lxml_html.fromstring(write_html(report))
    assert [each.get("id") for each in page.iter("section")] == [each.name for each in report.sections]
    markdown = write_markdown(report)
    document = docx.Document(BytesIO(write_docx(report)))
    headings = [p.text for p in document.paragraphs if p.style.name == "Heading 1"]
    assert headings == [each.title for each in report.sections]
    assert all(f"## {title}\n" in markdown for title in headings)
    tables = [block for each in report.sections for block in each.blocks if isinstance(block, Table)]
    assert len(document.tables) == len(tables) == len(page.findall(".//table"))
    assert len(document.inline_shapes) == len(list(report.figures())) == len(page.findall(".//figure"))


@EVERY_KIND
def test_names_of_blocks_are_unique_and_rows_fit_their_columns(kind: str) -> None:
    report = build_report(stored_run(kind, validated=True))
    blocks = [block for each in report.sections for block in each.blocks]
    tables = [block for block in blocks if isinstance(block, Table)]
    for names in ([f.name for f in report.figures()], [t.name for t in tables], [s.name for s in report.sections]):
        assert len(set(names)) == len(names)
    for table in tables:
        assert {len(row) for row in table.rows} <= {len(table.columns)}
    assert all(each.blocks or each.left_out for each in report.sections)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(68.041067762, "68.0411"), (1826.25, "1,826.25"), (1_234_567_891, "1,234,567,891"), (0.5, "0.5"), (365, "365")],
)
def test_horizons_that_were_computed_have_six_digits(value: float, shown: str) -> None:
    assert number(value) == shown


@EVERY_KIND
def test_the_outcome_has_its_label_everywhere(kind: str) -> None:
    run = stored_run(kind)
    outcome = {**run.outcome, "label": "Death", "time_unit": "days"}
    report = build_report(changed(run, "cohort", outcome=outcome))
    said = [report.subtitle, *texts(report)]
    value = outcome.get("event_of_interest") or outcome.get("positive")
    assert not any(f"= {value}”" in text or f"with value “{value}”" in text for text in said)
    expected = "Death" if kind == "binary" else f"Death within {run.horizons[-1]:,g} days"
    assert report.subtitle.startswith(expected)


def test_labels_and_units_of_features_are_shown() -> None:
    run = stored_run("binary")
    features = [{**f, "label": "Age at visit"} if f["name"] == "age" else f for f in run.features]
    report = build_report(changed(run, "cohort", features=features))
    (table,) = (b for b in section(report, "specification").blocks if isinstance(b, Table) and b.name == "predictors")
    assert table.rows[0][:2] == ("Age at visit (years)", "age")


def without_knowledge(run: ReportedRun) -> ReportedRun:
    performance = {**run.ensemble["performance"], "brier_skill": -0.01}
    intervals = {**performance["intervals"], "auc_roc": {"lower": 0.46, "upper": 0.61}}
    return changed(run, "ensemble", performance={**performance, "intervals": intervals})


def test_strata_and_rules_of_a_model_that_knows_nothing_are_withheld() -> None:
    run = without_knowledge(stored_run("binary"))
    assert knows_nothing(run.ensemble)
    report = build_report(run)
    first = section(report, "first").blocks[0]
    assert isinstance(first, Notice)
    assert first.level == "warning"
    assert "knows nothing" in first.text
    assert "0.460 to 0.610" in first.text
    for name in ("strata", "rules"):
        assert section(report, name).blocks == ()
        assert section(report, name).left_out.startswith("Withheld")
    assert "Withheld" not in " ".join(texts(build_report(stored_run("binary"))))


@pytest.mark.parametrize("kind", ["binary", "event_times"])
def test_withheld_strata_stand_nowhere_and_the_card_says_not_to_use_the_model(kind: str) -> None:
    run = stored_run(kind)
    if kind == "binary":
        doubted = without_knowledge(run)
    else:
        horizons = [
            {**each, "performance": {**each["performance"], "brier_skill": -0.1}} for each in run.ensemble["horizons"]
        ]
        doubted = changed(run, "ensemble", horizons=horizons)
    bounds = [f"{100 * s['upper']:.3g}" for s in run.rules["strata"] if s["upper"] < 1]
    assert any(f"to {text}" in " ".join(texts(build_report(run))) for text in bounds)
    for name in ("methods", "tripod", "model-card"):
        said = " ".join(text for block in section(build_report(doubted), name).blocks for text in texts_of(block))
        assert [text for text in bounds if re.search(rf"from [\d.]+ to {text} %", said)] == []
        assert "strata were formed" not in said
        assert "withheld, as the model knows no more than the average" in said
    (card,) = (b for b in section(build_report(doubted), "model-card").blocks if isinstance(b, Table))
    topics = {topic: text for _, topic, text in card.rows}
    for topic in ("Warnings", "Before use"):
        assert topics[topic].startswith("This model knows nothing")
        assert "Do not use it." in topics[topic]


def test_each_reason_suffices_and_older_documents_give_none() -> None:
    told = {"brier_skill": 0.2, "intervals": {"auc_roc": {"lower": 0.6, "upper": 0.8}}}
    assert reasons_for_doubt({"performance": told}) == ()
    assert len(reasons_for_doubt({"performance": {**told, "brier_skill": 0.0}})) == 1
    assert (
        len(reasons_for_doubt({"performance": {**told, "intervals": {"auc_roc": {"lower": 0.5, "upper": 0.9}}}})) == 1
    )
    assert reasons_for_doubt({"performance": None}) == ()
    assert not knows_nothing({})


def test_only_horizons_that_know_nothing_are_withheld() -> None:
    run = stored_run("event_times")
    horizons = [dict(each) for each in run.ensemble["horizons"]]
    horizons[0]["performance"] = {**horizons[0]["performance"], "brier_skill": -0.1}
    doubted = changed(run, "ensemble", horizons=horizons)
    kept = section(build_report(doubted), "strata").blocks
    table = next(block for block in kept if isinstance(block, Table))
    assert len({row[0] for row in table.rows}) == len({s["horizon"] for s in run.rules["strata"]}) - 1
    assert not knows_nothing(doubted.ensemble)


@EVERY_KIND
def test_no_name_of_a_documents_field_is_left_in_the_note_on_rules(kind: str) -> None:
    rules = section(build_report(stored_run(kind)), "rules")
    note = rules.left_out or rules.blocks[0].text
    assert note.startswith(("The rules describe", "No rule stands out", "Withheld"))
    assert not re.search(r"stratum_probability|observed_event_rate|held_out|fidelity|_", note)


def test_what_a_client_wrote_is_text() -> None:
    report = build_report(changed(stored_run("binary"), "cohort", name="<script>x</script> | *a*\x00\uffff"))
    page = write_html(report)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert write_markdown(report).startswith("# \\<script\\>x\\</script\\> \\| \\*a\\*")
    assert docx.Document(BytesIO(write_docx(report))).paragraphs[0].text == "<script>x</script> | *a*\ufffd\ufffd"


@pytest.mark.parametrize("loader", ["src=", "@import", "<script", "<link", "xlink"])
def test_the_page_loads_nothing(loader: str) -> None:
    assert loader not in write_html(build_report(stored_run("competing", validated=True)))


def test_links_of_the_page_are_its_own_sections_or_its_figures() -> None:
    report = build_report(stored_run("binary"))
    alone = lxml_html.fromstring(write_html(report))
    assert {a.get("href") for a in alone.iter("a")} == {f"#{each.name}" for each in report.sections}
    served = {a.get("href") for a in lxml_html.fromstring(write_html(report, "figures")).iter("a")}
    assert {f"figures/{f.name}.{form}" for f in report.figures() for form in ("svg", "png")} <= served


def test_tables_of_the_word_file_repeat_their_heads_and_figures_have_texts() -> None:
    document = docx.Document(BytesIO(write_docx(build_report(stored_run("binary")))))
    for table in document.tables:
        assert table._tbl.tr_lst[0].trPr.find(qn("w:tblHeader")) is not None
    assert all(shape._inline.docPr.get("descr") for shape in document.inline_shapes)


def test_every_numbered_list_of_the_word_file_starts_at_1() -> None:
    lists = [ItemList(("a", "b"), numbered=True), ItemList(("c",)), ItemList(("d",), numbered=True)]
    file = write_docx(Report("Title", "", (Section("first", "First", tuple(lists)),)))
    document = docx.Document(BytesIO(file))
    lines = {p.text: p._p.pPr.numPr.numId.val for p in document.paragraphs if p.style.name == "List Number"}
    assert list(lines) == ["a", "b", "d"]
    assert lines["a"] == lines["b"] != lines["d"]
    numbering = document.part.numbering_part.element
    for numbered in set(lines.values()):
        (override,) = numbering.num_having_numId(numbered).findall(qn("w:lvlOverride"))
        assert (override.ilvl, override.find(qn("w:startOverride")).val) == (0, 1)


def test_figures_are_png_at_300_dpi_and_svg_of_the_same_shape() -> None:
    figure = next(iter(build_report(stored_run("binary")).figures()))
    scene = draw(figure.data)
    image = Image.open(BytesIO(write_png(scene)))
    assert image.size == (int(scene.width / 72 * 300), int(scene.height / 72 * 300))
    assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
    assert len(np.unique(np.asarray(image))) > 10
    assert f'viewBox="0 0 {scene.width:g} {scene.height:g}"' in write_svg(scene, figure.title, figure.alt)


def test_a_search_of_before_measures_were_stored_has_a_report() -> None:
    run = stored_run("binary")
    baseline = {key: run.ensemble["baseline"][key] for key in ("configuration", "score")}
    old = {**{key: run.ensemble[key] for key in ("members", "score", "calibration")}, "baseline": baseline}
    report = build_report(replace(run, ensemble=old))
    assert section(report, "tripod").left_out
    assert section(report, "specification").blocks


def test_all_hyperparameters_of_every_member_are_listed() -> None:
    run = stored_run("binary")
    table = next(
        b for b in section(build_report(run), "specification").blocks if getattr(b, "name", "") == "hyperparameters"
    )
    for k, member in enumerate(run.members, 1):
        listed = " ".join(row[4] for row in table.rows if row[0] == str(k))
        for step in member["configuration"].values():
            if step["algorithm"] != "none":
                assert all(name in listed for name in step["parameters"])


def test_rules_of_visits_agree_in_a_share_of_visits_and_cuts_are_rounded() -> None:
    shown = " ".join(texts(build_report(stored_run("visits"))))
    assert "In 63.2 % of the visits of 78 patients who had no part in finding them, the rules alone" in shown
    assert "edema (mean) ≥ 0.166667: " in shown or "edema (mean) ≥ 0.166667 and" in shown
    assert "0.1666666" not in shown


def test_a_difference_whose_interval_leaves_out_0_does_not_look_as_if_it_held_it() -> None:
    run = stored_run("binary")
    gain = {**run.ensemble["gain_over_baseline"], "auc_roc": {"estimate": 0.0132, "lower": 0.000486, "upper": 0.0259}}
    better = changed(run, "ensemble", gain_over_baseline=gain)
    assert gain_figures(better) == "Difference in AUC to the simple pipeline 0.0132 (95 % interval 0.0005 to 0.0259)."
    (table,) = (b for b in section(build_report(better), "performance").blocks if getattr(b, "name", "") == "gains")
    assert table.rows[0][-1] == "0.0132 (0.0005 to 0.0259)"


@pytest.mark.parametrize("whose", [None, "Patients of a group", "Those for whom a patient stands"])
def test_strata_of_grouped_or_weighted_event_times_have_no_intervals_and_say_why(whose: str | None) -> None:
    run, description = complete_run("event_times")
    n_groups = {None: None, "Patients of a group": 12}.get(whose, run.n_patients)
    run = changed(run, "ensemble", run={**run.origin, "n_groups": n_groups})
    if n_groups == run.n_patients:
        run = changed(run, "cohort", n_sampled=run.n_patients, n_patients=2 * run.n_patients)
    table, figure = section(build_report(run, description), "strata").blocks
    told, grouped = " ".join(table.notes), whose is not None
    assert (f"{whose} are correlated: an interval" in told) == grouped
    assert ("Brackets hold 95 % intervals." in told) == ("95 % intervals" in figure.caption) == (not grouped)


def test_one_of_a_kind_is_singular() -> None:
    run = stored_run("binary", validated=True)
    feature = {**run.features[0], "missing_fraction": 0.5}
    size = {**run.sample_size, "n_parameters": 1}
    run = changed(run, "cohort", features=[feature], n_dropped=1, n_rows=304, sample_size=size)
    assert run.validation is not None
    shift = {**run.validation["features"][0], "missing": 0.5}
    said = list(texts(build_report(changed(run, "validation", features=[shift]))))
    nouns = "patients|predictors|rows|columns|parameters|refits|characteristics|warnings"
    plurals = re.compile(rf"(?<![\d.,])1 (candidate )?({nouns})\b|(?<![\d.,])1 \w+ were|There were 1 ")
    assert [text for text in said if plurals.search(text)] == []
    assert sum("1 row without a usable outcome was left out" in text for text in said) >= 2
    assert any("Values were missing there in 1 predictor, at most" in text for text in said)


def test_times_have_their_unit_and_all_their_digits() -> None:
    run = stored_run("event_times", validated=True)
    days = " ".join(texts(build_report(changed(run, "cohort", outcome={**run.outcome, "time_unit": "days"}))))
    assert "within 30, 365 and 1,095 days" in days
    assert re.search(r"AUC 0\.\d+ \(.*?\) at 30 days, 0\.\d+ ", days)
    assert "(days)" not in days
    assert "times days" not in days
    unnamed = " ".join(texts(build_report(run)))
    assert "within 30, 365 and 1,095 (unit of “time”)" in unnamed
    outcome = {**run.outcome, "horizons": [2592001.0, 31536000.0, 94608000.0], "time_unit": "s"}
    assert "within 2,592,001, 31,536,000 and 94,608,000 s" in " ".join(
        texts(build_report(changed(run, "cohort", outcome=outcome)))
    )


@pytest.mark.parametrize("kind", ["event_times", "visits"])
def test_the_median_follow_up_is_the_same_everywhere(kind: str) -> None:
    run = stored_run(kind)
    run = changed(run, "cohort", follow_up={**run.cohort["follow_up"], "median": 4.375213})
    report = build_report(run)
    for name in ("flow", "methods", "tripod"):
        assert any("4.38" in text for text in texts_of_section(report, name))
    assert not any("4.375" in text for text in texts(report))


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("binary", "Area under the ROC curve"),
        ("event_times", "Uno's concordance until the last horizon"),
        ("competing", "Wolbers's concordance until the last horizon"),
        ("visits", "Mean time-dependent AUC over the horizons"),
    ],
)
def test_the_metric_has_its_name_as_it_was_measured(kind: str, title: str) -> None:
    run = stored_run(kind)
    report = build_report(run)
    for name, column in (("specification", 3), ("leaderboard", 2)):
        table = next(b for b in section(report, name).blocks if isinstance(b, Table))
        assert table.columns[column].title == title
    said = texts_of_section(report, "performance")[0]
    estimate = f"{run.ensemble['score']['estimate']:.3f}"
    assert f"{title}, by which the search chose, is {estimate}" in said or kind == "visits"
    assert (f"{title} of the only pipeline that was scored is {estimate}" in said) == (kind == "visits")
    assert ("corrected for" in said) == (kind != "visits")
    shown = " ".join(texts(replace(report, sections=tuple(s for s in report.sections if s.name != "software"))))
    assert run.settings["metric"] not in shown


def test_strata_have_the_same_limits_in_table_checklist_and_card() -> None:
    report = build_report(stored_run("visits"))
    assert "1.15 to 3.8" in texts_of_section(report, "strata")
    for name in ("tripod", "model-card"):
        assert any("medium at 365 from 1.15 to 3.8 %" in text for text in texts_of_section(report, name))


def test_missing_values_of_visits_are_told_of_the_first_visit_where_patients_are_described() -> None:
    cohort = event_cohort("pbcseq")
    report = build_report(stored_run("visits"), describe_by_outcome(cohort))
    text, *_, note = texts_of_section(report, "missing")
    assert text == "2 of 15 characteristics have missing values at the first visit, at most in 9.0 % (chol)."
    assert note == "Patients without a value at the first visit."
    said = " ".join(texts_of_section(report, "methods"))
    assert "Values were missing in 6 of 15 predictors, at most in 42.2 % of the visits (chol)." in said


def test_an_estimate_without_an_interval_stands_alone() -> None:
    assert with_bounds(0.25, {"lower": None, "upper": None}) == with_bounds(0.25, None) == "0.250"
    assert with_bounds(0.25, {"lower": -0.0001, "upper": 0.5}) == "0.250 (95 % interval 0.000 to 0.500)"


def test_a_share_that_is_not_zero_does_not_look_like_it() -> None:
    assert (percent(0.0002), percent(0.0), percent(0.001)) == ("less than 0.1 %", "0.0 %", "0.1 %")
    assert (percentage(0.0002), percentage(0.0), percentage(None)) == ("< 0.1 %", "0.0 %", "–")


def test_a_model_that_is_the_simple_pipeline_says_so() -> None:
    run = stored_run("visits")
    (table,) = (b for b in section(build_report(run), "performance").blocks if getattr(b, "name", "") == "gains")
    assert table.notes == ("The model is the simple pipeline.",)
    assert gain_figures(run) == "The model is the simple pipeline."
    assert gain_figures(stored_run("binary")) != "The model is the simple pipeline."


@pytest.mark.parametrize(
    ("kind", "sample"),
    [
        ("binary", "303 patients with 139 events;"),
        ("event_times", "500 patients with 182 events by 1,095;"),
        ("visits", "1,945 visits of 312 patients, 156 of them followed by the event within 365;"),
    ],
)
def test_a_validation_counts_its_own_patients_and_their_events_by_the_horizon(kind: str, sample: str) -> None:
    run = stored_run(kind, validated=True)
    shown = section(build_report(run), "validation").blocks[0].text
    assert sample in shown
    assert ("slope until the last horizon" in shown) == bool(run.horizons)
    assert f"The validation had {sample}" in str(validation_sample(run))
    fewer = changed(run, "validation", n_patients=77)
    assert build_report(fewer).subtitle.endswith("in 77 patients.")


@pytest.mark.parametrize(
    ("kind", "frequency"),
    [
        ("binary", "139 of 303 patients (45.9 %) had the outcome."),
        ("event_times", "215 of 500 patients (43.0 %) had the outcome during observation."),
        (
            "visits",
            "140 of 312 patients (44.9 %) had the outcome during observation, and 37.3 % of the visits",
        ),
    ],
)
def test_the_first_sentence_tells_who_had_the_outcome_of_how_many(kind: str, frequency: str) -> None:
    blocks = section(build_report(stored_run(kind)), "first").blocks
    assert any(frequency in block.text for block in blocks if isinstance(block, Paragraph))


@pytest.mark.parametrize(
    ("kind", "titles"),
    [
        ("binary", ["Patients with the rarer outcome per parameter", "(Riley et al. 2020)"]),
        ("event_times", ["Events per parameter", "(Riley et al. 2019)"]),
    ],
)
def test_the_sample_size_is_that_of_the_kind_of_outcome(kind: str, titles: list[str]) -> None:
    (table,) = section(build_report(stored_run(kind)), "sample-size").blocks
    shown = [row[0] for row in table.rows]
    assert [title.removeprefix("Patients needed for a regression ") for title in shown[2:4]] == titles
    assert shown[4].endswith("forests, boosting and networks (van der Ploeg et al. 2014)")
    assert shown[5].endswith("an external validation (Riley et al. 2024)")


def test_the_sample_size_counts_each_patient_once_whatever_the_weight() -> None:
    run = changed(stored_run("binary"), "cohort", n_sampled=303, n_patients=5_000)
    (table,) = section(build_report(run), "sample-size").blocks
    assert table.rows[0] == ("Patients", "303")


def test_levels_of_few_patients_are_not_counted_whatever_their_weight() -> None:
    rows = np.arange(60)
    cohort = Cohort(
        "c",
        Binary("y", "1", "0"),
        (Feature("x", "categorical", ("a", "b", "c")),),
        np.where(rows < 4, 0.0, np.where(rows < 30, 1.0, 2.0))[:, None],
        (rows % 2).astype(np.int8),
    )
    description = describe_by_outcome(weigh(cohort, np.full(60, 10)))
    (table,) = section(build_report(stored_run("binary"), description), "characteristics").blocks
    levels = {row[0].strip(): row[1:4] for row in table.rows[1:]}
    assert levels["a"] == ("fewer than 10",) * 3
    assert levels["b"] == ("260 (43.3 %)", "130 (43.3 %)", "130 (43.3 %)")


@pytest.mark.parametrize(("scale", "averaged"), [("risk", "risks"), ("log_odds", "log odds")])
def test_the_model_is_rebuilt_on_the_scale_of_its_average(scale: str, averaged: str) -> None:
    report = build_report(changed(stored_run("binary"), "ensemble", rule="stacking", scale=scale))
    shown = texts_of_section(report, "specification")
    assert any(f"average their {averaged} by the weights" in text for text in shown)
    assert any(text.startswith(f"The model averages the {averaged} of 13 pipelines") for text in shown)
    alone = texts_of_section(build_report(stored_run("visits")), "specification")
    assert "Fit the pipeline to all patients with its hyperparameters, and apply the recalibration." in alone


def test_what_is_recalibrated_is_an_average_only_of_several_pipelines() -> None:
    for kind, whose in (("visits", "pipeline"), ("binary", "average")):
        run = stored_run(kind)
        calibration = {**run.ensemble["calibration"], "recalibration": {"intercept": 0.1, "slope": 0.9}}
        shown = texts_of_section(build_report(changed(run, "ensemble", calibration=calibration)), "specification")
        assert any(text.endswith(f"0.9 × log odds of the {whose}.") for text in shown)


@EVERY_KIND
def test_the_report_of_a_search_whose_model_was_deleted_names_none(kind: str) -> None:
    run = stored_run(kind)
    report = build_report(changed(run, "search", model_id=None))
    (software,) = (b for b in section(report, "software").blocks if isinstance(b, Table))
    assert ("Model", "deleted") in software.rows
    said = " ".join(texts(report))
    assert "Identifier of the model" not in said
    assert "by the command “autoprog predict” and from Python." in said
    assert "/v1/models/None" not in said
    assert "Identifier of the model" in " ".join(texts(build_report(run)))


def test_one_pipeline_and_one_repeat_are_not_counted() -> None:
    run = stored_run("visits")
    run = changed(run, "search", settings={**run.settings, "repeats": 1})
    shown = list(texts(build_report(run)))
    assert "The model is one pipeline, fitted to all patients, whose risks are recalibrated." in shown
    assert f"{run.settings['folds']} folds" in shown


@EVERY_KIND
def test_the_validation_of_a_later_version_names_it_and_how_it_was_updated(kind: str) -> None:
    run = updated_run(kind)
    report = build_report(run)
    former = run.ensemble["calibration"]["recalibration"]
    told = (
        "Version 2 of the model is version 1, recalibrated to the cohort “next door”; members and weights are the "
        "same. Its recalibration has the intercept 0.422 and the slope 0.918, that of version 1 the intercept "
        f"{decimal(former['intercept'])} and the slope {decimal(former['slope'])}."
    )
    assert "External validation of version 2 of a prognostic model in" in report.subtitle
    assert any(
        text == f"{told} The validation is of this version; all else in this report is of version 1."
        for text in texts_of_section(report, "first")
    )
    paragraph, table = section(report, "validation").blocks
    assert paragraph.text.startswith(told)
    titles = [column.title for column in table.columns]
    assert titles == ["Measure", "Development of version 1, out of fold", "Other patients, version 2"]
    specification = " ".join(texts_of_section(report, "specification"))
    assert f"Recalibration of version 1: log odds of the delivered risk = {former['intercept']!r} + " in specification
    assert "Recalibration of version 2: log odds of the delivered risk = 0.4217 + 0.9183 × log odds" in specification
    methods = " ".join(texts_of_section(report, "methods"))
    assert f"{told} Version 2 of the model was validated in" in methods
    assert "without further refitting or recalibration" in methods
    assert run.search["model_id"] not in " ".join(texts(report))


def test_an_update_without_its_cohort_or_the_former_recalibration_is_told() -> None:
    run = updated_run("binary")
    assert run.updated is not None
    calibration = {**run.ensemble["calibration"], "recalibration": None}
    run = changed(changed(run, "updated", cohort=None, version=3), "ensemble", calibration=calibration)
    assert update(run) == (
        "Version 3 of the model is version 2, recalibrated to another cohort; members and weights are the same. Its "
        "recalibration has the intercept 0.422 and the slope 0.918."
    )
    assert update(stored_run("binary", validated=True)) is None


@EVERY_KIND
@pytest.mark.parametrize(("share", "whose"), [(1.0, "training patients"), (0.95, "training and other patients")])
def test_performance_in_the_training_patients_is_called_apparent(kind: str, share: float, whose: str) -> None:
    run = changed(stored_run(kind, validated=True), "validation", is_training_cohort=True, training_share=share)
    report = build_report(run)
    assert "Apparent performance of a prognostic model" in report.subtitle
    validated = [each for each in report.sections if each.name.startswith("validation")]
    assert [each.title for each in validated if each.title.endswith("in other patients")] == []
    assert (validated[0].title, validated[1].title) == ("Apparent performance", f"Performance in {whose}")
    told = f"is apparent: {percent(share)} of its rows are rows that the model was fitted on"
    for each in validated[:2]:
        assert told in next(texts_of(each.blocks[0]))
    assert any(f"In {run.validation['n_patients']:,} {whose} the area" in text for text in texts(report))
    said = " ".join(texts(report))
    assert "External validation:" not in said
    assert "The model was validated in" not in said


def test_a_validation_stands_beside_the_development() -> None:
    run = stored_run("binary", validated=True)
    (table,) = (b for b in section(build_report(run), "validation").blocks if isinstance(b, Table))
    assert table.rows[0][0] == "Area under the ROC curve"
    assert run.validation is not None
    for cell, found in zip(table.rows[0][1:], (run.ensemble, run.validation), strict=True):
        assert cell is not None
        assert cell.startswith(f"{found['performance']['auc_roc']:.3f}")
