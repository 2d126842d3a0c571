"""The client's spec of a cohort's file: the outcome's columns and the meaning of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from autoprog.cohort.canonical import short
from autoprog.cohort.dates import DAYS_IN
from autoprog.cohort.messages import HALF_A_PAIR, absent_columns, capped, pointer, strip_key_mark
from autoprog.cohort.outcome_spec import (
    BinaryOutcomeSpec,
    OutcomeSpec,
    TimeToEventSpec,
    VisitEventSpec,
    VisitLabelSpec,
    outcome_columns,
)
from autoprog.cohort.schema import FeatureKind
from autoprog.cohort.spec_values import FROZEN, MAX_COLUMNS, CellValue, ColumnName, ShortText
from autoprog.cohort.target import Mode
from autoprog.errors import Fault, InvalidInputError
from autoprog.strict_json import load_strictly


class FeatureSpec(BaseModel):
    """The client's knowledge of one column. Omitted fields are inferred."""

    model_config = FROZEN

    kind: Annotated[
        Literal[FeatureKind, "date"] | None,
        Field(
            description="A date becomes the number of days (or of months or years, if that is its unit) since another "
            "column's date, `relative_to`."
        ),
    ] = None
    relative_to: Annotated[ColumnName | None, Field(description="Column of the index date, for kind 'date'.")] = None
    unit: ShortText | None = None
    label: Annotated[
        ShortText | None, Field(description="What tables and figures call it, such as `Systolic blood pressure`.")
    ] = None
    meta_group: ShortText | None = None
    levels: Annotated[
        tuple[CellValue, ...] | None,
        Field(min_length=2, max_length=1000, description="Values of an ordinal feature, lowest first."),
    ] = None

    @model_validator(mode="after")
    def _dates_have_an_index(self) -> FeatureSpec:
        if (self.kind == "date") != (self.relative_to is not None):
            msg = "kind 'date' and relative_to, the column of the index date, are given together"
            raise ValueError(msg)
        if self.kind == "date" and self.unit not in {None, *DAYS_IN}:
            msg = f"the unit of a date is {' or '.join(DAYS_IN)}"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _levels_are_an_order(self) -> FeatureSpec:
        if self.levels is None:
            return self
        if self.kind != "ordinal":
            msg = f"levels are for kind 'ordinal', not {self.kind!r}"
            raise ValueError(msg)
        if len(set(self.levels)) < len(self.levels):
            msg = "levels name a value twice"
            raise ValueError(msg)
        return self


class CohortSpec(BaseModel):
    """The spec of a cohort's file in any mode, sent as JSON to `POST /v1/cohorts` and read by `parse_spec`."""

    model_config = FROZEN

    name: ColumnName
    mode: Mode = "classification"
    outcome: OutcomeSpec
    features: Annotated[
        dict[ColumnName, FeatureSpec],
        Field(max_length=MAX_COLUMNS, description="Overrides of what is inferred. Columns not named stay features."),
    ] = Field(default_factory=dict)
    ignore: Annotated[tuple[ColumnName, ...], Field(max_length=MAX_COLUMNS, description="Columns to leave out.")] = ()
    groups: Annotated[
        ColumnName | None,
        Field(description="Column of groups that must not be split over folds, such as hospitals or families."),
    ] = None
    weights: Annotated[
        ColumnName | None,
        Field(
            description="Column of whole numbers, from 1, that say how many patients each row stands for, as in "
            "case-control and survey samples. All figures are weighted; intervals are those of the patients sampled. "
            "Not in mode `temporal`."
        ),
    ] = None
    identifier: Annotated[
        ColumnName | None,
        Field(
            description="Column of patients' identifiers, by which a patient can be erased. Only keyed digests are "
            "stored. Rows of one patient stay in one fold, unless `groups` names coarser ones. In mode `temporal` it "
            "is the patient."
        ),
    ] = None
    na_values: Annotated[
        tuple[CellValue, ...],
        Field(max_length=100, description="Cells that mean missing, besides the usual ones (NA, ?, ., -, null, ...)."),
    ] = ()
    sheet: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="Sheet of an Excel workbook. Default: the first."),
    ] = None
    share_statistics: Annotated[
        bool,
        Field(
            description="Whether other owners may learn from searches on this cohort, without its name or identifier. "
            "These searches learn only from shared and open cohorts, so that they do not pass on what others have "
            "taught."
        ),
    ] = False


