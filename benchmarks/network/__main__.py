"""What a network with a prior of clinical tables is worth beside what is fitted to small cohorts today.

    python -m benchmarks.network run --data FOLDER [--cohorts ...] [--models ...] [--folder RUNS]
    python -m benchmarks.network arrays --data FOLDER [--cohorts ...] [--folder RUNS]
    python -m benchmarks.network show [--model NAME] [--json] [--folder RUNS]
    python -m benchmarks.network marginals --data FOLDER
    python -m benchmarks.network added --data FOLDER [--opening RUNS]

A run asks every model for the risks of every patient by fits to the others (three seeds of five folds) and keeps one
file for each model, cohort and seed; what is there is not fitted again. A further model is NAME=MODULE:CLASS, imported
when it is asked: with `fit(X, y)` and `predict_proba(X)` it takes the binary cohorts, with `fit(X, y)` and
`cumulative_incidence(X, times)`, y of dtype `EVENT_TIMES`, those with event times. X are floats, one column per number
and one per level of a category, NaN for missing. `show` lays the named model beside its rivals.

`marginals` compares the tables that the network was trained on with the cohorts: 10th, 50th and 90th percentile over
tables. `added` asks the network for the splits that `benchmarks/opening` kept, and prints what the opening's list gains
by it. `arrays` writes the cohorts and their folds for a model that runs where these libraries are not: its risks go to
MODEL/COHORT-SEED.npz beside the others, with the arrays of `tasks.Answer`.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

_HERE = Path(__file__).parent


def _run(arguments: argparse.Namespace) -> None:
    from benchmarks.network.models import MODELS, imported  # noqa: PLC0415  learning libraries
    from benchmarks.network.tasks import COHORTS, SEEDS, load  # noqa: PLC0415

    warnings.filterwarnings("ignore")
    models = {name: MODELS.get(name) or imported(name) for name in arguments.models or MODELS}
    for name in arguments.cohorts or COHORTS:
        task = load(name, arguments.data)
        for model, says in models.items():
            for seed in SEEDS if says.takes(task.cohort) else ():
                path = arguments.folder / model.partition("=")[0] / f"{name}-{seed}.npz"
                if not path.exists():
                    answer = task.ask(says, seed)
                    answer.save(path)
                    print(f"{name} {seed} {path.parent.name}: {answer.seconds.sum():.1f} s", flush=True)


def _arrays(arguments: argparse.Namespace) -> None:
    import numpy as np  # noqa: PLC0415

    from benchmarks.network.tasks import COHORTS, load  # noqa: PLC0415  learning libraries

    warnings.filterwarnings("ignore")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.cohorts or COHORTS:
        arrays: dict[str, Any] = load(name, arguments.data).arrays()
        np.savez_compressed(arguments.folder / f"{name}.npz", **arrays)


def _show(arguments: argparse.Namespace) -> None:
    from benchmarks.network.figures import as_text, figures, read  # noqa: PLC0415  learning libraries

    found = figures(read(arguments.folder), arguments.model)
    print(json.dumps(found, indent=1) if arguments.json else as_text(found))


def _marginals(arguments: argparse.Namespace) -> None:
    from benchmarks.network.marginals import marginals  # noqa: PLC0415  learning libraries

    warnings.filterwarnings("ignore")
    print(json.dumps(marginals(arguments.data), indent=1))


def _added(arguments: argparse.Namespace) -> None:
    from benchmarks.network.added import added  # noqa: PLC0415  learning libraries

    warnings.filterwarnings("ignore")
    print(json.dumps(added(arguments.opening, arguments.data), indent=1))


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="benchmarks.network", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="fit what has not been fitted")
    run.add_argument("--models", nargs="+", metavar="MODEL", help="a rival, or NAME=MODULE:CLASS; every rival if none")
    run.set_defaults(run=_run)
    arrays = commands.add_parser("arrays", help="write the cohorts and their folds as plain arrays")
    arrays.set_defaults(run=_arrays)
    prior = commands.add_parser("marginals", help="print what synthetic tables have in common with the cohorts")
    prior.set_defaults(run=_marginals)
    more = commands.add_parser("added", help="print what the network adds to the opening's list")
    more.add_argument("--opening", type=Path, metavar="RUNS", default=_HERE.parent / "opening" / "runs")
    more.set_defaults(run=_added)
    for command in (run, arrays, prior, more):
        command.add_argument("--data", type=Path, required=True, help="folder of the cohorts' files")
    for command in (run, arrays):
        command.add_argument("--cohorts", nargs="+", metavar="COHORT")
    show = commands.add_parser("show", help="print the figures of what was fitted")
    show.add_argument("--model", metavar="NAME", default="prior_network", help="compared with the others")
    show.add_argument("--json", action="store_true", help="print them as JSON")
    show.set_defaults(run=_show)
    for command in (run, arrays, show):
        command.add_argument("--folder", type=Path, default=_HERE / "runs")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
