"""The statistics of one finished search, by the marginal likelihood of the optimizer's surrogate.

Kernel and noise are those of the default options, whatever options the search had, so that cohorts are comparable.

References
----------
Alaa & van der Schaar 2018, ICML, section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Mode
from autoprog.evaluation import History
from autoprog.metalearning.cohort_statistics import MAX_BEST, CohortStatistics, gains_over
from autoprog.metalearning.meta_features.computation import MetaFeatures
from autoprog.metalearning.prior import learn_partition_prior
from autoprog.optimizer.options import OptimizerOptions
from autoprog.space import Configuration, Space

if TYPE_CHECKING:
    from autoprog.optimizer.encoding import Encoding
    from autoprog.optimizer.observations import Observations
    from autoprog.optimizer.surrogate_state import SurrogateState

MIN_SUCCEEDED = 5
"""Evaluations with a score that a search needs to leave statistics."""

MAX_JUDGED = 1_000
"""Evaluations, besides the best, that gains and effects are computed from; the matrices are dense."""

# Sweeps before the kernel is fitted again and before draws count; most and least draws; and their product with the
# history's length, because long ones cost more.
_BURN_IN, _MAX_DRAWS, _MIN_DRAWS, _DRAWN_EVALUATIONS = 3, 10, 4, 1_000


def learn_statistics(
    history: History,
    space: Space,
    rng: np.random.Generator,
    *,
    cohort_id: str,
    meta_features: MetaFeatures,
    mode: Mode,
    references: Mapping[str, Configuration] | None = None,
    check: Callable[[], None] = lambda: None,
) -> CohortStatistics | None:
    """Learn a search's transferable statistics.

    Parameters
    ----------
    history : History
        All evaluations of the search; the first is the simple pipeline's.
    space : Space
        The algorithms that were in play.
    rng : numpy.random.Generator
        Source of randomness of the chains.
    cohort_id : str
        The cohort.
    meta_features : MetaFeatures
        Its meta-features.
    mode : str
        Mode of its outcome.
    references : mapping or None
        `reference_pipelines` of other cohorts, adapted to this one.
    check : callable () -> None
        Called every few seconds; an exception from it ends the learning.

    Returns
    -------
    CohortStatistics or None
        None if the simple pipeline has no score, or fewer than five pipelines have one.
    """
    # Imported late: torch takes a second and 200 MB, and a process that only reads statistics does not need it.
    from autoprog.optimizer.encoding import Encoding  # noqa: PLC0415  see above
    from autoprog.optimizer.observations import observe  # noqa: PLC0415  see above
    from autoprog.optimizer.threads import one_thread  # noqa: PLC0415  see above

    observations = observe(history, most=len(history))
    if observations is None or len(history.succeeded) < MIN_SUCCEEDED:
        return None
    simple = history.simple
    if simple.score is None:
        return None
    with one_thread():
        belief, hyperparameters = _believed(Encoding(space), observations, rng, check)
        gains = gains_over(simple.configuration, belief, history, references or {}, check)
    return CohortStatistics(
        cohort_id=cohort_id,
        meta_features=meta_features,
        mode=mode,
        metric=history.metric.identity,
        simple_algorithm=simple.configuration.prediction.algorithm,
        simple_score=simple.score,
        n_evaluations=len(history.succeeded),
        **hyperparameters._asdict(),
        **gains._asdict(),
    )


class _Hyperparameters(NamedTuple):
    """Hyperparameters of the structured kernel; the fields are those of `CohortStatistics`."""

    subspaces: float
    log_concentration: float
    log_length: float
    log_variance: float
    log_noise: float


def _believed(
    encoding: Encoding, observations: Observations, rng: np.random.Generator, check: Callable[[], None]
) -> tuple[SurrogateState, _Hyperparameters]:
    """Learn the surrogate state and hyperparameters; the chains see at most `MAX_OBSERVATIONS` evaluations."""
    from autoprog.optimizer.observations import MAX_OBSERVATIONS  # noqa: PLC0415  as above

    belief = _settled(encoding, observations.take(_sample_part(observations, MAX_OBSERVATIONS, rng)), rng)
    check()
    subspaces, log_concentration = learn_partition_prior(belief, rng)
    check()
    hyperparameters = _Hyperparameters(
        subspaces,
        log_concentration,
        log_length=float(np.log(belief.parameters.length)),
        log_variance=float(np.log(belief.parameters.variance)),
        log_noise=float(np.log(belief.parameters.noise)),
    )
    return _seeing(belief, observations.take(_judged(observations, rng))), hyperparameters


def _sample_part(observations: Observations, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Sample at most `most` observations, equally many of every prediction algorithm, whatever their scores."""
    turns: dict[str, int] = {}
    order = []
    for i in rng.permutation(len(observations.evaluations)).tolist():
        name = observations.evaluations[i].configuration.prediction.algorithm
        turns[name] = turns.get(name, -1) + 1
        order.append((turns[name], i))
    return np.array(sorted(i for _, i in sorted(order)[:most]), dtype=np.intp)


def _judged(observations: Observations, rng: np.random.Generator) -> NDArray[np.intp]:
    """Sample `MAX_JUDGED` observations, and add the best overall and of every prediction algorithm."""
    scored = np.flatnonzero(observations.succeeded)
    best_first = scored[np.argsort(-observations.gains[scored], kind="stable")].tolist()
    first: dict[str, int] = {}
    for i in best_first:
        first.setdefault(observations.evaluations[i].configuration.prediction.algorithm, i)
    tops = [*best_first[:MAX_BEST], *first.values()]
    return np.union1d(_sample_part(observations, MAX_JUDGED, rng), np.array(tops, dtype=np.intp))


def _seeing(belief: SurrogateState, observations: Observations) -> SurrogateState:
    """Replace the observations, and keep decompositions and kernel."""
    points = belief.encoding.encode([e.configuration for e in observations.evaluations])
    return replace(belief, observations=observations, points=points, y=observations.y)


def _settled(encoding: Encoding, observations: Observations, rng: np.random.Generator) -> SurrogateState:
    """Fit the kernel under a decomposition that the state's own chain has found."""
    from autoprog.optimizer.surrogate_state import SurrogateState  # noqa: PLC0415  as above

    first = SurrogateState.learn(encoding, OptimizerOptions(), observations, {}, rng)
    first.sweep(_BURN_IN, 1)
    belief = SurrogateState.learn(encoding, OptimizerOptions(), observations, first.state, rng)
    draws = int(np.clip(_DRAWN_EVALUATIONS // len(belief.points), _MIN_DRAWS, _MAX_DRAWS))
    belief.sweep(_BURN_IN + draws, draws)
    return belief
