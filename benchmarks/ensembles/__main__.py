"""How good the delivered ensembles are, and whether what a search says of them is true.

    python -m benchmarks.ensembles                              figures of the shards that are there
    python -m benchmarks.ensembles outer --data FOLDER          ten real cohorts, 2 x 5 outer folds, searches of 30 s
    python -m benchmarks.ensembles events --data FOLDER         twelve cohorts with event times, the same
    python -m benchmarks.ensembles ablation --data FOLDER       what the parts of a search are worth, 16 cohorts, 20 s
    python -m benchmarks.ensembles coverage                     200 simulated cohorts, searches of 10 s
    python -m benchmarks.ensembles patients                     20 of these, 9 with event times, searches of 30 s
    python -m benchmarks.ensembles equivalence                  60 others: intervals beside plain bootstrap intervals

All can be killed and started again: what is done is not done anew. `--slice N` makes a small part of short searches,
apart from the rest: what CI runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog

_HERE = Path(__file__).parent
_SHARDS = _HERE / "shards"
_SLICE_TIME_S = 10.0


def _outer(arguments: argparse.Namespace) -> None:
    from benchmarks.ensembles.outer import COHORTS, FOLDS, REPEATS, TIME_S, run, shards  # noqa: PLC0415  learning libraries

    asked = shards(tuple(arguments.cohorts or COHORTS), REPEATS * FOLDS)
    if arguments.slice:
        run(asked[: arguments.slice], arguments.data, arguments.shards / "slice-outer", _SLICE_TIME_S, arguments.slots)
    else:
        run(asked, arguments.data, arguments.shards / "outer", TIME_S, arguments.slots)


def _events(arguments: argparse.Namespace) -> None:
    from benchmarks.ensembles.events import COHORTS, TIME_S, run, shards  # noqa: PLC0415  learning libraries

    asked = shards(tuple(arguments.cohorts or COHORTS))
    if arguments.slice:
        path = arguments.shards / "slice-events.jsonl"
        run(asked[: arguments.slice], arguments.data, path, _SLICE_TIME_S, arguments.slots)
    else:
        run(asked, arguments.data, arguments.shards / "events.jsonl", TIME_S, arguments.slots)


def _ablation(arguments: argparse.Namespace) -> None:
    from benchmarks.ensembles.ablation import COHORTS, EVENT_COHORTS, TIME_S, run, shards  # noqa: PLC0415  learning libraries

    asked = shards(tuple(arguments.cohorts or (*COHORTS, *EVENT_COHORTS)))
    if arguments.slice:
        path = arguments.shards / "slice-ablation.jsonl"
        run(asked[: arguments.slice], arguments.data, path, _SLICE_TIME_S, arguments.slots)
    else:
        run(asked, arguments.data, arguments.shards / "ablation.jsonl", TIME_S, arguments.slots)


def _coverage(arguments: argparse.Namespace) -> None:
    from benchmarks.ensembles.coverage import COHORTS, TIME_S, run  # noqa: PLC0415  learning libraries

    if arguments.slice:
        path = arguments.shards / "slice-coverage.jsonl"
        run(path, range(arguments.slice), _SLICE_TIME_S, arguments.slots)
    else:
        run(arguments.shards / "coverage.jsonl", range(COHORTS), TIME_S, arguments.slots)


def _patients(arguments: argparse.Namespace) -> None:
    from benchmarks.ensembles.coverage import EVENT_COHORTS, PATIENT_COHORTS, PATIENT_TIME_S, run  # noqa: PLC0415  learning libraries

    if arguments.slice:
        path = arguments.shards / "slice-coverage-events.jsonl"
        run(path, range(arguments.slice), _SLICE_TIME_S, arguments.slots, event_times=True)
    else:
        run(arguments.shards / "coverage-30.jsonl", range(PATIENT_COHORTS), PATIENT_TIME_S, arguments.slots)
        path = arguments.shards / "coverage-events-30.jsonl"
        run(path, range(EVENT_COHORTS), PATIENT_TIME_S, arguments.slots, event_times=True)


def _equivalence(arguments: argparse.Namespace) -> None:
    from benchmarks.ensembles.equivalence import COHORTS, run  # noqa: PLC0415  learning libraries

    name = "slice-equivalence.jsonl" if arguments.slice else "equivalence.jsonl"
    run(arguments.shards / name, range(arguments.slice or COHORTS))


def _figures(arguments: argparse.Namespace) -> None:
    from benchmarks.ensembles import ablation, equivalence, events, outer  # noqa: PLC0415  learning libraries
    from benchmarks.ensembles.coverage_figures import coverage_figures, withheld_figures  # noqa: PLC0415
    from benchmarks.ensembles.lines import read  # noqa: PLC0415
    from benchmarks.ensembles.outer_figures import outer_figures  # noqa: PLC0415

    part = "slice-" if arguments.slice else ""
    rows = read(arguments.shards / f"{part}equivalence.jsonl")
    before, afterwards = (
        [row for row in rows if (row["number"] < equivalence.CHOSEN_BY) is early] for early in (True, False)
    )
    document: dict[str, Any] = {
        "outer": outer_figures(outer.read(arguments.shards / f"{part}outer")),
        "events": events.event_figures(read(arguments.shards / f"{part}events.jsonl")),
        "ablation": ablation.ablation_figures(read(arguments.shards / f"{part}ablation.jsonl")),
        "coverage": coverage_figures(read(arguments.shards / f"{part}coverage.jsonl")),
        "patients": {
            name: withheld_figures(read(arguments.shards / f"{file}.jsonl"))
            for name, file in (("binary", "coverage-30"), ("event_times", "coverage-events-30"))
        },
        "equivalence": {
            "chosen_by": equivalence.equivalence_figures(before),
            "drawn_afterwards": equivalence.equivalence_figures(afterwards),
        },
        "versions": {name: version(name) for name in ("autoprog", "lightgbm", "numpy", "scikit-learn")},
    }
    print(json.dumps(document, indent=2))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.ensembles", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    outer = commands.add_parser("outer", help="outer cross-validation on real cohorts")
    outer.add_argument("--data", type=Path, required=True, help="folder of the cohorts' files")
    outer.add_argument("--cohorts", nargs="+", metavar="COHORT", help="keys of the optimizers' table; default: ten")
    outer.set_defaults(run=_outer)
    events = commands.add_parser("events", help="outer cross-validation on cohorts with event times")
    events.add_argument("--data", type=Path, required=True, help="folder of the cohorts' files")
    events.add_argument("--cohorts", nargs="+", metavar="COHORT", help="default: twelve")
    events.set_defaults(run=_events)
    ablation = commands.add_parser("ablation", help="what the parts of a search are worth, beside rivals")
    ablation.add_argument("--data", type=Path, required=True, help="folder of the cohorts' files")
    ablation.add_argument("--cohorts", nargs="+", metavar="COHORT", help="default: sixteen")
    ablation.set_defaults(run=_ablation)
    coverage = commands.add_parser("coverage", help="simulated cohorts")
    coverage.set_defaults(run=_coverage)
    patients = commands.add_parser("patients", help="intervals of patients' risks, by what is withheld of them")
    patients.set_defaults(run=_patients)
    for command in (outer, events, ablation, coverage, patients):
        command.add_argument("--slots", type=int, default=2, help="fits at once")
    equivalence = commands.add_parser("equivalence", help="intervals beside plain bootstrap intervals")
    equivalence.set_defaults(run=_equivalence)
    parser.set_defaults(run=_figures)
    figures = commands.add_parser("figures", help="print the figures, as without a command")
    figures.set_defaults(run=_figures)
    for command in (parser, outer, events, ablation, coverage, patients, equivalence, figures):
        command.add_argument("--shards", type=Path, default=_SHARDS, help="folder of what is done")
        command.add_argument("--slice", type=int, default=0, metavar="N", help="only so many shards, of short searches")
    return parser


def main() -> None:
    """Run one of the commands."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # standard output is the figures'
    arguments = _parser().parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