class ClassificationSpec(CohortSpec):
    """The spec of a cohort with a binary outcome."""

    mode: Literal["classification"] = "classification"
    outcome: BinaryOutcomeSpec


class SurvivalSpec(CohortSpec):
    """The spec of a cohort with times to an event."""

    mode: Literal["survival"] = "survival"
    outcome: TimeToEventSpec


class VisitEventsSpec(CohortSpec):
    """The spec of a cohort of visits, each followed up for an event."""

    mode: Literal["temporal"] = "temporal"
    outcome: VisitEventSpec


class VisitLabelsSpec(CohortSpec):
    """The spec of a cohort of visits, each with a label."""

    mode: Literal["temporal"] = "temporal"
    outcome: VisitLabelSpec


def parse_spec(spec: str | bytes | Mapping[str, Any]) -> CohortSpec:
    """Read a client's spec.

    Parameters
    ----------
    spec : str, bytes or mapping
        JSON text, or its decoded content.

    Returns
    -------
    CohortSpec
        The validated spec.

    Raises
    ------
    InvalidInputError
        If it is not JSON or not a valid spec; lists every fault below `/spec`.
    """
    parsed, faults = judge_spec(spec)
    if parsed is None or faults:
        raise InvalidInputError(faults)
    return parsed


def judge_spec(spec: str | bytes | Mapping[str, Any]) -> tuple[CohortSpec | None, tuple[Fault, ...]]:
    """Read a client's spec as far as needed to check a file against it.

    Parameters
    ----------
    spec : str, bytes or mapping
        JSON text, or its decoded content.

    Returns
    -------
    (CohortSpec or None, tuple of Fault)
        The spec without its faulty keys, None if they decide how columns are read; and every fault, below `/spec`.
    """
    try:
        decoded = load_strictly(spec, "/spec") if isinstance(spec, str | bytes) else spec
    except InvalidInputError as error:
        return None, error.faults
    except (ValueError, RecursionError) as error:
        return None, (Fault("/spec", f"this is no JSON: {error}"),)
    form = _form(decoded)
    try:
        return form.model_validate(decoded), ()
    except ValidationError as error:
        faults = [
            Fault(
                pointer("spec", *strip_key_mark(fault["loc"])), _detail(fault["type"], fault["loc"], fault["msg"], form)
            )
            for fault in error.errors(include_url=False, include_input=False, include_context=False)
            # the outcome of an unknown mode cannot be judged
            if form is not CohortSpec or fault["loc"][:1] != ("outcome",) or len(fault["loc"]) == 1
        ]
        wrong = {str(fault["loc"][0]) if fault["loc"] else "" for fault in error.errors(include_input=False)}
        return _without(form, decoded, wrong), capped(faults, "/spec")


_OF_COLUMNS = frozenset(
    {"", "mode", "outcome", "features", "ignore", "groups", "weights", "identifier", "na_values", "sheet"}
)


def _without(form: type[CohortSpec], decoded: object, wrong: set[str]) -> CohortSpec | None:
    """Drop faulty keys that do not decide how columns are read; None if others are faulty."""
    if not isinstance(decoded, Mapping) or not wrong.isdisjoint(_OF_COLUMNS):
        return None
    return form.model_validate({"name": "cohort", **{k: v for k, v in decoded.items() if k not in wrong}})


def _form(decoded: object) -> type[CohortSpec]:
    """Select the model of the spec's mode; the general one if there is no such mode."""
    mode = decoded.get("mode", "classification") if isinstance(decoded, Mapping) else "classification"
    if mode == "temporal" and isinstance(decoded, Mapping):
        outcome = decoded.get("outcome")
        has_label = isinstance(outcome, Mapping) and not {"column", "positive"}.isdisjoint(outcome)
        return VisitLabelsSpec if has_label else VisitEventsSpec
    forms: dict[object, type[CohortSpec]] = {"classification": ClassificationSpec, "survival": SurvivalSpec}
    return forms.get(mode, CohortSpec) if isinstance(mode, str) else CohortSpec


_KEYS = {
    ClassificationSpec: "mode 'classification' takes column and positive",
    SurvivalSpec: "mode 'survival' takes time, event, event_of_interest, competing, horizons and censored",
    VisitEventsSpec: (
        "mode 'temporal' takes patient, visit_time, horizon, time, event, event_of_interest, competing and censored, "
        "or a label: patient, visit_time, horizon, column and positive"
    ),
    VisitLabelsSpec: (
        "mode 'temporal' takes for a label patient, visit_time, horizon, column and positive; "
        "an event that follows the visit has time and event in place of column and positive"
    ),
}


