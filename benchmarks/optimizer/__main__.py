"""How many evaluations the optimizer needs, beside its rivals.

    python -m benchmarks.optimizer surrogates                 fit both surrogates to each pool
    python -m benchmarks.optimizer runs --table shared        all methods on all landscapes (hours)
    python -m benchmarks.optimizer live --data FOLDER         the same on real evaluations (hours)
    python -m benchmarks.optimizer replays                    the same among the pools' evaluations
    python -m benchmarks.optimizer lessons                    what cohorts teach, without a search
    python -m benchmarks.optimizer                            print the figures of what was run
    python -m benchmarks.optimizer keep                       move what was run into the tables of the repository

The pools are those of `training.prior`. Each command goes on where it was broken off, by files under `kept` that Git
ignores. Figures come from these and from the tables beside them, as JSON; the same in Markdown is written to
`benchmarks/results/optimizer.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from benchmarks.optimizer.landscape import SURROGATES, landscape
from benchmarks.optimizer.methods import METHODS, REPLAYED, distinct_when_shared
from benchmarks.optimizer.shards import LIVE, REPLAYS, SHARDS, keep
from training.prior import pools
from training.prior.cohorts import COHORTS

_RESULTS = Path(__file__).parents[1] / "results"
_LIVE_METHODS = ("default", "fixed_families", "random_decompositions", "tpe", "smac", "random")


def _lessons(arguments: argparse.Namespace) -> None:
    from benchmarks.optimizer.lessons import lessons  # noqa: PLC0415  learning libraries

    document = lessons(arguments.pools)
    arguments.shards.mkdir(parents=True, exist_ok=True)
    (arguments.shards / "lessons.json").write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["weights"]["means"] | {"outlook": document["outlook"]}, indent=2))


def _surrogates(arguments: argparse.Namespace) -> None:
    import torch  # noqa: PLC0415  `pools` evaluates in processes that must not inherit it
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    torch.set_num_threads(1)
    rows = []
    with threadpool_limits(1):
        for name in _chosen(arguments):
            for surrogate in SURROGATES:
                fitted = landscape(pools.read(name, arguments.pools), surrogate)
                rows.append(
                    {
                        "cohort": name,
                        "surrogate": surrogate,
                        "pool": fitted.n_pool,
                        "failed": fitted.n_failed,
                        "rank correlation": round(fitted.correlation, 3),
                        "in the upper half": round(fitted.upper_correlation, 3),
                        "median": round(fitted.median, 4),
                        "best": round(fitted.best, 4),
                        "used": "yes" if fitted.is_faithful else "no",
                    }
                )
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    arguments.shards.mkdir(parents=True, exist_ok=True)
    (arguments.shards / "surrogates.json").write_text(json.dumps(rows, indent=1) + "\n")


def _chosen(arguments: argparse.Namespace) -> list[str]:
    """The cohorts that were asked for, or all that have a pool."""
    return [name for name in pools.names(arguments.pools) if arguments.cohorts is None or name in arguments.cohorts]


def _runs(arguments: argparse.Namespace) -> None:
    from benchmarks.optimizer.runs import Task, execute_all  # noqa: PLC0415  learning libraries

    tasks = [
        Task(
            arguments.table,
            arguments.batch,
            cohort,
            surrogate,
            method,
            tuple(range(min(arguments.seeds, METHODS[method].seeds or arguments.seeds))),
            min(arguments.budget, METHODS[method].budget or arguments.budget),
            arguments.pools,
            arguments.shards,
            arguments.redo_outdated,
        )
        # Methods innermost: what is there when it is broken off compares, and a worker goes on with its landscape.
        for cohort in _chosen(arguments)
        for surrogate in arguments.surrogates
        for method in (arguments.methods if arguments.table == "own" else distinct_when_shared(arguments.methods))
    ]
    execute_all(tasks, arguments.workers)


def _live(arguments: argparse.Namespace) -> None:
    from benchmarks.optimizer.live import LivePlan, make  # noqa: PLC0415  learning libraries

    plan = LivePlan(
        tuple(arguments.methods),
        tuple(range(arguments.seeds)),
        arguments.budget,
        arguments.batch,
        arguments.table,
        arguments.data,
        arguments.pools,
        arguments.live,
        arguments.redo_outdated,
    )
    make(arguments.cohorts, plan)


def _replays(arguments: argparse.Namespace) -> None:
    from benchmarks.optimizer.replay import ReplayPlan, make  # noqa: PLC0415  learning libraries

    methods, seeds = tuple(arguments.methods), tuple(range(arguments.seeds))
    plan = ReplayPlan(methods, seeds, arguments.budget, arguments.pools, arguments.replays, arguments.workers)
    make(_chosen(arguments), plan)


def _figures(arguments: argparse.Namespace) -> None:
    from benchmarks.optimizer.figures import figures  # noqa: PLC0415  learning libraries
    from benchmarks.optimizer.tables import markdown  # noqa: PLC0415

    document = figures(arguments.shards, arguments.live, arguments.replays)
    arguments.markdown.write_text(markdown(document))
    print(json.dumps(document, indent=2))


def _keep(arguments: argparse.Namespace) -> None:
    # Of real evaluations the figures take every score.
    for folder, thin in ((arguments.shards, True), (arguments.live, False), (arguments.replays, False)):
        print(f"{folder.name}: {keep(folder, thin=thin)} runs", file=sys.stderr)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pools", type=Path, default=pools.POOLS, help="folder of the pools")
    parser.add_argument("--shards", type=Path, default=SHARDS, help="folder of the runs on surrogates")
    parser.add_argument("--live", type=Path, default=LIVE, help="folder of the runs on real evaluations")
    parser.add_argument("--replays", type=Path, default=REPLAYS, help="folder of the runs among the pools' evaluations")


def _searches(parser: argparse.ArgumentParser, methods: list[str], budget: int, seeds: int) -> None:
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=methods, metavar="METHOD")
    parser.add_argument("--budget", type=int, default=budget, help="evaluations of a run")
    parser.add_argument("--seeds", type=int, default=seeds, help="runs of a method on a landscape")
    parser.add_argument("--batch", type=int, default=1, help="configurations proposed at once")
    parser.add_argument("--redo-outdated", action="store_true", help="run anew what another version of a method ran")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimizer", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command")

    lessons = commands.add_parser("lessons", help="judge what cohorts teach each other, without a search")
    lessons.set_defaults(run=_lessons)

    surrogates = commands.add_parser("surrogates", help="fit what stands for evaluations")
    surrogates.add_argument("--cohorts", nargs="+", metavar="COHORT")
    surrogates.set_defaults(run=_surrogates)

    runs = commands.add_parser("runs", help="run the methods on the surrogates")
    runs.add_argument("--cohorts", nargs="+", metavar="COHORT")
    runs.add_argument("--surrogates", nargs="+", choices=SURROGATES, default=list(SURROGATES))
    runs.add_argument("--table", choices=("shared", "own"), default="shared", help="the first design")
    runs.add_argument("--workers", type=int, default=2, help="processes")
    _searches(runs, list(METHODS), 100, 10)
    runs.set_defaults(run=_runs)

    live = commands.add_parser("live", help="run methods on real evaluations")
    live.add_argument("--data", type=Path, required=True, help="folder of the cohorts' files")
    live.add_argument("--cohorts", nargs="+", choices=COHORTS, default=list(COHORTS), metavar="COHORT")
    live.add_argument("--table", choices=("shared", "own"), default="own", help="the first design")
    _searches(live, list(_LIVE_METHODS), 50, 3)
    live.set_defaults(run=_live)

    replays = commands.add_parser("replays", help="run methods among the evaluations of the pools")
    replays.add_argument("--cohorts", nargs="+", metavar="COHORT")
    replays.add_argument("--methods", nargs="+", choices=REPLAYED, default=list(REPLAYED), metavar="METHOD")
    replays.add_argument("--seeds", type=int, default=10, help="runs of a method on a pool")
    replays.add_argument("--budget", type=int, default=50, help="evaluations of a run")
    replays.add_argument("--workers", type=int, default=2, help="processes")
    replays.set_defaults(run=_replays)

    kept = commands.add_parser("keep", help="move what was run into the tables of the repository")
    kept.set_defaults(run=_keep)

    figures = commands.add_parser("figures", help="print the figures, as without a command")
    for command in (parser, figures):
        command.add_argument("--markdown", type=Path, default=_RESULTS / "optimizer.md", help="where the tables go")
        command.set_defaults(run=_figures)
    for command in (parser, lessons, surrogates, runs, live, replays, kept, figures):
        _common(command)
    return parser


def main() -> None:
    """Run one of the commands."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        # SMAC walks over sets of texts: only with the same hashes does its seed give the same run.
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})  # noqa: S606
    arguments = _parser().parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
