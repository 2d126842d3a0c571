"""Runs as they are kept: a file for a method on a landscape, all seeds in it; written whole or not at all.

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
from numpy.typing import NDArray

SHARDS = Path(__file__).parent / "shards"


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

    def is_repeated_by(self, other: Run) -> bool:
        """Whether another run with this seed, as long or longer, began with the same answers and picks."""
        has_picks = self.picks.items() <= other.picks.items()
        return has_picks and self.observed == other.observed[: len(self)]

    def truth_of(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """f of evaluations; NaN for -1."""
        truth = np.array([*(np.nan if t is None else t for t in self.truth), np.nan])
        return truth[np.asarray(numbers)]


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
    """Every shard, in the order of their paths."""
    for path in sorted(folder.glob("*/*/*.json.gz")):
        yield read(path)
