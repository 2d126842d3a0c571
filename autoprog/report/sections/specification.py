"""Sections that let another person repeat the work: members with all hyperparameters, how to rebuild them, software."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from autoprog.report import sentences as say
from autoprog.report.digits import EMPTY, decimal, percentage, significant
from autoprog.report.document import Block, Column, ItemList, Paragraph, Section, Table
from autoprog.report.phrases import algorithm_name, number, upper_first
from autoprog.report.references import author_and_year
from autoprog.report.run import Document, ReportedRun
from autoprog.report.wording import feature_name, pipeline_name

_STAGES = {
    "imputation": "missing values",
    "features": "columns",
    "prediction": "prediction",
    "calibration": "calibration",
}
_SHOWN = 20  # evaluations on the leaderboard


def sample_size_section(run: ReportedRun) -> Section:
    """Whether the cohort is large enough."""
    size = run.sample_size
    rows = [("Patients", f"{run.n_sampled:,}")]
    for key, title in (
        ("n_parameters", "Parameters (columns of the design matrix)"),
        ("events_per_predictor", f"{upper_first(run.kind.rarer)} per parameter"),
        ("riley_minimum", f"Patients needed for a regression ({author_and_year(run.kind.riley)})"),
        ("flexible_minimum", f"Patients needed for forests, boosting and networks ({author_and_year('ploeg')})"),
        ("validation_minimum", f"Patients needed for an external validation ({author_and_year('riley_validation')})"),
    ):
        value = size.get(key)
        if value is not None:
            rows.append((title, f"{value:,}" if isinstance(value, int) else significant(value)))
    rows.append(("Verdict", str(size["verdict"]).replace("_", " ")))
    columns = (Column(""), Column("", "number"))
    return Section("sample-size", "Sample size", (Table("sample-size", "Sample size", columns, tuple(rows)),))


def specification_section(run: ReportedRun) -> Section:
    """Every member of the ensemble with all its hyperparameters, and how to rebuild the model."""
    blocks: list[Block] = [
        Paragraph(_how(run)),
        _members(run),
        *_parameters(run),
        *_recalibration(run),
        _predictors(run),
        Paragraph("To rebuild the model:"),
        ItemList(_steps(run), numbered=True),
    ]
    return Section("specification", "Full specification of the model", tuple(blocks))


def _members(run: ReportedRun) -> Table:
    columns = (
        Column("Member", "number"),
        Column("Pipeline"),
        Column("Weight", "number"),
        Column(upper_first(say.metric_name(run)), "number"),
    )
    rows = tuple(
        (str(k), pipeline_name(m["configuration"]), decimal(m["weight"], 4), decimal(m["score"], 4))
        for k, m in enumerate(run.members, 1)
    )
    note = "The score is the mean over the folds, before the correction for the choice."
    return Table("members", "Members of the ensemble", columns, rows, (note,))


def _parameters(run: ReportedRun) -> list[Block]:
    rows = [
        (str(k), title, algorithm_name(step["algorithm"]), step["algorithm"], _hyperparameters(step["parameters"]))
        for k, member in enumerate(run.members, 1)
        for stage, title in _STAGES.items()
        if (step := member["configuration"][stage])["algorithm"] != "none"
    ]
    columns = (
        Column("Member", "number"),
        Column("Stage"),
        Column("Algorithm"),
        Column("Name in the program"),
        Column("Hyperparameters"),
    )
    return [Table("hyperparameters", "All hyperparameters of every member", columns, tuple(rows))]


def _hyperparameters(parameters: Mapping[str, Any]) -> str:
    """All values exactly, as a rebuild needs them."""
    return "; ".join(f"{name} = {json.dumps(value)}" for name, value in parameters.items()) or EMPTY


def _recalibration(run: ReportedRun) -> list[Block]:
    found = {"": run.ensemble["calibration"].get("recalibration")}
    if run.updated is not None:
        found = {" of version 1": found[""], f" of version {run.updated['version']}": run.updated["recalibration"]}
    whose = "pipeline" if len(run.members) == 1 else "average"
    return [
        Paragraph(
            f"Recalibration{version}: log odds of the delivered risk = {each['intercept']!r} + {each['slope']!r} × log "
            f"odds of the {whose}."
        )
        for version, each in found.items()
        if each is not None
    ]


def _predictors(run: ReportedRun) -> Table:
    rows = tuple(
        (feature_name(f), f["name"], f["kind"], _range(f), percentage(f["missing_fraction"])) for f in run.features
    )
    columns = (
        Column("Predictor"),
        Column("Column"),
        Column("Kind"),
        Column("Range or levels"),
        Column("Missing", "number"),
    )
    return Table("predictors", "Predictors", columns, rows)


def _range(feature: Document) -> str:
    if feature.get("levels"):
        return ", ".join(feature["levels"])
    if feature.get("minimum") is None:
        return EMPTY
    return f"{significant(feature['minimum'])} to {significant(feature['maximum'])}"


def _how(run: ReportedRun) -> str:
    if len(run.members) == 1:
        return "The model is one pipeline, fitted to all patients, whose risks are recalibrated."
    return (
        f"The model averages the {_averaged(run)} of {len(run.members):,} pipelines by their weights, and recalibrates "
        "the average. Each pipeline is fitted to all patients."
    )


def _averaged(run: ReportedRun) -> str:
    """The scale on which the members are averaged."""
    return "log odds" if run.ensemble.get("scale") == "log_odds" else "risks"


def _steps(run: ReportedRun) -> tuple[str, ...]:
    if len(run.members) == 1:
        fit = "Fit the pipeline to all patients with its hyperparameters, and apply the recalibration."
    else:
        fit = (
            f"Fit each member's pipeline to all patients with its hyperparameters, average their {_averaged(run)} by "
            "the weights, and apply the recalibration."
        )
    return (
        "Install the versions of the software that are listed below.",
        f"Read the file with the same spec; the stored cohort has the SHA-256 digest {run.cohort['sha256']}.",
        fit,
        (
            f"Or repeat the search with the same settings and seed {run.settings['seed']}. By the clock another "
            "machine may evaluate another number of configurations; a budget of evaluations alone repeats exactly."
        ),
        "Or use the delivered model's file: it holds the fitted pipelines for the command line, Python and REST.",
    )


def leaderboard_section(run: ReportedRun) -> Section:
    """The best evaluations of the search."""
    scored = [e for e in run.evaluations if e["score"] is not None][:_SHOWN]
    rows = tuple(
        (
            str(k),
            pipeline_name(e["configuration"]),
            decimal(e["score"], 4),
            _folds(e["fold_scores"]),
            significant(e["duration_s"]),
        )
        for k, e in enumerate(scored, 1)
    )
    columns = (
        Column("Rank", "number"),
        Column("Pipeline"),
        Column(upper_first(say.metric_name(run)), "number"),
        Column("Folds", "number"),
        Column("Seconds", "number"),
    )
    note = (
        "Mean and range over the folds. The best of many looks best partly by luck: these scores are "
        "not corrected for it."
    )
    return Section(
        "leaderboard", "Leaderboard", (Table("leaderboard", "Best pipelines of the search", columns, rows, (note,)),)
    )


def _folds(scores: Sequence[float]) -> str:
    return f"{decimal(min(scores))} to {decimal(max(scores))}" if scores else EMPTY


def software_section(run: ReportedRun) -> Section:
    """Software, seed, digests and settings."""
    settings, budget = run.settings, run.settings["budget"]
    counts = run.search["progress"]["evaluations"]
    repeated = "" if settings["repeats"] == 1 else f", repeated {settings['repeats']} times"
    rows = [
        ("Search", str(run.search["id"])),
        ("Model", "deleted" if run.model_id is None else run.model_id),
        ("Cohort, SHA-256", str(run.cohort["sha256"])),
        ("Seed", str(settings["seed"])),
        ("Metric", str(settings["metric"])),
        ("Cross-validation", f"{settings['folds']} folds{repeated}"),
        ("Budget", f"{budget['evaluations']:,} evaluations or {number(budget['time_s'])} s"),
        ("Evaluations", f"{counts['succeeded']:,} with a score, {counts['failed']:,} without"),
        ("Rule of the ensemble", str(run.ensemble.get("rule", settings["ensemble"])).replace("_", " ")),
        ("Finished", str(run.search["finished_at"] or EMPTY)),
        *((name, version) for name, version in run.software.items()),
    ]
    columns = (Column(""), Column(""))
    notes = (
        ()
        if run.software
        else ("Versions of the software were not stored in searches that ended before this version.",)
    )
    table = Table("software", "Software, seed and digests", columns, tuple(rows), notes)
    return Section("software", "Software and reproduction", (table,))
