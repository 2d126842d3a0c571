"""Compute the columns that a spec defines by dates, before the table is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import cast

from autoprog.cohort.dates import DAYS_IN, Unit, date_difference, difference_name
from autoprog.cohort.outcome_spec import TimeToEventSpec
from autoprog.cohort.spec import CohortSpec, FeatureSpec
from autoprog.cohort.table import Table
from autoprog.errors import Fault


@dataclass(frozen=True, eq=False)
class Derived:
    """The table with computed columns in place of its dates, and the spec that names them."""

    table: Table
    spec: CohortSpec
    faults: tuple[Fault, ...]


def derive_times(table: Table, spec: CohortSpec) -> Derived:
    """Replace dates by the times between them; dates that the table lacks are left to `spec_faults`."""
    wanted: list[tuple[str, str, Unit]] = []
    dates = spec.outcome.dates if isinstance(spec.outcome, TimeToEventSpec) else None
    if dates is not None:
        wanted.append((dates.start, dates.end, dates.unit))
    features: dict[str, FeatureSpec] = {}
    for name, feature in spec.features.items():
        if feature.relative_to is None:
            features[name] = feature
            continue
        unit = cast("Unit", feature.unit or "days")
        wanted.append((feature.relative_to, name, unit))
        features[difference_name(feature.relative_to, name, unit)] = FeatureSpec(
            kind="numeric", unit=unit, label=feature.label, meta_group=feature.meta_group
        )
    if not wanted:
        return Derived(table, spec, ())
    columns = dict(table.columns)
    faults: list[Fault] = []
    for start, end, unit in wanted:
        if start in table.columns and end in table.columns:
            made = date_difference(table, start, end, unit, spec.na_values)
            columns[made.column.name] = made.column
            faults += made.faults
    used = {name for start, end, _ in wanted for name in (start, end)} - {spec.groups, spec.identifier}
    kept = {name: column for name, column in columns.items() if name not in used}
    return Derived(
        replace(table, columns=kept),
        spec.model_copy(update={"features": features}),
        tuple(dict.fromkeys(faults)),
    )


def add_named_times(table: Table, names: Iterable[str], na_values: Collection[str]) -> tuple[Table, tuple[Fault, ...]]:
    """Compute columns such as `days from admission to diagnosis` that the table lacks but whose dates it has."""
    columns = dict(table.columns)
    faults: list[Fault] = []
    for name in names:
        dates = None if name in columns else _dates_of(name, table)
        if dates is not None:
            made = date_difference(table, *dates, na_values)
            columns[name] = made.column
            faults += made.faults
    return replace(table, columns=columns), tuple(dict.fromkeys(faults))


def _dates_of(name: str, table: Table) -> tuple[str, str, Unit] | None:
    for unit in DAYS_IN:
        start = name.removeprefix(f"{unit} from ")
        if start == name:
            continue
        parts = start.split(" to ")
        for i in range(1, len(parts)):
            first, second = " to ".join(parts[:i]), " to ".join(parts[i:])
            if first in table.columns and second in table.columns:
                return first, second, unit
    return None
