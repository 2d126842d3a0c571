"""Runs as they are kept: a shard is a method on a landscape with all its seeds.

A run writes a file per shard, whole or not at all, which Git ignores; `keep` moves the shards of a set into its one
Parquet table, which the repository holds.

Columns of a run, one number an evaluation: `truth` (null for a failure), `observed` (null), `seconds` that the
evaluation was said to take, `proposer_s`. `picks` holds the number of the evaluation with the best posterior mean
after so many evaluations; `digest` is of the proposals in their order. Runs on real evaluations have no truth; `outer`
is the score, on patients that the search never saw, of what it would have delivered after so many evaluations.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

KEPT = Path(__file__).parent / "kept"
SHARDS, LIVE, REPLAYS = KEPT / "surrogates", KEPT / "live", KEPT / "replays"
TABLE = "runs.parquet"

# Evaluations whose proposals' mean seconds are reported.
PROPOSER_RANGES = ((10, 25), (25, 50), (50, 100), (100, 200))


@dataclass(frozen=True)
class Run:
    """One run of one method."""

    seed: int
    budget: int
    digest: str
    observed: list[float | None]
    truth: list[float | None]
    seconds: list[float]
    proposer_s: list[float]
    statuses: dict[str, int]
    picks: dict[str, int | None] = field(default_factory=dict)
    outer: dict[str, float | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.observed)

    def incumbents(self) -> NDArray[np.int64]:
        """Number of the best observed evaluation after each, from 0; -1 before the first success."""
        best, numbers = -np.inf, []
        number = -1
        for i, score in enumerate(self.observed):
            if score is not None and score > best:
                best, number = score, i
            numbers.append(number)
        return np.array(numbers, dtype=np.int64)

    def pick_at(self, evaluations: int) -> int:
        """Number of the posterior-mean pick after so many; the best observed where the method has none."""
        picked = self.picks.get(str(evaluations))
        return int(self.incumbents()[min(evaluations, len(self)) - 1]) if picked is None else picked

    def has_pick_at(self, evaluations: int) -> bool:
        """Whether `pick_at` tells what it would have delivered after so many; not where its pick was not recorded."""
        is_without = all(number is None for number in self.picks.values())
        return is_without or str(evaluations) in self.picks or evaluations > len(self)

    def is_repeated_by(self, other: Run) -> bool:
        """Whether another run with this seed, as long or longer, began with the same picks and the answers kept."""
        has_picks = self.picks.items() <= other.picks.items()
        known = [i for i, score in enumerate(self.observed) if score is not None]
        return len(other) >= len(self) and has_picks and all(self.observed[i] == other.observed[i] for i in known)

    def truth_of(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """f of evaluations; NaN for -1."""
        truth = np.array([*(np.nan if t is None else t for t in self.truth), np.nan])
        return truth[np.asarray(numbers)]

    def thinned(self) -> Run:
        """With what the figures take from it alone, so that it is small: they are the same.

        Scores are those of the incumbents, truths also of the picks and of the best. Seconds are added up until the
        next incumbent; the proposer's are the means of the ranges that are reported.
        """
        incumbents = set(self.incumbents().tolist()) - {-1}
        told = {i: t for i, t in enumerate(self.truth) if t is not None}
        wanted = incumbents | {number for number in self.picks.values() if number is not None}
        wanted |= {max(told, key=lambda i: told[i])} if told else set()
        seconds, waiting = [], 0.0
        for i, each in enumerate(self.seconds):
            waiting += each
            seconds.append(round(waiting, 3) if i in incumbents else 0.0)
            waiting = 0.0 if i in incumbents else waiting
        proposer_s = np.zeros(len(self))
        for low, high in PROPOSER_RANGES:
            if low < len(self):
                proposer_s[low:high] = round(float(np.mean(self.proposer_s[low:high])), 5)
        return replace(
            self,
            observed=[s if i in incumbents else None for i, s in enumerate(self.observed)],
            truth=[t if i in wanted else None for i, t in enumerate(self.truth)],
            seconds=seconds,
            proposer_s=proposer_s.tolist(),
        )


@dataclass(frozen=True)
class Shard:
    """All runs of one method on one landscape, whose median and best f, and mean seconds of a draw, go with them.

    Of real evaluations a shard is of one split of the cohort's patients, and has neither.
    """

    table: str
    batch: int
    cohort: str
    surrogate: str
    method: str
    fingerprint: str
    method_fingerprint: str
    median: float | None
    best: float | None
    mean_seconds: float | None
    runs: tuple[Run, ...] = ()

    def path(self, folder: Path) -> Path:
        """Where it is kept."""
        return folder / f"{self.table}-b{self.batch}" / f"{self.cohort}-{self.surrogate}" / f"{self.method}.json.gz"

    @property
    def key(self) -> tuple[str, int, str, str, str]:
        """What tells it from others of its set."""
        return self.table, self.batch, self.cohort, self.surrogate, self.method

    def kept(self, folder: Path) -> Shard | None:
        """What a folder holds under this key: a file of its own, or rows of the table; None where it has neither."""
        path = self.path(folder)
        return read(path) if path.exists() else _of_table(folder).get(self.key)

    def has(self, seed: int, budget: int) -> bool:
        """Whether a run with this seed went so far."""
        return any(r.seed == seed and r.budget >= budget for r in self.runs)

    def followed_by(self, run: Run) -> Shard:
        """With a run, in the place of one that had its seed."""
        others = (r for r in self.runs if r.seed != run.seed)
        return replace(self, runs=tuple(sorted((*others, run), key=lambda r: r.seed)))

    def write(self, folder: Path) -> None:
        """Keep it in the place of what was there."""
        path = self.path(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(gzip.compress(json.dumps(asdict(self), separators=(",", ":")).encode(), mtime=0))
        part.replace(path)


def read(path: Path) -> Shard:
    """A shard that was written before."""
    document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    runs = tuple(Run(**run) for run in document.pop("runs"))
    return Shard(**document, runs=runs)


def read_all(folder: Path) -> Iterator[Shard]:
    """Every shard of a set, in the order of their keys; a file takes the place of the table's rows."""
    own = {shard.key: shard for shard in map(read, folder.glob("*/*/*.json.gz"))}
    for _, shard in sorted((_of_table(folder) | own).items()):
        yield shard