def _detail(kind: str, loc: tuple[int | str, ...], text: str, form: type[CohortSpec]) -> str:
    if loc[:1] == ("outcome",) and len(loc) == 2 and form in _KEYS:
        if kind == "missing":
            return f"required: the outcome of {_KEYS[form]}"
        if kind == "extra_forbidden":
            return f"unknown: the outcome of {_KEYS[form]}"
    return HALF_A_PAIR if kind == "string_unicode" else text.removeprefix("Value error, ")


_ROLES = {
    "column": "the outcome",
    "time": "the outcome's time",
    "event": "the outcome's event",
    "patient": "the patient",
    "visit_time": "the time of the visit",
}


def spec_faults(spec: CohortSpec, names: Sequence[str]) -> list[Fault]:
    """List the columns that the spec names but the file lacks, and those with two roles."""
    outcome = outcome_columns(spec.outcome)
    dates = spec.outcome.dates if isinstance(spec.outcome, TimeToEventSpec) else None
    wanted = [(pointer("spec", "outcome", key), name) for key, name in outcome.items() if not (dates and key == "time")]
    if dates is not None:
        wanted += [("/spec/outcome/time/from", dates.start), ("/spec/outcome/time/to", dates.end)]
    wanted += [
        (pointer("spec", "features", name, "relative_to"), feature.relative_to)
        for name, feature in spec.features.items()
        if feature.relative_to is not None
    ]
    if spec.groups is not None:
        wanted.append(("/spec/groups", spec.groups))
    if spec.weights is not None:
        wanted.append(("/spec/weights", spec.weights))
    if spec.identifier is not None:
        wanted.append(("/spec/identifier", spec.identifier))
    faults = absent_columns("/spec", wanted, names)
    faults += absent_columns("/spec/features", [(pointer("spec", "features", n), n) for n in spec.features], names)
    ignored = [(pointer("spec", "ignore", i), name) for i, name in enumerate(spec.ignore)]
    return faults + absent_columns("/spec/ignore", ignored, names) + _clashes(spec, outcome)


def _clashes(spec: CohortSpec, outcome: dict[str, str]) -> list[Fault]:
    taken = {name: _ROLES[key] for key, name in outcome.items()}
    faults = [
        Fault("/spec/ignore", f"{short(name, 60)} is {role} and cannot be ignored")
        for name, role in taken.items()
        if name in spec.ignore
    ]
    if spec.groups in taken and spec.groups != outcome.get("patient"):
        role = taken[spec.groups]
        faults.append(Fault("/spec/groups", f"{short(spec.groups, 60)} is {role} and cannot be the groups"))
    if spec.groups is not None:
        taken.setdefault(spec.groups, "the groups")
    if spec.weights is not None:
        faults += _weights_faults(spec.weights, outcome, taken)
        taken.setdefault(spec.weights, "the weights")
    if spec.identifier is not None and spec.identifier != outcome.get("patient"):
        faults += _identifier_faults(spec.identifier, outcome, taken)
    for name in spec.ignore:
        taken.setdefault(name, "ignored")
    if spec.identifier is not None:
        taken.setdefault(spec.identifier, "the identifier")
    clashes = [(name, taken[name]) for name in spec.features if name in taken]
    return faults + [
        Fault(pointer("spec", "features", name), f"{short(name, 60)} is {role} and cannot be a feature too")
        for name, role in clashes
    ]


def _weights_faults(name: str, outcome: Mapping[str, str], taken: Mapping[str, str]) -> list[Fault]:
    if "patient" in outcome:
        return [Fault("/spec/weights", "visits take no weights")]
    if name in taken:
        return [Fault("/spec/weights", f"{short(name, 60)} is {taken[name]} and cannot be the weights")]
    return []


def _identifier_faults(name: str, outcome: Mapping[str, str], taken: Mapping[str, str]) -> list[Fault]:
    if "patient" in outcome:
        return [Fault("/spec/identifier", "the identifier of a cohort of visits is the outcome's patient")]
    role = taken.get(name)  # groups may be the patients
    if role is not None and role != "the groups":
        return [Fault("/spec/identifier", f"{short(name, 60)} is {role} and cannot be the identifier")]
    return []
