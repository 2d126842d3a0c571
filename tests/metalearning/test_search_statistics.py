"""What a search teaches: against the kernel's own formula, on histories whose truth is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from autoprog.evaluation import Evaluation, History, Status
from autoprog.metalearning import CohortStatistics, learn_statistics, meta_features, search_statistics
from autoprog.metalearning.prior import learn_partition_prior
from autoprog.optimizer import OptimizerOptions
from autoprog.optimizer import observations as observations_module
from autoprog.optimizer import surrogate as surrogate_module
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.observations import observe
from autoprog.optimizer.surrogate_state import SurrogateState
from autoprog.performance import make_metric
from autoprog.space import Configuration
from tests.cohorts import mixed_cohort
from tests.optimizer.toys import draw, history_of, toy_space

SPACE = toy_space(((1, 0), (2, 0), (2, 1, 1, 0), (0, 0)))
EFFECTS = {"prediction0": 0.0, "prediction1": 0.06, "prediction2": -0.04, "prediction3": 0.02}
META = meta_features(mixed_cohort())


def history_with_effects(n: int = 40, seed: int = 0) -> History:
    """The first pipeline is the simple one, with prediction0; scores are its algorithm's effect and little noise."""
    rng = np.random.default_rng(seed)
    drawn = draw(SPACE, n, rng)
    simple = next(c for c in drawn if c.prediction.algorithm == "prediction0")
    configurations = list(dict.fromkeys([simple, *drawn]))
    noise = rng.normal(0.0, 0.003, len(configurations))
    return history_of(
        configurations, lambda i: 0.75 + EFFECTS[configurations[i].prediction.algorithm] + noise[i], fold_sd=0.005
    )


def learnt(history: History, seed: int = 0, references: Mapping[str, Configuration] | None = None) -> CohortStatistics:
    found = learn_statistics(
        history,
        SPACE,
        np.random.default_rng(seed),
        cohort_id="c",
        meta_features=META,
        mode="classification",
        references=references,
    )
    assert found is not None
    return found


@pytest.fixture(scope="module")
def statistics() -> CohortStatistics:
    return learnt(history_with_effects())


def test_offsets_and_gains_are_those_that_the_history_was_made_with(statistics: CohortStatistics) -> None:
    assert (statistics.simple_algorithm, statistics.metric) == ("prediction0", "auc_roc")
    assert [g.algorithm for g in statistics.algorithms] == sorted(EFFECTS)
    for gain in statistics.algorithms:
        effect = EFFECTS[gain.algorithm]
        assert gain.best == pytest.approx(effect, abs=0.012)
        offset = statistics.offsets[f"prediction/{gain.algorithm}"]
        assert offset == pytest.approx(effect, abs=0.025)  # shrunk, and in part the structured kernel's
        assert 0 < gain.sd < 0.02
    assert sum(g.n for g in statistics.algorithms) == statistics.n_evaluations


def test_the_best_of_all_and_of_every_algorithm_are_kept_the_best_first(statistics: CohortStatistics) -> None:
    gains = [tried.gain for tried in statistics.best]
    configurations = [tried.configuration for tried in statistics.best]
    assert gains == sorted(gains, reverse=True)
    assert configurations[0].prediction.algorithm == "prediction1"
    assert {c.prediction.algorithm for c in configurations} == set(EFFECTS)
    assert len(set(configurations)) == len(configurations)
    of_algorithms = {g.algorithm: g.best for g in statistics.algorithms}
    for name, best in of_algorithms.items():
        assert best == max(t.gain for t in statistics.best if t.configuration.prediction.algorithm == name)
    assert 10 <= len(gains) <= 10 + len(EFFECTS)