def keep(folder: Path, *, thin: bool) -> int:
    """Move all shards of a set into its table.

    Parameters
    ----------
    folder : Path
        Of the set.
    thin : bool
        Whether to keep of each run only what the figures take from it.

    Returns
    -------
    int
        Number of runs in the table.
    """
    rows = [_row(shard, run.thinned() if thin else run) for shard in read_all(folder) for run in shard.runs]
    part = folder / "runs.new"
    pq.write_table(pa.Table.from_pylist(rows, _SCHEMA), part, compression="zstd", compression_level=19)
    part.replace(folder / TABLE)
    for path in folder.glob("*/*/*.json.gz"):
        path.unlink()
    return len(rows)


_TEXT, _NUMBER, _NUMBERS = pa.string(), pa.float64(), pa.list_(pa.float64())
_OF_SHARD = {
    **dict.fromkeys(("table", "cohort", "surrogate", "method", "fingerprint", "method_fingerprint"), _TEXT),
    "batch": pa.int32(),
    **dict.fromkeys(("median", "best", "mean_seconds"), _NUMBER),
}
_COLUMNS, _DOCUMENTS = ("observed", "truth", "seconds", "proposer_s"), ("statuses", "picks", "outer")
_OF_RUN = {
    "seed": pa.int32(),
    "budget": pa.int32(),
    "digest": _TEXT,
    **dict.fromkeys(_COLUMNS, _NUMBERS),
    **dict.fromkeys(_DOCUMENTS, _TEXT),
}
_SCHEMA = pa.schema(_OF_SHARD | _OF_RUN)


def _row(shard: Shard, run: Run) -> dict[str, Any]:
    of_run = {name: getattr(run, name) for name in _OF_RUN}
    texts = {name: json.dumps(of_run[name]) for name in _DOCUMENTS}
    return {name: getattr(shard, name) for name in _OF_SHARD} | of_run | texts


def _of_table(folder: Path) -> dict[tuple[str, int, str, str, str], Shard]:
    if not (folder / TABLE).exists():
        return {}
    found: dict[tuple[str, int, str, str, str], Shard] = {}
    for row in pq.read_table(folder / TABLE).to_pylist():
        run = Run(**{name: json.loads(row[name]) if name in _DOCUMENTS else row[name] for name in _OF_RUN})
        shard = Shard(**{name: row[name] for name in _OF_SHARD})
        found[shard.key] = found.get(shard.key, shard).followed_by(run)
    return found
