"""A minute beside its peers: the same cohorts, the same splits, the same seconds.

    python -m benchmarks.minute setup --envs FOLDER            environments of the peers, some gigabytes
    python -m benchmarks.minute run --envs FOLDER --data FOLDER [--budget 60] [--seeds 0] [--peers ...] [--cohorts ...]
    python -m benchmarks.minute run --events --data FOLDER [...]        cohorts of event times
    python -m benchmarks.minute [show]

A run is (peer, cohort, seed, budget): 70 % of the patients to learn from, stratified, the others to be measured by AUC,
Brier score and log loss; of event times Uno's concordance and the integrated Brier score. `opening` and `search` are
autoprog with the one and with the other alone, `ensemble_aim` looks for what the ensemble gains by, and `earlier` is
another version, checked out in the folder that `--earlier` names. Every peer runs alone, in a process of its own, for
as many seconds as it is given; nothing else should run meanwhile. What the shards hold is not run again.
Cohorts are those of `datasets.csv` in the data folder;
`flchain@1825` is a cohort of event times as a binary one: the event by day 1825, whoever was censored before left out.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.minute.ranks import table

HERE = Path(__file__).resolve().parent
SHARDS = HERE / "shards"
COHORTS = (
    "birthwt",
    "hepatitis",
    "heart_uci4",
    "ilpd",
    "pima_missing",
    "framingham_chd",
    "nhefs_death",
    "stroke",
    "diabetes_readmit_5k",
    "monica",
    "thyroid",
    "flchain@1825",
    "spambase",
    "covertype10k",
    "a8a",
)
PEERS = {
    "autogluon": "autogluon",
    "flaml": "flaml",
    "logistic": "flaml",
    "autoprog": None,
    "opening": None,
    "search": None,
    "ensemble_aim": None,
    "earlier": None,
}
EVENT_COHORTS = ("gbsg2", "metabric", "flchain", "colon", "aids2", "dialysis", "framingham_cr", "pbc_cr", "mgus2")
COMPETING = frozenset({"framingham_cr", "pbc_cr", "mgus2"})
EVENT_PEERS = ("autoprog", "ridge_cox", "survival_forest", "boosted_cox", "fine_gray", "earlier")
PACKAGES = {
    "autogluon": (("torch==2.13.0",), ("autogluon.tabular[lightgbm,xgboost,catboost]==1.6.*",)),
    "flaml": (("flaml[automl]>=2.7,<3",),),
}


def set_up(envs: Path) -> None:
    for name, steps in PACKAGES.items():
        python = envs / name / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(envs / name)], check=True)
        for packages in steps:
            subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)


def shard(asked: argparse.Namespace) -> Path:
    return SHARDS / f"{asked.named or ('events' if asked.events else 'binary')}-{asked.budget:g}.jsonl"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_one(peer: str, cohort: str, seed: int, asked: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own."""
    environ = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    if peer == "earlier":
        environ["PYTHONPATH"] = str(asked.earlier)
    environment = None if asked.events else PEERS[peer]
    python = sys.executable if environment is None else str(asked.envs / environment / "bin" / "python")
    with tempfile.TemporaryDirectory() as folder:
        risks = Path(folder) / "risks.npz"
        script, more = ("event_peer.py", [str(risks)]) if asked.events else ("peer.py", [])
        command = [python, str(HERE / script), peer, cohort, str(seed), str(asked.budget), str(asked.data), *more]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=4 * asked.budget + 120, env=environ, check=False
            )
            told = _told(done, cohort, seed, asked, risks)
        except subprocess.TimeoutExpired:
            told = {"failed": "took more than four times its budget"}
    return {"peer": peer, "cohort": cohort, "seed": seed, "budget": asked.budget, **told}


def _told(
    done: subprocess.CompletedProcess[str], cohort: str, seed: int, asked: argparse.Namespace, risks: Path
) -> dict[str, Any]:
    if risks.exists():
        import numpy as np  # noqa: PLC0415  only for event times

        from benchmarks.minute.event_scores import scores  # noqa: PLC0415

        with np.load(risks) as file:
            return {"seconds": round(float(file["seconds"]), 1), **scores(cohort, seed, asked.data, file["risks"])}
    line = next((text for text in done.stdout.splitlines() if text.startswith("RESULT ")), None)
    if line is None:
        why = (done.stderr.strip().splitlines() or ["no result"])[-1][:300]
        return {"failed": why, "said": (done.stdout + done.stderr)[-4000:]}
    told: dict[str, Any] = json.loads(line[7:])
    return told


def run(asked: argparse.Namespace) -> None:
    path = shard(asked)
    done = {(row["peer"], row["cohort"], row["seed"]) for row in rows_of(path)}
    for seed in asked.seeds:
        for cohort in asked.cohorts:
            for peer in asked.peers:
                if (peer, cohort, seed) in done or (peer == "fine_gray" and cohort not in COMPETING):
                    continue
                row = run_one(peer, cohort, seed, asked)
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(json.dumps(row), file=sys.stderr, flush=True)


def shown(path: Path) -> dict[str, Any]:
    """The tables of a file of shards; of event times one without the peer for competing causes, and one of those."""
    rows = rows_of(path)
    if not path.stem.startswith("events"):
        return table(rows)
    competing = table([row for row in rows if row["cohort"] in COMPETING])
    return {"all": table([row for row in rows if row["peer"] != "fine_gray"]), "competing": competing}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["setup", "run", "show"], default="show")
    parser.add_argument("--envs", type=Path, default=Path("build/peers"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--earlier", type=Path, help="folder of another version")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--events", action="store_true", help="cohorts of event times")
    parser.add_argument("--peers", nargs="+", help="default: all but those of autoprog's parts and versions")
    parser.add_argument("--cohorts", nargs="+")
    parser.add_argument(
        "--named", help="name of the runs' file, on all cohorts of --data; `unseen` has those of `unseen.py`"
    )
    asked = parser.parse_args()
    usual = EVENT_PEERS[:-1] if asked.events else ("autoprog", "autogluon", "flaml", "logistic")
    asked.peers = asked.peers or usual
    everything = EVENT_COHORTS if asked.events else COHORTS
    if asked.named and asked.data is not None:
        with (asked.data / "datasets.csv").open(newline="") as file:
            everything = tuple(row["name"] for row in csv.DictReader(file))
    asked.cohorts = asked.cohorts or everything
    if unknown := set(asked.peers) - set(EVENT_PEERS if asked.events else PEERS):
        parser.error(f"unknown peers: {', '.join(sorted(unknown))}")
    if asked.what == "setup":
        set_up(asked.envs)
        return
    if asked.what == "run":
        if asked.data is None:
            parser.error("--data names the folder of the cohorts")
        if "earlier" in asked.peers and asked.earlier is None:
            parser.error("--earlier names the folder of the other version")
        run(asked)
    print(json.dumps({path.stem: shown(path) for path in sorted(SHARDS.glob("*.jsonl"))}, indent=2))


if __name__ == "__main__":
    main()
