"""The first design, and draws without a surrogate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Binary
from autoprog.optimizer.encoding import Encoding
from autoprog.space import STAGES, Configuration, PipelineKind, TableShape, predicted_seconds

_PREDICTION = STAGES.index("prediction")
# The usual baseline of a clinical prediction model; a search that evaluates it cannot end far below it.
SIMPLE_PIPELINE = ("median", "none", Binary.simple_predictor, "none")

# Draws of hyperparameters before a kind counts as exhausted.
_TRIES = 20


def simple_configuration(kinds: Sequence[PipelineKind], predictor: str = SIMPLE_PIPELINE[_PREDICTION]) -> Configuration:
    """The simple pipeline of a prediction algorithm, at its defaults, or the valid kind nearest to it."""
    imputation, features, _, calibration = SIMPLE_PIPELINE
    wanted = (imputation, features, predictor, calibration)

    # The prediction algorithm counts first, then the number of stages; ties go to the registry's order.
    def agreement(kind: PipelineKind) -> tuple[bool, int]:
        same = [a.name == name for a, name in zip(kind, wanted, strict=True)]
        return same[_PREDICTION], sum(same)

    return Configuration(*(a.default_step() for a in max(kinds, key=agreement)))


def cheaper_half(kinds: Sequence[PipelineKind], shape: TableShape) -> tuple[PipelineKind, ...]:
    """Keep, for every prediction algorithm, the half of its kinds with the least predicted cost, at least one."""
    seconds: dict[str, list[float]] = {}
    for kind in kinds:
        seconds.setdefault(kind[_PREDICTION].key, []).append(predicted_seconds(kind, shape))
    medians = {key: sorted(values)[(len(values) - 1) // 2] for key, values in seconds.items()}
    return tuple(kind for kind in kinds if predicted_seconds(kind, shape) <= medians[kind[_PREDICTION].key])


def stratified_design(
    encoding: Encoding,
    kinds: Sequence[PipelineKind],
    size: int,
    known: AbstractSet[Configuration],
    rng: np.random.Generator,
    first: Sequence[Configuration] = (),
    *,
    also_taken: AbstractSet[Configuration] = frozenset(),
) -> tuple[Configuration, ...]:
    """Make distinct new pipelines that use every prediction algorithm, then those of other stages, equally often."""
    table = np.array([encoding.indices(kind) for kind in kinds])
    uses = encoding.encode(list(known)).used.sum(axis=0)
    taken = {*known, *also_taken}  # of which only the known ones count as uses
    design: list[Configuration] = []
    while len(design) < size:
        following = next((c for c in first if c not in taken), None)
        if following is None:
            following = _least_used(encoding, kinds, table, uses, taken, rng)
        if following is None:
            break
        design.append(following)
        taken.add(following)
        uses[list(encoding.list_algorithms(following))] += 1
    return tuple(design)


def _least_used(
    encoding: Encoding,
    kinds: Sequence[PipelineKind],
    table: NDArray[np.int64],
    uses: NDArray[np.int64],
    taken: AbstractSet[Configuration],
    rng: np.random.Generator,
) -> Configuration | None:
    predictor = uses[table[:, _PREDICTION]]
    for i in np.lexsort([rng.random(len(table)), uses[table].sum(axis=1), predictor]):
        # An unused prediction algorithm starts from its defaults; later hyperparameters are drawn uniformly.
        if predictor[i] == 0 and (default := encoding.space.default(kinds[i])) not in taken:
            return default
        if (drawn := draw_unseen(encoding, kinds[i], taken, rng)) is not None:
            return drawn
    return None


def uniform_design(
    encoding: Encoding,
    kinds: Sequence[PipelineKind],
    size: int,
    seen: AbstractSet[Configuration],
    rng: np.random.Generator,
    first: Sequence[Configuration] = (),
) -> tuple[Configuration, ...]:
    """Draw distinct unseen pipelines: kinds without replacement, hyperparameters uniformly."""
    design = [c for c in dict.fromkeys(first) if c not in seen][:size]
    while len(design) < size:
        before = len(design)
        for i in rng.permutation(len(kinds)):
            if len(design) == size:
                break
            if (drawn := draw_unseen(encoding, kinds[i], {*seen, *design}, rng)) is not None:
                design.append(drawn)
        if len(design) == before:
            break
    return tuple(design)


def draw_unseen(
    encoding: Encoding, kind: PipelineKind, taken: AbstractSet[Configuration], rng: np.random.Generator
) -> Configuration | None:
    """Draw a configuration of a kind that is not taken; None if twenty draws find none."""
    tries = _TRIES if any(a.hyperparameters for a in kind) else 1
    for _ in range(tries):
        if (drawn := encoding.space.draw(kind, rng)) not in taken:
            return drawn
    return None


@dataclass(frozen=True)
class Start:
    """A first design and a prior; the default uses no earlier cohort.

    Attributes
    ----------
    portfolio : tuple of Configuration
        Configurations of the search's space to evaluate first, after the simple pipeline. With offsets only as many as
        may run at once are used, since the offsets choose better.
    offsets : mapping
        Term of `main_effects.py` -> mu in standardised scores: an algorithm's expected gain over the simple pipeline's
        of its stage; a hyperparameter's slope and bend.
    constants : mapping
        Fields of `OptimizerOptions` -> calibrated values, used where the client gives none.
    scale : float or None
        Expected size of one standardised unit, in units of the score; None if unknown.
    trust : float
        Weight of the earlier cohorts, in [0, 1).
    n_cohorts : int
        Number of earlier cohorts.
    """

    portfolio: tuple[Configuration, ...] = ()
    offsets: Mapping[str, float] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    scale: float | None = None
    trust: float = 0.0
    n_cohorts: int = 0

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {
            "portfolio": [c.to_json() for c in self.portfolio],
            "offsets": dict(self.offsets),
            "constants": dict(self.constants),
            "scale": self.scale,
            "trust": self.trust,
            "n_cohorts": self.n_cohorts,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Start:
        """Read the document of `to_json`."""
        portfolio = tuple(Configuration.from_json(c) for c in document["portfolio"])
        return cls(**{**document, "portfolio": portfolio})
