"""Whole searches on large cohorts beside LightGBM tuned for an hour: AUC of 100,000 patients that neither has seen.

    python -m benchmarks.large_search run [--patients 100000 500000] [--budget 300] [--rival-s 3600]
    python -m benchmarks.large_search                      what has been run

Simulated patients with 50 columns, numbers, yes and no, categories, 5 % of the cells missing; see `simulated_cohort`.
The rival draws settings at random, learns from four fifths of the patients, stops by the others, takes the best of all
that it has drawn when its hour of both cores is over, counted in processor seconds, and is fitted to all patients. What
it has tried is kept in `results/large_search`, from which a run that was stopped goes on. Bars: the model within .002
of it, 300 s, 8 GiB in all processes together (of the private and shared memory of each, so that what they share counts
twice).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

HERE = Path(__file__).resolve().parent
ROWS = HERE / "results" / "large_search.jsonl"
TRIED = HERE / "results" / "large_search"
TEST, SEED = 100_000, 1
_GIB = 2**30


def tables(n: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]:
    """Patients to learn from and others, with their outcomes."""
    from benchmarks.simulated_cohort import OUTCOME, simulated_table  # noqa: PLC0415

    frame = simulated_table(n + TEST, SEED)
    y = frame.pop(OUTCOME).to_numpy()
    return frame[:n], y[:n], frame[n:], y[n:]


def measured(y: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """AUC, Brier score, log loss."""
    return {
        "auc": round(float(roc_auc_score(y, p)), 5),
        "brier": round(float(brier_score_loss(y, p)), 6),
        "log_loss": round(float(log_loss(y, p)), 5),
    }


def autoprog(n: int, budget: float) -> dict[str, Any]:
    """One `fit`."""
    from autoprog import AutoPrognosis  # noqa: PLC0415

    X, y, new, new_y = tables(n)
    peak = _Peak()
    start = time.perf_counter()
    model = AutoPrognosis(time_budget_s=budget, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    members = [
        [round(m["weight"], 3), m["configuration"]["prediction"]["algorithm"]] for m in model.ensemble_["members"]
    ]
    return {
        "seconds": round(seconds, 1),
        "peak_gib": round(peak.end() / _GIB, 2),
        "members": members,
        "warnings": list(model.warnings_),
        **measured(new_y, model.predict_proba(new)[:, 1]),
    }


class _Peak:
    """The most memory of this process and its descendants, looked at every second."""

    def __init__(self) -> None:
        self._most = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> int:
        self._ended.set()
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        while not self._ended.wait(1.0):
            processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
            total = 0
            for process in processes:
                try:
                    total += process.memory_info().rss
                except psutil.Error:
                    continue
            self._most = max(self._most, total)


def draw(rng: np.random.Generator) -> dict[str, Any]:
    """Settings of LightGBM at random."""
    return {
        "learning_rate": float(np.exp(rng.uniform(np.log(0.02), np.log(0.2)))),
        "num_leaves": int(np.exp(rng.uniform(np.log(4), np.log(128)))),
        "min_child_samples": int(np.exp(rng.uniform(np.log(10), np.log(500)))),
        "reg_lambda": float(np.exp(rng.uniform(np.log(1e-3), np.log(50)))),
        "colsample_bytree": float(rng.uniform(0.3, 1.0)),
        "subsample": float(rng.uniform(0.5, 1.0)),
        "subsample_freq": 1,
        "extra_trees": bool(rng.random() < 0.3),
    }


def rival(n: int, seconds: float) -> dict[str, Any]:
    """LightGBM on both cores at the best of random settings; goes on from the settings that were tried before."""
    from lightgbm import LGBMClassifier, early_stopping  # noqa: PLC0415

    X, y, new, new_y = tables(n)
    cut = n * 4 // 5
    rng = np.random.default_rng(SEED)
    file = TRIED / f"{n}.jsonl"
    tried = rows_of(file)
    drawn = [draw(rng) for _ in tried]
    spent = sum(row["processor_s"] for row in tried)
    while spent < 2 * seconds:
        drawn.append(draw(rng))
        start = time.process_time()
        model = LGBMClassifier(n_estimators=3000, n_jobs=2, verbosity=-1, **drawn[-1])
        model.fit(
            X[:cut], y[:cut],
            eval_X=(X[cut:],), eval_y=(y[cut:],), eval_metric="auc", callbacks=[early_stopping(50, verbose=False)],
        )  # fmt: skip
        auc = float(roc_auc_score(y[cut:], model.predict_proba(X[cut:])[:, 1]))
        taken = time.process_time() - start
        spent += taken
        tried.append({"auc": round(auc, 5), "trees": model.best_iteration_, "processor_s": round(taken, 1)})
        append(file, tried[-1])
    best = max(range(len(tried)), key=lambda i: tried[i]["auc"])
    settings = {**drawn[best], "n_estimators": tried[best]["trees"]}
    final = LGBMClassifier(n_jobs=2, verbosity=-1, **settings).fit(X, y)
    told = {"processor_s": round(spent), "tried": len(tried), "settings": settings}
    return {**told, **measured(new_y, final.predict_proba(new)[:, 1])}


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Rows of a file that may not exist yet."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def append(file: Path, row: dict[str, Any]) -> None:
    """Add a row to a file."""
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as lines:
        lines.write(json.dumps(row) + "\n")


def main() -> None:
    """Run what is missing, or show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["run", "one", "show"], default="show")
    parser.add_argument("--patients", type=int, nargs="+", default=[100_000, 500_000])
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--rival-s", type=float, default=3600.0)
    parser.add_argument("--peers", nargs="+", default=["autoprog", "rival"])
    asked = parser.parse_args()
    if asked.what == "one":  # in a process of its own
        (n,), (peer,) = asked.patients, asked.peers
        print("RESULT " + json.dumps(autoprog(n, asked.budget) if peer == "autoprog" else rival(n, asked.rival_s)))
        return
    rows = rows_of(ROWS)
    if asked.what == "run":
        for n in asked.patients:
            for peer in asked.peers:
                if any((row["patients"], row["peer"]) == (n, peer) for row in rows):
                    continue
                command = [sys.executable, "-m", "benchmarks.large_search", "one", "--patients", str(n)]
                command += ["--peers", peer, "--budget", str(asked.budget), "--rival-s", str(asked.rival_s)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                told = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
                rows.append({"patients": n, "peer": peer, **json.loads(told[7:])})
                append(ROWS, rows[-1])
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