def test_pipelines_of_other_cohorts_are_judged_as_those_that_were_evaluated(statistics: CohortStatistics) -> None:
    new = [c for c in draw(SPACE, 60, np.random.default_rng(9)) if c.prediction.algorithm in EFFECTS]
    known = {tried.configuration.key: tried.gain for tried in statistics.best}
    references = {c.key: c for c in (*new, *(tried.configuration for tried in statistics.best))}
    judged = learnt(history_with_effects(), references=references)
    assert judged.elsewhere.keys() == references.keys()
    assert statistics.elsewhere == {}
    for key, gain in known.items():
        assert judged.elsewhere[key] == pytest.approx(gain, abs=1e-9)
    for configuration in new:
        assert judged.elsewhere[configuration.key] == pytest.approx(
            EFFECTS[configuration.prediction.algorithm], abs=0.025
        )
    assert replace(judged, elsewhere={}) == statistics
    text = json.dumps(judged.to_json())
    assert CohortStatistics.from_json(json.loads(text)) == judged


def test_statistics_from_before_pipelines_of_others_were_judged_are_read(statistics: CohortStatistics) -> None:
    document = statistics.to_json()
    del document["elsewhere"]
    assert CohortStatistics.from_json(document) == statistics


def test_they_survive_json(statistics: CohortStatistics) -> None:
    text = json.dumps(statistics.to_json())
    assert CohortStatistics.from_json(json.loads(text)) == statistics
    assert json.dumps(CohortStatistics.from_json(json.loads(text)).to_json()) == text


def test_the_same_seed_teaches_the_same(statistics: CohortStatistics) -> None:
    assert learnt(history_with_effects()) == statistics


