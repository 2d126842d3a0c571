"""The parts of the optimizer's benchmark whose mistakes would not show in its figures."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

import autoprog
from autoprog.evaluation import Evaluation, Status
from autoprog.optimizer import Start
from autoprog.optimizer.initial import SIMPLE_PIPELINE
from autoprog.space import STAGES, Configuration, TableShape
from benchmarks.optimizer import comparison, figures, methods, runs, synthetic, tables
from benchmarks.optimizer.choices import Choices
from benchmarks.optimizer.curves import Curves, Place, curves
from benchmarks.optimizer.forest import Forest
from benchmarks.optimizer.gaussian_process import Flat, Process, Product
from benchmarks.optimizer.methods import METHODS, distinct_when_shared
from benchmarks.optimizer.problem import Problem
from benchmarks.optimizer.replay import replay
from benchmarks.optimizer.rows import Encoder
from benchmarks.optimizer.shards import Run, Shard, keep, read, read_all
from benchmarks.optimizer.transfer import learnt
from training.prior import pools, space

COMPLETE, MISSING = (TableShape(240, 20, 80, has_missing) for has_missing in (False, True))


@pytest.mark.parametrize("shape", [COMPLETE, MISSING], ids=["complete", "missing"])
def test_the_tree_of_choices_reaches_every_kind_and_gives_back_what_it_was_answered(shape: TableShape) -> None:
    problem = Problem(shape)
    choices = Choices.of(problem)
    rng = np.random.default_rng(0)
    for kind in problem.kinds[:: max(1, len(problem.kinds) // 400)]:
        configuration = problem.space.draw(kind, rng)
        answers = choices.answers(configuration)
        assert choices.configuration(lambda name, _, answers=answers: answers[name]) == configuration
    reached = sum(len(left) for left in choices.imputations.values()) * len(problem.space.stages[3])
    assert reached == len(problem.kinds)


@pytest.mark.parametrize("shape", [COMPLETE, MISSING], ids=["complete", "missing"])
def test_mutations_are_valid_and_new(shape: TableShape) -> None:
    problem = Problem(shape)
    valid = {tuple(a.name for a in kind) for kind in problem.kinds}
    rng = np.random.default_rng(1)
    configuration, swaps = problem.draw(rng), [0] * len(STAGES)
    for _ in range(300):
        mutated = problem.mutate(configuration, rng)
        assert tuple(mutated.step(stage).algorithm for stage in STAGES) in valid
        for i, stage in enumerate(STAGES):
            swaps[i] += mutated.step(stage).algorithm != configuration.step(stage).algorithm
        configuration = mutated
    assert all(swaps)


def test_what_is_learnt_comes_from_other_families_and_serves_here(tmp_path: Path) -> None:
    for i, name in enumerate(("pima", "pima_missing", "one", "two")):
        synthetic.make(name, tmp_path, 2, has_missing=i % 2 == 0)
    problem = Problem(COMPLETE)
    taught = learnt("pima", tmp_path, problem)
    assert taught.n_cohorts == 2
    assert 1 <= len(taught.portfolio) <= 5
    valid = {tuple(a.name for a in kind) for kind in problem.kinds}
    assert all(tuple(c.step(stage).algorithm for stage in STAGES) in valid for c in taught.portfolio)
    assert METHODS["cold"].lessons(taught, "own") == METHODS["portfolio_alone"].lessons(taught, "shared") == Start()
    assert METHODS["portfolio_alone"].lessons(taught, "own") == Start(taught.portfolio, trust=taught.trust)
    assert METHODS["tpe_portfolio"].first(METHODS["tpe_portfolio"].lessons(taught, "own")) == taught.portfolio
    assert METHODS["default"].lessons(taught, "own") == replace(taught, n_cohorts=0)
    assert METHODS["default"].lessons(taught, "shared") == replace(taught, portfolio=(), n_cohorts=0)
    assert METHODS["default"].first(taught) == ()  # it makes its first design itself


def test_from_a_shared_design_methods_differ_by_more_than_their_portfolio() -> None:
    methods = ["default", "cold", "portfolio_alone", "prior_alone", "ucb", "tpe", "tpe_portfolio"]
    assert distinct_when_shared(methods) == ["default", "cold", "ucb", "tpe"]


def test_flat_forests_answer_as_the_library() -> None:
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(150, 6)), rng.normal(size=(40, 6))
    y = X[:, 0] + X[:, 1] ** 2
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    np.testing.assert_allclose(Forest(forest).predict(new), forest.predict(new), rtol=1e-12)
    classifier = RandomForestClassifier(20, min_samples_leaf=2, random_state=0).fit(X, y > 1)
    expected = classifier.predict_proba(new)[:, 1]
    np.testing.assert_allclose(Forest(classifier).predict(new), expected, rtol=1e-12, atol=1e-12)


def test_the_flat_process_predicts_as_the_library_does_with_its_numbers() -> None:
    rng = np.random.default_rng(4)
    X, new = rng.random((60, 3)), rng.random((20, 3))
    y = np.sin(4 * X[:, 0]) + 0.5 * X[:, 1] + 0.05 * rng.normal(size=60)
    process = Process(Flat(3), X, y)
    free = {name: tensor.numpy() for name, tensor in process._free.items()}
    kernel = ConstantKernel(np.exp(free["s2"]), "fixed") * Matern(np.exp(free["ell"]), "fixed", nu=2.5)
    # The jitter is relative to the variance; see `_factor`.
    noise = np.exp(free["noise"]) + 1e-4 + 1e-6 * np.exp(free["s2"])
    library = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, (y - y.mean()) / y.std())
    np.testing.assert_allclose(process.predict(new), y.mean() + y.std() * library.predict(new), rtol=1e-5)


def test_the_product_process_has_a_positive_covariance_that_tells_algorithms_apart() -> None:
    problem = Problem(MISSING)
    encoder = Encoder(problem)
    rng = np.random.default_rng(5)
    drawn = [problem.draw(rng) for _ in range(40)]
    kernel = Product(encoder.stage_of_algorithm, encoder.stage_of_axis, encoder.axes_beside)
    X = torch.from_numpy(encoder(drawn).for_processes)
    free = kernel.start()
    K = kernel(free, X, X).numpy()
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    # c + s2 prod_t rho_t where all four algorithms differ, c + s2 on the diagonal; c = e^-1, s2 = 1, rho = 1/2.
    np.testing.assert_allclose(np.diag(K), np.exp(-1.0) + 1.0, atol=1e-6)
    apart = [(i, j) for i in range(40) for j in range(i) if not (encoder(drawn).used[i] * encoder(drawn).used[j]).any()]
    assert apart
    np.testing.assert_allclose([K[i, j] for i, j in apart], np.exp(-1.0) + 0.5**4, atol=1e-12)


def _run(**columns: Any) -> Any:
    given = {"seed": 0, "budget": 4, "digest": "", "proposer_s": [0.0] * 4, "statuses": {}}
    return Run(**(given | columns))


def test_regret_follows_the_best_observed_and_not_the_best_true_score() -> None:
    run = _run(observed=[None, 0.7, 0.6, 0.8], truth=[None, 0.6, 0.9, 0.7], seconds=[1.0] * 4, picks={"4": 2})
    shard = Shard("own", 1, "a", "trees", "m", "", "", 0.5, 0.7, 2.0, (run,))
    table = curves([shard], [4])
    found = table["m"]["a", "trees"]
    # f* is 0.9, which the run found, not the landscape's 0.7; the scale is 0.9 - 0.5.
    np.testing.assert_allclose(found.regret[0], [1.0, 0.75, 0.75, 0.5])
    assert found.picked[0][4] == pytest.approx(0.0)
    # A mean draw takes two of the run's evaluations.
    np.testing.assert_allclose(found.by_time[0], [0.75, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(found.optimism[0], [np.nan, 0.1, 0.1, 0.1])


class _Method:
    """Draws; its pick is the number of evaluations that it was told."""

    def __init__(self) -> None:
        self.problem, self.rng, self.told = Problem(COMPLETE), np.random.default_rng(0), 0

    def start(self, *_: Any) -> _Method:
        return self

    def ask(self, size: int) -> list[Configuration]:
        return [self.problem.draw(self.rng) for _ in range(size)]

    def tell(self, evaluations: Sequence[Evaluation]) -> None:
        self.told += len(evaluations)

    def pick(self) -> int | None:
        return self.told


@pytest.mark.parametrize(
    ("batch", "recorded"), [(1, (10, 15, 20, 25, 30, 40)), (4, (12, 16, 20, 28, 32, 40)), (6, (12, 18, 24, 30, 42))]
)
@pytest.mark.parametrize("n_first", [0, 10])
def test_a_pick_is_recorded_where_a_batch_ends_after_just_so_many(
    batch: int, recorded: tuple[int, ...], n_first: int
) -> None:
    method = _Method()
    surface, entry = _Surface(method.problem), cast("Any", method)
    first = method.ask(n_first)
    run, _ = runs.run(
        entry, method.problem, partial(surface.evaluate, _seed=0), first, Start(), batch=batch, budget=42, seed=0
    )
    assert run.picks == {str(at): at for at in recorded}
    assert runs.whole_batches(runs.PICKS, batch)[: len(recorded)] == recorded


def test_where_a_pick_was_not_recorded_no_other_takes_its_place() -> None:
    columns = {"observed": [0.7, 0.9, 0.8, 0.6], "truth": [0.6, 0.5, 0.7, 0.6], "seconds": [1.0] * 4}
    of_method = Shard("own", 1, "a", "trees", "m", "", "", 0.5, 0.7, 2.0)
    runs_of = (_run(**columns, picks={"2": 0}), _run(seed=1, **columns, picks={"2": None}))
    with_and_without = curves([replace(of_method, runs=runs_of)], [2, 3, 4])["m"]["a", "trees"].picked
    assert {seed: list(of_seed) for seed, of_seed in with_and_without.items()} == {0: [2], 1: [2, 3, 4]}


def test_tables_of_batches_are_made_after_whole_ones() -> None:
    def shard(method: str, truth: float) -> Any:
        of_all = {"proposer_s": [0.0] * 28, "observed": [truth] * 28, "truth": [truth] * 28, "seconds": [1.0] * 28}
        return Shard("own", 4, "pima", "gp", method, "", "", 0.5, 1.0, 1.0, (_run(budget=28, **of_all),))

    table = figures._table([shard("default", 0.9), shard("random", 0.6)])
    assert list(table["differences"]) == ["12", "28"]
    assert tables._beside(table).splitlines()[2] == "|  | at 28 | ours less it |"


def test_proposals_are_made_anew_where_anything_that_they_come_from_has_changed() -> None:
    package = Path(autoprog.__file__).parent
    sources = {path for pattern in (*methods._SOURCES, *methods._OF_LESSONS) for path in package.glob(pattern)}
    for folder in ("optimizer", "space", "evaluation", "metalearning"):
        assert set((package / folder).rglob("*.py")) <= sources


def test_a_table_of_kept_runs_gives_the_same_curves_as_the_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    for cohort, method in (("a", "m"), ("a", "n"), ("b", "m")):
        of_method = Shard("own", 1, cohort, "trees", method, "f", "g", 0.4, 0.8, 2.0)
        for seed in (0, 1):
            truth = [None if f < 0.3 else round(f, 6) for f in rng.random(60).tolist()]
            observed = [None if f is None else round(f + rng.normal(0.0, 0.05), 6) for f in truth]
            seconds, proposer_s = rng.random((2, 60)).round(3).tolist()
            columns = {"observed": observed, "truth": truth, "seconds": seconds, "proposer_s": proposer_s}
            run = _run(**columns | {"seed": seed, "budget": 70, "picks": {"10": 3, "25": None, "50": 47}})
            of_method = of_method.followed_by(run)
        of_method.write(tmp_path)
    before = list(read_all(tmp_path))
    assert keep(tmp_path, thin=True) == 6
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["runs.parquet"]
    after = list(read_all(tmp_path))
    assert [shard.key for shard in after] == [shard.key for shard in before]
    assert sum(score is not None for run in after[0].runs for score in run.observed) < 20
    assert all(old.is_repeated_by(new) for old, new in zip(after[0].runs, before[0].runs, strict=True))
    assert not after[0].runs[0].is_repeated_by(before[0].runs[1])
    expected = figures._table(before)
    for of_method in expected["methods"].values():  # means of rounded means
        of_method["proposer_s"] = pytest.approx(of_method["proposer_s"], abs=2e-4)
    assert figures._table(after) == expected


def test_copies_of_a_study_count_once_and_seeds_are_paired() -> None:
    def of_seeds(**by_seed: float) -> Any:
        regret = {int(seed[1:]): np.array([value]) for seed, value in by_seed.items()}
        return Curves(regret, {}, {}, {}, {})

    first = {
        Place("pima", "trees"): of_seeds(s0=0.1, s1=0.3),
        Place("pima2", "trees"): of_seeds(s0=0.2),
        Place("b", "trees"): of_seeds(s0=0.5),
    }
    second = {
        Place("pima", "trees"): of_seeds(s1=0.5, s2=9.0),
        Place("pima2", "trees"): of_seeds(s0=0.2),
        Place("b", "trees"): of_seeds(s0=0.2),
    }
    found = comparison.difference(first, second, lambda c: c.at(1, pick=False), lambda name: name.rstrip("2"))
    assert {name: pair[0] for name, pair in found.by_cohort.items()} == pytest.approx(
        {"pima": -0.2, "pima2": 0.0, "b": 0.3}
    )
    assert found.mean == pytest.approx(0.1)  # of -0.1, the family, and 0.3
    assert (found.low, found.high) == pytest.approx((-0.1, 0.3))
    # Of 0.25 to 0.35, the family, and 0.5 to 0.2.
    assert (found.ratio, found.ratio_low, found.ratio_high) == pytest.approx((0.75 / 0.55, 0.25 / 0.35, 2.5))
    assert found.wins == 1


def test_ranks_and_their_critical_difference() -> None:
    def of(*values: float) -> dict[Any, Any]:
        return {Place(str(i), "gp"): Curves({0: np.array([v])}, {}, {}, {}, {}) for i, v in enumerate(values)}

    table = {"a": of(0.1, 0.1, 0.2), "b": of(0.2, 0.2, 0.2), "c": of(0.3, 0.3, 0.3), "part": of(0.0)}
    found = comparison.ranks(table, lambda c: c.at(1, pick=False))
    assert found.mean == pytest.approx({"a": 3.5 / 3, "b": 5.5 / 3, "c": 3.0})
    # Demsar 2006, table 5a: q at 5 % for three methods is 2.343.
    assert found.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 3)), abs=1e-3)


def test_evaluations_to_a_target() -> None:
    assert comparison.evaluations_to(np.array([0.9, 0.5, 0.4]), 0.5) == 2
    assert comparison.evaluations_to(np.array([0.9, 0.5, 0.4]), 0.3) is None


def test_the_tables_tell_ours_beside_each_and_rank_it_among_its_rivals_alone() -> None:
    def shard(cohort: str, method: str, truth: float) -> Any:
        of_all = {"proposer_s": [0.0] * 25, "observed": [truth] * 25, "truth": [truth] * 25, "seconds": [1.0] * 25}
        return Shard("own", 1, cohort, "gp", method, "", "", 0.5, 1.0, 1.0, (_run(budget=25, **of_all),))

    worth = {"default": (0.9, 0.8), "random": (0.6, 0.7), "random_decompositions": (0.85, 0.9), "ranks": (0.5, 0.5)}
    shards = [shard(c, m, f) for m, of in worth.items() for c, f in zip(("pima", "stroke"), of, strict=True)]
    table = figures._table(shards)
    assert table["ranks"]["25"]["mean"] == {"default": 1.5, "random_decompositions": 1.5, "random": 3.0}
    assert set(table["rival_wins"]["25"]) == {"random_decompositions"}
    lines = tables._beside(table).splitlines()
    assert "| default | .300 |  |" in lines
    assert "| random | .700 | -.400 (-.600 to -.200) |" in lines


def test_a_pool_is_balanced_over_the_predictors() -> None:
    drawn = pools.draw(space.pooled_space(), COMPLETE, 4, seed=0)
    count: dict[str, int] = {}
    for configuration in drawn[1:]:
        count[configuration.prediction.algorithm] = count.get(configuration.prediction.algorithm, 0) + 1
    assert len(set(drawn)) == len(drawn)
    assert len(count) == len(Problem(COMPLETE).space.stages[2])
    assert max(count.values()) == 4
    assert tuple(drawn[0].step(stage).algorithm for stage in STAGES) == SIMPLE_PIPELINE


@pytest.mark.parametrize("is_the_same", [True, False])
def test_runs_of_an_earlier_version_are_kept_only_if_the_first_new_one_repeats_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_the_same: bool
) -> None:
    monkeypatch.setattr(runs, "_landscape", lambda *_: _Surface(Problem(COMPLETE)))
    task = runs.Task("shared", 1, "pima", "gp", "random", (0, 1), 12, tmp_path, tmp_path)
    runs.execute(task)
    (path,) = tmp_path.glob("*/*/*.json.gz")
    before = read(path)
    assert [r.seed for r in before.runs] == [0, 1]
    first = before.runs[0] if is_the_same else replace(before.runs[0], observed=before.runs[1].observed)
    replace(before, method_fingerprint="earlier", runs=(first, before.runs[1])).write(tmp_path)
    runs.execute(replace(task, seeds=(0,), redo_stale=True))
    after = read(path)
    assert after.method_fingerprint == before.method_fingerprint
    assert [r.seed for r in after.runs] == [0, 1][: 1 + is_the_same]


@pytest.mark.parametrize("method", ["default", "random_decompositions", "random"])
def test_a_replay_chooses_among_the_evaluations_of_a_pool_each_once(tmp_path: Path, method: str) -> None:
    for i, name in enumerate(("pima", "one", "two")):
        synthetic.make(name, tmp_path, 2, has_missing=i == 0)
    pool, entry = pools.read("pima", tmp_path), METHODS[method]
    known = runs.taught(entry, "own", "pima", tmp_path, Problem(pool.shape))
    run, whole = (replay(pool, entry, known, seed=0, budget=budget) for budget in (9, 1_000))
    scores = [e.score if e.score is None else round(e.score, 6) for e in pool.history]
    assert run.observed[0] == scores[0]  # the simple pipeline's
    assert whole.observed[:9] == run.observed
    assert Counter(whole.observed) == Counter(scores)
    assert whole.truth == whole.observed


class _Surface:
    """Stands for a landscape: the score is a checksum of the configuration, in (0, 1)."""

    fingerprint, is_faithful, correlation, median, best, mean_seconds = "f", True, 1.0, 0.5, 1.0, 1.0

    def __init__(self, problem: Any) -> None:
        self.problem = problem

    def truth(self, configurations: Sequence[Configuration]) -> np.ndarray:
        return np.array([zlib.crc32(c.key.encode()) / 2**32 for c in configurations])

    def evaluate(self, first: int, batch: int, configurations: Sequence[Configuration], _seed: int) -> list[Evaluation]:
        scores = self.truth(configurations).tolist()
        return [
            Evaluation(first + i, batch, c, Status.SUCCEEDED, s, (s,), duration_s=1.0)
            for i, (c, s) in enumerate(zip(configurations, scores, strict=True))
        ]
