"""Code outside `autoprog/endpoints` asks an outcome, and does not branch on its kind, but in the places of this list.

A branch is a test of the class of an outcome, a comparison with the name of a mode, a choice by a mode from a table, a
test whether a cohort has times, and a test whether a list of times or horizons is empty. `autoprog/cohort` defines the
kinds and reads them from files. Not counted are defaults (`x or ()`), comparisons of two outcomes with each other,
options and fields that a user left out, and parts that any cohort may have or lack (`visits`, `windows`, `groups`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import api
import autoprog

ROOT = Path(autoprog.__file__).parents[1]
OUTSIDE = ("autoprog/endpoints", "autoprog/cohort")

MAX_BRANCHES = 10
ALLOWED = {
    "autoprog/estimator/estimator.py": (1, "the user's `mode`, which scikit-learn reads before it was checked"),
    "autoprog/estimator/modes.py": (2, "the user's `mode`, which is checked and chosen by"),
    "api/pages/start/draft.py": (1, "the mode of the form"),
    "api/test_selection/problems/building.py": (1, "test selection is for labels"),
    "autoprog/csmd/frontier.py": (1, "the frontier's share of nobody tested is of labels"),
    "autoprog/search/opening.py": (1, "the list of pipelines for event times"),
    "autoprog/space/_base.py": (1, "how a table of times is learnt: by a reduction"),
    "autoprog/space/calibration.py": (1, "curves are calibrated at all times at once"),
}

CLASSES = {"Binary", "TimeToEvent", "Visits", "BinaryEndpoint", "EventEndpoint"}
SPECS = {"BinaryOutcomeSpec", "EventSpec", "TimeToEventSpec", "VisitEventSpec", "VisitLabelSpec"}
MODES = {"classification", "survival", "temporal", "event_times", "visit_labels", "visit_events"}
TIMES = {"has_times", "has_visits", "time_to_event", "horizons", "horizons_", "times", "context"}
GIVEN = {"options", "estimator", "fields"}  # by a user
KEYS = {"horizons", "overall"}
COLUMNS = {"column", "horizons", "of"}


def name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def is_of_times(node: ast.AST) -> bool:
    """Whether a value tells the kind: horizons and the like, a cohort's time, or the horizons of a document."""
    if isinstance(node, ast.Attribute) and node.attr == "time":
        return (name_of(node.value) or "").endswith(("cohort", "patients"))
    if isinstance(node, ast.Call) and name_of(node.func) in {"get", "bool"} and node.args:
        first = node.args[0]
        return is_of_times(first) or (isinstance(first, ast.Constant) and first.value in KEYS)
    if isinstance(node, ast.Attribute) and name_of(node.value) in GIVEN:
        return False
    return name_of(node) in TIMES


def truths(node: ast.AST) -> Iterator[ast.AST]:
    """Values whose truth is tested; not the last of `x or default`."""
    if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
        yield node.test
    elif isinstance(node, ast.BoolOp):
        default = node.values[-1]
        is_default = isinstance(node.op, ast.Or) and isinstance(default, ast.Tuple | ast.List | ast.ListComp | ast.Dict)
        yield from () if is_default else node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.comprehension):
        yield from node.ifs
    elif isinstance(node, ast.Call) and name_of(node.func) == "bool":
        yield from node.args


def compares_a_kind(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    texts = {c.value for side in sides for c in ast.walk(side) if isinstance(c, ast.Constant)}
    if texts & MODES and any(name_of(side) != "modes" for side in sides[-1:]):
        return True
    if "binary" in texts:
        is_feature = isinstance(node.left, ast.Attribute) and name_of(node.left.value) == "feature"
        return not is_feature and name_of(node.comparators[0]) != "kinds"
    if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
        is_key = isinstance(node.left, ast.Constant) and node.left.value in COLUMNS
        return is_key or (name_of(node.left) == "mode" and name_of(node.comparators[0]) == "MODES")
    against_none = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
    return against_none and any(is_of_times(side) and isinstance(side, ast.Attribute) for side in sides)


def branches(source: str) -> list[int]:
    """Lines of the branches on the kind of outcome, one for each."""
    found: set[tuple[int, int]] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and name_of(node.func) in {"isinstance", "issubclass"}:
            hit: object = {name_of(each) for each in ast.walk(node.args[1])} & (CLASSES | SPECS)
        elif (
            isinstance(node, ast.Call) and name_of(node.func) == "get" and node.args and name_of(node.args[0]) == "mode"
        ):
            hit = True
        elif isinstance(node, ast.MatchClass):
            hit = {name_of(node.cls)} & (CLASSES | SPECS)
        elif isinstance(node, ast.Compare):
            hit = compares_a_kind(node)
        elif isinstance(node, ast.Subscript):
            hit = name_of(node.slice) in {"mode", "has_times"}
        else:
            hit = False
        found |= {(test.lineno, test.col_offset) for test in truths(node) if is_of_times(test)}
        if hit:
            found.add((node.lineno, node.col_offset))
    return sorted(line for line, _ in found)


def list_branches() -> Iterator[tuple[str, int]]:
    for package in (autoprog, api):
        for file in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if not path.startswith(OUTSIDE):
                yield from ((path, line) for line in branches(file.read_text(encoding="utf-8")))


def test_the_kind_of_outcome_decides_in_few_places() -> None:
    found = list(list_branches())
    allowed = {path: number for path, (number, _) in ALLOWED.items()}
    assert Counter(path for path, _ in found) == allowed, found
    assert sum(allowed.values()) <= MAX_BRANCHES


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(model.outcome, Visits)",
        "x = 1 if cohort.mode == 'survival' else 2",
        "if run.kind == 'binary': pass",
        "if not model.horizons: pass",
        "bool(model.horizons)",
        "if cohort.has_times: pass",
        "if cohort.time is not None: pass",
        "if cohort.time_to_event is None: pass",
        "risks = p if plan.times else q",
        "if document.get('horizons'): pass",
        "name = 'a' if 'column' in outcome else 'b'",
        "METRICS[cohort.mode]",
        "METRICS.get(cohort.mode)",
        "match outcome:\n    case Binary(): pass",
    ],
)
def test_a_branch_is_found(source: str) -> None:
    assert len(branches(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "for each in document.get('horizons') or (): pass",
        "if feature.kind == 'binary': pass",
        "if here.mode != wanted.mode: pass",
        "if cohort.visits is None: pass",
        "if options.time is None: pass",
    ],
)
def test_what_is_no_branch_is_not_found(source: str) -> None:
    assert branches(source) == []
