"""Sections on the patients: participant flow, characteristics by outcome, missing values."""

from __future__ import annotations

from autoprog.cohort import MIN_COUNTED, CohortDescription, FeatureSummary, GroupSummary, NumberSummary
from autoprog.report.chart import Flow, FlowStep
from autoprog.report.digits import EMPTY, count_share, decimal, percentage, significant
from autoprog.report.document import Column, Figure, Paragraph, Section, Table
from autoprog.report.phrases import listed, plural, were
from autoprog.report.run import ReportedRun
from autoprog.report.wording import cause_name, feature_name, outcome_name

_NO_FILE = "Left out: the patients' values are not at hand where this report was made."


def flow_section(run: ReportedRun) -> Section:
    """Who was read, left out and analysed."""
    read, left_out = (plural(n, run.words.of_file) for n in (int(run.cohort["n_rows"]), run.n_dropped))
    carriers = plural(run.n_with_outcome, run.kind.carriers(run))
    steps = (
        FlowStep(f"{read} in the file", f"{left_out} left out: no usable outcome" if run.n_dropped else None),
        FlowStep(f"{run.rows_text} analysed"),
        FlowStep(_ends(run, f"{carriers} with the outcome")),
    )
    caption = (
        "Rows of the file, those left out and those analysed. "
        "Who was not entered in the file, and why, is for the author to add."
    )
    words = [
        f"The file had {read}.",
        f"{left_out} without a usable outcome {were(run.n_dropped)} left out."
        if run.n_dropped
        else "None was left out.",
        f"{run.rows_text} were analysed; {carriers} had the outcome.",
    ]
    blocks = [Figure("flow", "Participant flow", caption, " ".join(words), Flow(steps))]
    follow_up = run.cohort.get("follow_up")
    text = " ".join(words)
    if follow_up is not None:
        median = follow_up["median"]
        length = "is not reached" if median is None else f"is {run.with_unit(significant(median))}"
        text += f" Median follow-up (reverse Kaplan-Meier) {length}."
    return Section("flow", "Participants", (Paragraph(text), *blocks))


def _ends(run: ReportedRun, events: str) -> str:
    follow_up = run.cohort.get("follow_up")
    if follow_up is None:
        return events
    others = [f"{follow_up['events'].get(cause, 0):,} with {cause_name(run, cause)}" for cause in run.competing]
    return listed([events, *others, f"{follow_up['n_censored']:,} without an event"])


def characteristics_section(run: ReportedRun, description: CohortDescription | None) -> Section:
    """Table 1: every feature in all patients and by outcome."""
    name, title = "characteristics", "Characteristics by outcome"
    if description is None:
        return Section(name, title, left_out=_NO_FILE)
    n, n1 = description.n, description.n_with_outcome
    columns = (
        Column("Characteristic"),
        Column(f"All (n = {n:,})", "number"),
        Column(f"With the outcome (n = {n1:,})", "number"),
        Column(f"Without (n = {n - n1:,})", "number"),
        Column("Standardised difference", "number"),
    )
    rows = [row for summary in description.features for row in _rows(run, summary)]
    notes = [
        (
            "Numbers: mean (standard deviation); median [quartiles]. Levels: number (per cent of those with a value). "
            f"Fewer than {MIN_COUNTED} patients of a level are not counted; the totals may still tell their number."
        ),
        (
            "Standardised difference: of means, in standard deviations; for levels the distance of their "
            "shares (Yang and "
            "Dalton 2012). Above 0.1 in absolute value it is often called relevant. No tests: they would "
            "answer no question "
            "of this study."
        ),
    ]
    notes += run.words.characteristics(run)
    if run.is_weighted:
        notes.append("Numbers are weighted: a patient counts as all those for whom the patient stands.")
    table = Table(name, f"Patients by outcome: {outcome_name(run)}", columns, tuple(rows), tuple(notes))
    return Section(name, title, (table,))


def _rows(run: ReportedRun, summary: FeatureSummary) -> list[tuple[str | None, ...]]:
    documents = {f["name"]: f for f in run.features}
    feature = summary.feature
    title = feature_name(documents.get(feature.name) or {"name": feature.name, "unit": feature.unit})
    groups = (summary.everyone, summary.with_outcome, summary.without_outcome)
    difference = decimal(summary.difference, 2)
    if feature.kind == "numeric":
        means = (f"{title}, mean (SD)", *(_mean(group.number) for group in groups), difference)
        medians = (f"{title}, median [quartiles]", *(_median(group.number) for group in groups), None)
        return [means, medians]
    if feature.kind == "binary":
        return [(f"{title}: {feature.levels[1]}", *(_level(group, 1) for group in groups), difference)]
    head = (title, None, None, None, difference)
    return [
        head,
        *((f"\u2003{level}", *(_level(g, k) for g in groups), None) for k, level in enumerate(feature.levels)),
    ]


def _mean(number: NumberSummary | None) -> str:
    return EMPTY if number is None else f"{significant(number.mean)} ({significant(number.deviation)})"


def _median(number: NumberSummary | None) -> str:
    if number is None:
        return EMPTY
    return f"{significant(number.median)} [{significant(number.lower_quartile)}, {significant(number.upper_quartile)}]"


def _level(group: GroupSummary, k: int) -> str:
    if 0 < group.different[k] < MIN_COUNTED:
        return f"fewer than {MIN_COUNTED}"
    return count_share(group.counts[k], sum(group.counts))


def missing_section(run: ReportedRun, description: CohortDescription | None) -> Section:
    """Missing values of every feature, by outcome."""
    name, title = "missing", "Missing values by outcome"
    if description is None:
        return Section(name, title, left_out=_NO_FILE)
    found = [summary for summary in description.features if summary.everyone.n_missing]
    if not found:
        return Section(name, title, (Paragraph(f"No value of any characteristic is missing{run.words.described}."),))
    n, n1 = description.n, description.n_with_outcome
    documents = {f["name"]: f for f in run.features}
    rows = [
        (
            str((documents.get(s.feature.name) or {}).get("label") or s.feature.name),
            count_share(s.everyone.n_missing, n),
            count_share(s.with_outcome.n_missing, n1),
            count_share(s.without_outcome.n_missing, n - n1),
            decimal(s.missing_difference, 2),
        )
        for s in sorted(found, key=lambda s: -s.everyone.n_missing)
    ]
    columns = (
        Column("Characteristic"),
        Column("All", "number"),
        Column("With the outcome", "number"),
        Column("Without", "number"),
        Column("Standardised difference", "number"),
    )
    largest = max(found, key=lambda s: s.everyone.n_missing)
    text = (
        f"{len(found)} of {plural(len(description.features), 'characteristic')} "
        f"{'has' if len(found) == 1 else 'have'} missing values{run.words.described}, at most in "
        f"{percentage(largest.everyone.n_missing / n)} ({largest.feature.label or largest.feature.name})."
    )
    note = f"Patients without a value{run.words.described}."
    table = Table(name, "Missing values by outcome", columns, tuple(rows), (note,))
    return Section(name, title, (Paragraph(text), table))
