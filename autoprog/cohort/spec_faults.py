"""Check a spec against the names of a file's columns."""

from __future__ import annotations

from collections.abc import Sequence

from autoprog.cohort.canonical import short
from autoprog.cohort.messages import absent_columns, pointer
from autoprog.cohort.outcome_spec import outcome_columns
from autoprog.cohort.spec import CohortSpec
from autoprog.errors import Fault

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
    wanted = [(pointer("spec", "outcome", key), name) for key, name in outcome.items()]
    if spec.groups is not None:
        wanted.append(("/spec/groups", spec.groups))
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
    for name in spec.ignore:
        taken.setdefault(name, "ignored")
    clashes = [(name, taken[name]) for name in spec.features if name in taken]
    return faults + [
        Fault(pointer("spec", "features", name), f"{short(name, 60)} is {role} and cannot be a feature too")
        for name, role in clashes
    ]
