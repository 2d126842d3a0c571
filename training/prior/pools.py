"""A pool: configurations spread over the space and evaluated on one cohort, as a search would have evaluated them.

The simple pipeline, and the same number for every prediction algorithm; the other choices and all hyperparameters on a
scrambled Sobol sequence. A folder holds the evaluations of all pools as one Parquet table, and what their cohorts are
like as JSON, so that nothing has to be evaluated again.
"""

from __future__ import annotations

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
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import qmc

from autoprog.cohort import Binary, Cohort, TimeToEvent, Visits, to_parquet
from autoprog.engine import LocalEngine
from autoprog.evaluation import Evaluation, History, Plan, Status
from autoprog.metalearning import MetaFeatures, meta_features
from autoprog.optimizer.initial import simple_configuration
from autoprog.performance import Metric, metric_direction
from autoprog.search.evaluation_stream import EvaluationStream
from autoprog.search.ports import CohortRef
from autoprog.space import STAGES, Algorithm, Configuration, PipelineKind, Space, TableShape
from autoprog.work import CallLimits
from training.prior.cohorts import TEACHERS, load
from training.prior.space import pooled_space

POOLS = Path(__file__).parent / "pools"
TABLE, COHORTS = "evaluations.parquet", "cohorts.json"
EACH = 32  # a predictor: a power of 2, which keeps a Sobol sequence balanced
EACH_OF_TEACHERS = 8  # enough to teach a prior
LIMIT_S, MEMORY_MB = 8.0, 4096
SLOTS = 2

_SCHEMA = pa.schema(
    {
        "cohort": pa.string(),
        "number": pa.int32(),
        "configuration": pa.string(),
        "status": pa.string(),
        "fold_scores": pa.list_(pa.float64()),
        "seconds": pa.float64(),
    }
)


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
        is_greater_better = metric_direction(self.metric).greater_is_better
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
    drawn: dict[Configuration, None] = {simple_configuration(kinds, shape.simple_predictor): None}
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
    part = folder / f"{name}.part.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    cohort, plan = load(name, data)
    shape = plan.shape(cohort)
    space = pooled_space(cohort.n_causes)
    configurations = draw(space, shape, each, seed=zlib.crc32(name.encode()))
    done = {_key(record): record for record in (*_records(name, folder), *_whole_lines(part))}
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
    write(folder, header, records)
    part.unlink()


def write(folder: Path, header: dict[str, Any], records: Sequence[dict[str, Any]]) -> None:
    """Keep a pool in the place of what was there: its evaluations and what its cohort is like."""
    folder.mkdir(parents=True, exist_ok=True)
    name = header["cohort"]
    headers = {**_headers(folder), name: header}
    table = folder / TABLE
    kept = [] if not table.exists() else [row for row in pq.read_table(table).to_pylist() if row["cohort"] != name]
    new = [{**r, "cohort": name, "configuration": json.dumps(r["configuration"])} for r in records]
    rows = pa.Table.from_pylist(sorted([*kept, *new], key=lambda row: (row["cohort"], row["number"])), _SCHEMA)
    pq.write_table(rows, table.with_suffix(".new"), compression="zstd", compression_level=19)
    table.with_suffix(".new").replace(table)
    (folder / COHORTS).write_text(json.dumps(dict(sorted(headers.items())), indent=1) + "\n")


def _headers(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / COHORTS
    return json.loads(path.read_text()) if path.exists() else {}


def _records(name: str, folder: Path) -> list[dict[str, Any]]:
    """The evaluations of a pool, in their order; none where it has not been made."""
    if name not in _headers(folder):
        return []
    rows = pq.read_table(folder / TABLE, filters=[("cohort", "=", name)]).to_pylist()
    return [{**row, "configuration": json.loads(row["configuration"])} for row in rows]


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
    with tempfile.TemporaryDirectory() as scratch, LocalEngine(SLOTS) as engine:
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
    header, records = _headers(folder)[name], _records(name, folder)
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
    kind = next(kind for kind in (Binary, TimeToEvent, Visits) if kind.mode == header["shape"]["mode"])
    shape = TableShape(**{"simple_predictor": kind.simple_predictor, **header["shape"], **lists})
    meta, features = MetaFeatures.of(header["meta_features"]), tuple(header["features"])
    return Pool(name, shape, header["metric"], meta, features, entries, header["limit_s"])


def names(folder: Path) -> list[str]:
    """The cohorts that have a pool and do not only teach."""
    return [name for name in all_names(folder) if name not in TEACHERS]


def all_names(folder: Path) -> list[str]:
    """The cohorts that have a pool."""
    return sorted(_headers(folder))