def test_a_score_of_half_the_range_teaches_half_the_gain(statistics: CohortStatistics) -> None:
    def halved(e: Evaluation) -> Evaluation:
        assert e.score is not None
        return replace(e, score=0.4 + e.score / 2, fold_scores=tuple(0.4 + s / 2 for s in e.fold_scores))

    history = history_with_effects()
    half = learnt(replace(history, evaluations=tuple(map(halved, history.evaluations))))
    assert half.scale == pytest.approx(statistics.scale / 2)
    for small, large in zip(half.algorithms, statistics.algorithms, strict=True):
        assert [small.best, small.sd] == pytest.approx([large.best / 2, large.sd / 2], rel=1e-3, abs=1e-6)
    assert half.offsets == pytest.approx({key: mu / 2 for key, mu in statistics.offsets.items()}, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("failed", [range(1), range(1, 38)], ids=["simple", "nearly all"])
def test_a_search_without_its_simple_pipeline_or_with_few_scores_teaches_nothing(failed: range) -> None:
    history = history_with_effects()
    evaluations = tuple(
        replace(e, status=Status.CRASHED, score=None, fold_scores=()) if e.number in failed else e for e in history
    )
    found = learn_statistics(
        replace(history, evaluations=evaluations[:41]), SPACE, np.random.default_rng(0), cohort_id="c",
        meta_features=META, mode="classification",
    )  # fmt: skip
    assert found is None


def test_net_benefit_over_other_thresholds_is_another_metric() -> None:
    history = history_with_effects()
    low, high = (
        learnt(replace(history, metric=make_metric("net_benefit", t))).metric for t in ((0.05, 0.2), (0.4, 0.6))
    )
    assert (low, high) == ("net_benefit 0.05 to 0.2", "net_benefit 0.4 to 0.6")
    assert learnt(history).metric == "auc_roc"


def test_one_observation_tells_nothing_of_m_and_gamma() -> None:
    # The likelihood of one observation is the same for all decompositions: the chain must keep to the prior, whose
    # means are 8 and 0. Over 40 seeds the standard errors are below 0.3 and 0.1; four of them.
    observations = observe(history_of(draw(SPACE, 1, np.random.default_rng(0)), lambda _: 0.8))
    assert observations is not None
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        belief = SurrogateState.learn(Encoding(SPACE), OptimizerOptions(), observations, {}, rng)
        found.append(learn_partition_prior(belief, rng))
    subspaces, log_concentration = np.mean(found, axis=0)
    assert subspaces == pytest.approx(8, abs=1.2)
    assert log_concentration == pytest.approx(0, abs=0.4)


def test_a_long_history_teaches_the_same_whatever_the_order_of_its_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    """All prediction algorithms are alike; a pool has them one after another, and the chains see a part of it."""
    monkeypatch.setattr(observations_module, "MAX_OBSERVATIONS", 48)
    rng = np.random.default_rng(4)
    drawn = sorted(dict.fromkeys(draw(SPACE, 160, rng)), key=lambda c: c.prediction.algorithm)
    luck = rng.normal(0.75, 0.02, len(drawn))
    found = learnt(history_of(drawn, lambda i: float(luck[i]), fold_sd=0.03))
    assert sum(g.n for g in found.algorithms) == len(drawn) == found.n_evaluations
    offsets = [found.offsets[f"prediction/{name}"] for name in EFFECTS]
    assert max(map(abs, offsets)) < 0.01  # half a standard deviation; the best half and the latest gave 0.02


def test_a_very_long_history_is_judged_by_a_part_of_it_and_by_its_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dense algebra of 10,000 evaluations would take hours; the best pipelines are known all the same."""
    history = history_with_effects(150)
    whole = learnt(history)
    monkeypatch.setattr(observations_module, "MAX_OBSERVATIONS", 30)
    monkeypatch.setattr(search_statistics, "MAX_JUDGED", 40)
    sizes, plain = [], surrogate_module.cholesky

    def cholesky(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes.append(len(covariance))
        return plain(covariance)

    monkeypatch.setattr(surrogate_module, "cholesky", cholesky)
    part = learnt(history)
    tops = search_statistics.MAX_BEST + len(EFFECTS)
    assert 40 < max(sizes) <= 40 + tops < len(history)
    assert [(g.algorithm, g.n) for g in part.algorithms] == [(g.algorithm, g.n) for g in whole.algorithms]
    assert part.n_evaluations == whole.n_evaluations
    assert part.scale == pytest.approx(whole.scale)
    best = max(history.succeeded, key=lambda e: e.score or 0.0).configuration
    assert best in {tried.configuration for tried in part.best}
    for gain in part.algorithms:
        assert gain.best == pytest.approx(EFFECTS[gain.algorithm], abs=0.012)


def test_a_part_of_a_history_is_measured_in_the_unit_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the history has one good algorithm; of a part in equal turns the median is far below the clip."""
    rng = np.random.default_rng(3)
    drawn = [c for c in draw(SPACE, 500, rng) if c.prediction.algorithm != "prediction0"]
    good = [c for c in drawn if c.prediction.algorithm == "prediction1"]
    poor = [c for name in ("prediction2", "prediction3") for c in drawn if c.prediction.algorithm == name][-24:]
    simple = next(c for c in draw(SPACE, 50, rng) if c.prediction.algorithm == "prediction0")
    configurations = list(dict.fromkeys([simple, *good, *poor]))
    luck = rng.normal(0.0, 0.003, len(configurations))
    history = history_of(
        configurations,
        lambda i: 0.7 + 0.1 * (configurations[i].prediction.algorithm == "prediction1") + luck[i],
        fold_sd=0.005,
    )
    monkeypatch.setattr(observations_module, "MAX_OBSERVATIONS", 30)
    monkeypatch.setattr(search_statistics, "MAX_JUDGED", 40)
    whole = observe(history, most=len(history))
    assert whole is not None
    assert learnt(history).scale == pytest.approx(whole.scale)


def test_learning_can_be_given_up() -> None:
    class LeaveError(Exception):
        pass

    calls = []

    def leave() -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            raise LeaveError

    with pytest.raises(LeaveError):
        learn_statistics(
            history_with_effects(), SPACE, np.random.default_rng(0), cohort_id="c", meta_features=META,
            mode="classification", check=leave,
        )  # fmt: skip
