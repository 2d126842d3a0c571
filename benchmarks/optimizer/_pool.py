"""A pool: configurations spread over the space and evaluated on one cohort, as a search would have evaluated them.

The simple pipeline, and the same number for every prediction algorithm; the other choices and all hyperparameters on a
scrambled Sobol sequence. Pools are kept beside this file as gzipped JSON lines, so that nothing has to be evaluated
again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _cohorts import TEACHERS, load
from _space import pooled_space
from scipy.stats import qmc

from autoprog.cohort import Cohort, to_parquet
from autoprog.engine import DaskEngine
from autoprog.evaluation import Evaluation, History, Metric, Plan, Status, direction_of
from autoprog.metalearning import MetaFeatures, meta_features
from autoprog.optimizer.initial import simple_configuration
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.ports import CallLimits, CohortRef
from autoprog.space import STAGES, Algorithm, Configuration, PipelineKind, Space, TableShape

POOLS = Path(__file__).parent / "pools"
EACH = 32  # a predictor: a power of 2, which keeps a Sobol sequence balanced
EACH_OF_TEACHERS = 8  # enough to teach a prior
LIMIT_S, MEMORY_MB = 8.0, 4096
SLOTS = 2


@dataclass(frozen=True)
class Entry:
    """One evaluated configuration of a pool."""

    configuration: Configuration
    status: Status
    fold_scores: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class Pool:
    """What was evaluated on one cohort, the shape of its training folds, and what the cohort is like."""

    name: str
    shape: TableShape
    metric: str
    meta_features: MetaFeatures
    features: tuple[str, ...]
    entries: tuple[Entry, ...]
    limit_s: float = LIMIT_S

    @property
    def space(self) -> Space:
        """What was drawn from."""
        return pooled_space(self.shape.n_causes)

    @property
    def history(self) -> History:
        """The entries as a search's evaluations; the first is the simple pipeline's."""
        evaluations = tuple(
            Evaluation(
                number,
                0,
                entry.configuration,
                entry.status,
                float(np.mean(entry.fold_scores)) if entry.status is Status.SUCCEEDED else None,
                entry.fold_scores,
                duration_s=entry.seconds,
            )
            for number, entry in enumerate(self.entries)
        )
        is_greater_better = direction_of(self.metric).greater_is_better
        return History(Metric(self.metric, _unasked, is_greater_better, 0.0, 1.0, reference=""), evaluations)


def _unasked(y: np.ndarray, risks: np.ndarray) -> float:
    msg = f"a pool keeps scores, not what {len(y)} patients and {len(risks)} risks would score"
    raise TypeError(msg)


def draw(space: Space, shape: TableShape, each: int, seed: int) -> list[Configuration]:
    """Distinct configurations: the simple pipeline, and `each` for every prediction algorithm that serves the shape."""
    kinds = space.valid_kinds(shape)
    by_predictor: dict[str, list[PipelineKind]] = {}
    for kind in kinds:
        by_predictor.setdefault(kind[2].name, []).append(kind)
    drawn: dict[Configuration, None] = {simple_configuration(kinds, shape.mode): None}
    for number, (_, of_predictor) in enumerate(sorted(by_predictor.items())):
        for configuration in _of_predictor(of_predictor, each, [seed, number]):
            drawn[configuration] = None
    return list(drawn)


def _of_predictor(kinds: Sequence[PipelineKind], each: int, seed: list[int]) -> Iterator[Configuration]:
    widest = [max(len(kind[stage].hyperparameters) for kind in kinds) for stage in range(len(STAGES))]
    sampler = qmc.Sobol(1 + sum(widest), scramble=True, rng=np.random.default_rng(seed))
    # One axis chooses among the kinds, which are in lexicographic order: neighbours on it share their first stages.
    for row in sampler.random(each):
        kind = kinds[int(row[0] * len(kinds))]
        units = np.split(row[1:], np.cumsum(widest)[:-1])
        yield Configuration(*(_step(a, u) for a, u in zip(kind, units, strict=True)))


def _step(algorithm: Algorithm, units: np.ndarray) -> Any:
    return algorithm.step_from_unit({h.name: float(u) for h, u in zip(algorithm.hyperparameters, units, strict=False)})


def make(name: str, data: Path, folder: Path = POOLS, each: int | None = None) -> None:
    """Evaluate a pool; goes on where it was broken off, or where a smaller one, which a sequence begins with, ended."""
    each = each or (EACH_OF_TEACHERS if name in TEACHERS else EACH)
    path, part = folder / f"{name}.jsonl.gz", folder / f"{name}.part.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    cohort, plan = load(name, data)
    shape = plan.shape(cohort)
    space = pooled_space(cohort.n_causes)
    configurations = draw(space, shape, each, seed=zlib.crc32(name.encode()))
    done = {_key(record): record for record in (*_records(path), *_whole_lines(part))}
    left = {i: c for i, c in enumerate(configurations) if c.key not in done}
    if not left and not part.exists():
        return
    with part.open("a") as file:
        for evaluation in _evaluated(cohort, plan, left):
            file.write(json.dumps(_line(evaluation)) + "\n")
            file.flush()
    done |= {_key(record): record for record in _whole_lines(part)}
    keys = dict.fromkeys([*(c.key for c in configurations), *done])
    records = [done[key] | {"number": i} for i, key in enumerate(keys)]
    header = {
        "cohort": name,
        "patients": cohort.n_patients,
        "events": int((cohort.y == 1).sum()),
        "metric": plan.metric,
        "features": [feature.name for feature in cohort.features],
        "limit_s": LIMIT_S,
        "shape": _shape_document(shape),
        "meta_features": meta_features(cohort).to_dict(),
    }
    write(path, header, records)
    part.unlink()


def write(path: Path, header: dict[str, Any], records: Sequence[dict[str, Any]]) -> None:
    """Keep a pool: its header and its evaluations, whole or not at all; the same bytes every time."""
    text = "\n".join(json.dumps(line) for line in (header, *records)) + "\n"
    part = path.with_suffix(".new")
    part.write_bytes(gzip.compress(text.encode(), mtime=0))
    part.replace(path)


def _records(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file][1:]


def _key(record: dict[str, Any]) -> str:
    return Configuration.from_json(record["configuration"]).key


def _whole_lines(part: Path) -> list[dict[str, Any]]:
    """What was evaluated before; the last line, where it was cut off in the middle, is taken out of the file."""
    if not part.exists():
        return []
    text = part.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        part.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def _evaluated(cohort: Cohort, plan: Plan, left: dict[int, Configuration]) -> Iterator[Evaluation]:
    limits = CallLimits(LIMIT_S, MEMORY_MB)
    with tempfile.TemporaryDirectory() as scratch, DaskEngine.embedded(SLOTS) as engine:
        content = to_parquet(cohort)
        path = Path(scratch) / "cohort.parquet"
        path.write_bytes(content)
        ref = CohortRef(path.as_uri(), hashlib.sha256(content).hexdigest())
        stream = EvaluationStream(ref=ref, cohort=cohort, plan=plan, limits=limits)
        stream.add(0, left, race=None)
        for done, evaluation in enumerate(stream.run(engine, lambda: False), 1):
            yield evaluation
            if done % 50 == 0 or done == len(left):
                print(f"{done} of {len(left)}", file=sys.stderr, flush=True)


def _line(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "number": evaluation.number,
        "configuration": evaluation.configuration.to_json(),
        "status": evaluation.status.value,
        "fold_scores": [round(float(score), 6) for score in evaluation.fold_scores],
        "seconds": round(evaluation.duration_s, 3),
    }


def _shape_document(shape: TableShape) -> dict[str, Any]:
    return {name: getattr(shape, name) for name in shape.__dataclass_fields__}


def read(name: str, folder: Path = POOLS) -> Pool:
    """A pool that was made before."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt") as file:
        header, *records = (json.loads(line) for line in file)
    entries = tuple(
        Entry(
            Configuration.from_json(record["configuration"]),
            Status(record["status"]),
            tuple(record["fold_scores"]),
            record["seconds"],
        )
        for record in records
    )
    lists = {field: tuple(value) for field, value in header["shape"].items() if isinstance(value, list)}
    shape = TableShape(**{**header["shape"], **lists})
    meta, features = MetaFeatures.of(header["meta_features"]), tuple(header["features"])
    return Pool(name, shape, header["metric"], meta, features, entries, header["limit_s"])


def names(folder: Path) -> list[str]:
    """The cohorts that have a pool and do not only teach."""
    return [name for name in all_names(folder) if name not in TEACHERS]


def all_names(folder: Path) -> list[str]:
    """The cohorts that have a pool."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in folder.glob("*.jsonl.gz"))
