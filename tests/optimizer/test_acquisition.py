from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from autoprog.optimizer.acquisition import PipelineBounds, select_batch
from autoprog.optimizer.encoding import Encoding, Points
from autoprog.optimizer.kernel import KernelParameters
from autoprog.optimizer.main_effects import term_names
from autoprog.optimizer.neighbourhood import Pool, draw_pools
from autoprog.optimizer.prior_mean import PriorMean
from autoprog.optimizer.surrogate import Surrogate
from autoprog.space import STAGES, Configuration
from tests.optimizer.toys import SHAPE, draw, toy_space

BETA = 4.0


class Problem:
    """Bounds over a small space, and every candidate configuration with its acquisition, computed one by one."""

    def __init__(
        self,
        hyperparameters: tuple[tuple[int, ...], ...],
        subspaces: int,
        candidates: int,
        seed: int,
        effect: float = 0.0,
        *,
        gated: bool = True,
        has_trend: bool = False,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.encoding = Encoding(toy_space(hyperparameters))
        self.kinds = self.encoding.space.valid_kinds(SHAPE)
        self.table = np.array([self.encoding.indices(kind) for kind in self.kinds])
        self.observed = draw(self.encoding.space, 25, rng)
        self.labels = rng.integers(0, subspaces, self.encoding.n_algorithms)
        self.surrogate = Surrogate(
            self.encoding.encode(self.observed),
            rng.normal(size=25),
            self.labels,
            subspaces,
            owner=self.encoding.owner,
            parameters=KernelParameters(
                1.0, 0.5, 0.1, 0.75, effects=(effect,) * self.encoding.n_algorithms, gated=gated
            ),
        )
        names = term_names(self.encoding) if has_trend else ()
        self.trend = PriorMean(
            self.encoding,
            dict(zip(names, rng.normal(0, 0.4, len(names)).tolist(), strict=True)),
            self.encoding.encode(self.observed),
            rng.normal(size=25),
        )
        self.pools = draw_pools(self.encoding, candidates, [[] for _ in self.encoding.keys], rng)
        self.bounds = PipelineBounds(self.surrogate, self.encoding, self.table, self.pools, BETA, trend=self.trend)

    def brute_force(self) -> dict[Configuration, float]:
        """Acquisition of all combinations of candidates over all kinds."""
        everything = list(dict.fromkeys(c for kind in self.table.tolist() for c in self._candidates_of(kind)))
        return dict(zip(everything, self.acquisition(everything), strict=True))

    def acquisition(self, configurations: list[Configuration]) -> list[float]:
        """By its definition, a sum over components."""
        points = self.encoding.encode(configurations)
        mean, sd = self.surrogate.components(points)
        effect, effect_sd = self.surrogate.effects()
        values = (mean + np.sqrt(BETA) * sd).sum(axis=0) + points.used @ (effect + np.sqrt(BETA) * effect_sd)
        return (values + self.trend.at(points)).tolist()

    def _candidates_of(self, kind: list[int]) -> list[Configuration]:
        """The algorithms of one subspace take the same candidate number; different subspaces vary freely."""
        subspaces = sorted({int(self.labels[a]) for a in kind})
        counts = [max(len(self.pools[a]) for a in kind if self.labels[a] == m) for m in subspaces]
        found = []
        for choice in product(*map(range, counts)):
            number = dict(zip(subspaces, choice, strict=True))
            steps = (self._step(self.pools[a], number[int(self.labels[a])]) for a in kind)
            found.append(Configuration(**dict(zip(STAGES, steps, strict=True))))
        return found

    @staticmethod
    def _step(pool: Pool, number: int):  # noqa: ANN205
        return pool.steps[number] if len(pool) > 1 else pool.steps[0]


@pytest.fixture(
    scope="module",
    params=[
        (1, 0, 0.0, True, False),
        (3, 1, 0.0, True, False),
        (8, 2, 0.0, True, False),
        (3, 1, 0.4, True, False),
        (3, 3, 0.0, True, True),
        (4, 4, 0.0, False, False),
        (4, 5, 0.2, False, True),
    ],
    ids=["1 subspace", "3 subspaces", "8 subspaces", "effects", "prior mean", "ungated", "all together"],
)
def problem(request: pytest.FixtureRequest) -> Problem:
    subspaces, seed, effect, gated, has_trend = request.param
    algorithms = ((1, 0, 2, 0), (2, 0, 1, 3, 0), (0, 1, 2, 3, 1), (0, 0, 0))
    return Problem(algorithms, subspaces, 4, seed, effect, gated=gated, has_trend=has_trend)


def test_the_maximum_equals_brute_force_over_300_kinds(problem: Problem) -> None:
    assert len(problem.kinds) == 300
    exhaustive = problem.brute_force()
    ranking = problem.bounds.best_first(np.arange(300))
    value, configuration = next(ranking)
    assert value == pytest.approx(max(exhaustive.values()), abs=1e-10)
    assert exhaustive[configuration] == pytest.approx(value, abs=1e-10)
    best_of_kind: dict[tuple[int, ...], float] = {}
    for candidate, acquisition in exhaustive.items():
        kind = problem.encoding.list_algorithms(candidate)
        best_of_kind[kind] = max(acquisition, best_of_kind.get(kind, -np.inf))
    np.testing.assert_allclose(
        problem.bounds.values, [best_of_kind[tuple(k)] for k in problem.table.tolist()], atol=1e-10
    )


def test_the_ranking_lists_every_candidate_configuration_once_in_order(problem: Problem) -> None:
    exhaustive = problem.brute_force()
    ranked = list(problem.bounds.best_first(np.arange(300)))
    assert len(ranked) == len(exhaustive)
    assert {c for _, c in ranked} == set(exhaustive)
    np.testing.assert_allclose([v for v, _ in ranked], sorted(exhaustive.values(), reverse=True), atol=1e-10)


def greedy(problem: Problem, size: int, seen: set[Configuration]) -> list[float]:
    """The batch by its definition, from all acquisitions: the best one of each subspace of predictors."""
    best: dict[int, float] = {}
    for configuration, value in problem.brute_force().items():
        subspace = int(problem.labels[problem.encoding.list_algorithms(configuration)[2]])
        if configuration not in seen:
            best[subspace] = max(value, best.get(subspace, -np.inf))
    return sorted(best.values(), reverse=True)[:size]


@pytest.mark.parametrize("size", [1, 4, 12])
def test_the_batch_equals_brute_force(problem: Problem, size: int) -> None:
    exhaustive = problem.brute_force()
    seen = set(sorted(exhaustive, key=lambda c: -exhaustive[c])[:6]) | set(problem.observed)
    batch = select_batch(problem.bounds, problem.labels, size, seen)
    np.testing.assert_allclose([exhaustive[c] for c in batch], greedy(problem, size, seen), atol=1e-10)
    assert not seen & set(batch)

    predictors = [problem.encoding.list_algorithms(c)[2] for c in batch]
    assert len({int(problem.labels[p]) for p in predictors}) == len(predictors)
    holding = len({int(z) for z in problem.labels[np.unique(problem.table[:, 2])]})
    assert len(batch) == min(size, holding)


def test_the_slope_of_a_bound_is_its_derivative(problem: Problem) -> None:
    """Central differences of A_m, and of the prior mean, by every hyperparameter of whole pipelines."""
    encoding, surrogate = problem.encoding, problem.surrogate
    points = encoding.encode(draw(encoding.space, 6, np.random.default_rng(9)))
    for m in surrogate.components_in_play:
        bound, slope = surrogate.bound_and_slope(points, m, BETA)
        mean, sd = surrogate.component(points, m)
        np.testing.assert_allclose(bound, mean + np.sqrt(BETA) * sd, atol=1e-9)
        of_trend = problem.trend.slopes(points)
        for h in range(len(encoding.owner)):
            moved = []
            for step in (1e-5, -1e-5):
                units = points.units.copy()
                units[:, h] += step
                at = Points(points.used, units)
                mean, sd = surrogate.component(at, m)
                moved.append((mean + np.sqrt(BETA) * sd, problem.trend.parts(at)))
            np.testing.assert_allclose(slope[:, h], (moved[0][0] - moved[1][0]) / 2e-5, atol=1e-5)
            np.testing.assert_allclose(of_trend[:, h], (moved[0][1] - moved[1][1]) / 2e-5, atol=1e-5)


def test_an_ascent_ends_at_maxima_above_all_candidates(problem: Problem) -> None:
    """Every value is that of its configuration; of 40 moves of a best one by .02 an axis none climbs further."""
    raised = PipelineBounds(
        problem.surrogate, problem.encoding, problem.table, problem.pools, BETA, trend=problem.trend, ascent=True
    )
    assert (raised.values >= problem.bounds.values - 1e-9).all()
    assert (raised.values > problem.bounds.values + 1e-3).mean() > 0.5
    rng = np.random.default_rng(8)
    for kind in rng.choice(len(problem.table), 25, replace=False).tolist():
        value, best = next(raised.best_first(np.array([kind])))
        assert value == pytest.approx(problem.acquisition([best])[0], abs=1e-9)
        nearby = []
        for _ in range(40):
            steps = {}
            for stage, a in zip(STAGES, problem.table[kind].tolist(), strict=True):
                axes = problem.encoding.algorithms[a].hyperparameters
                units = problem.encoding.units_of(a, best.step(stage)) + rng.uniform(-0.02, 0.02, len(axes))
                at = {h.name: float(np.clip(u, 0, 1)) for h, u in zip(axes, units, strict=True)}
                steps[stage] = problem.encoding.algorithms[a].step_from_unit(at) if axes else best.step(stage)
            nearby.append(Configuration(**steps))
        assert max(problem.acquisition(nearby)) <= value + 2e-3


def test_a_full_batch_goes_on_where_subspaces_give_no_more(problem: Problem) -> None:
    """First one of each subspace, then other prediction algorithms, then whatever is best of what is left."""
    short = select_batch(problem.bounds, problem.labels, 12, set())
    full = select_batch(problem.bounds, problem.labels, 12, set(), is_full=True)
    assert full[: len(short)] == short
    assert len(set(full)) == len(full) == 12
    exhaustive = problem.brute_force()
    predictors = [problem.encoding.list_algorithms(c)[2] for c in full]
    assert sorted(predictors[:5]) == sorted(set(problem.table[:, 2].tolist()))
    best_of = {}
    for configuration, value in exhaustive.items():
        p = problem.encoding.list_algorithms(configuration)[2]
        best_of[p] = max(value, best_of.get(p, -np.inf))
    np.testing.assert_allclose([exhaustive[c] for c in full[:5]], [best_of[p] for p in predictors[:5]], atol=1e-10)
    left = sorted((v for c, v in exhaustive.items() if c not in full[:5]), reverse=True)
    np.testing.assert_allclose([exhaustive[c] for c in full[5:]], left[:7], atol=1e-10)


def test_an_exhausted_space_gives_a_short_batch() -> None:
    problem = Problem(((0,), (0,), (0, 0), (0, 0)), 2, 4, 0)
    everything = list(problem.brute_force())
    assert len(everything) == 4
    assert select_batch(problem.bounds, problem.labels, 6, everything[:3]) == (everything[3],)
    assert select_batch(problem.bounds, problem.labels, 6, everything) == ()
    assert set(select_batch(problem.bounds, problem.labels, 6, set(), is_full=True)) == set(everything)
