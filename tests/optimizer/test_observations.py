from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from autoprog.evaluation import EvaluatedPath, Evaluation, History, Setting, Status
from autoprog.optimizer.initial import Start
from autoprog.optimizer.observations import MAX_OBSERVATIONS, observe, with_paths
from autoprog.performance import METRICS
from autoprog.space import Configuration, Space, Step
from tests.optimizer.toys import draw, history_of, toy_space

SPACE = toy_space(((0,), (1,), (1, 2), (0,)))


def history(scores: list[float | None], **keywords: float) -> History:
    configurations = draw(SPACE, len(scores), np.random.default_rng(0))
    return history_of(configurations, scores.__getitem__, **keywords)  # type: ignore[arg-type]


def test_gains_are_clipped_standardised_and_failures_stand_at_the_clip() -> None:
    observations = observe(history([0.8, 0.7, 0.6, None, 0.1]))
    assert observations is not None
    # The median of .8 .7 .6 .1 is .65, and .65 - 1.5 (.8 - .65) = .425.
    clipped = np.array([0.8, 0.7, 0.6, 0.425, 0.425])
    np.testing.assert_allclose(observations.y, (clipped - clipped.mean()) / clipped.std(), rtol=1e-12)
    assert observations.scale == observations.take(np.array([2, 4])).scale == pytest.approx(clipped.std())
    assert observations.succeeded.tolist() == [True, True, True, False, True]


@pytest.mark.parametrize(("trust", "variance"), [(0.0, 0.02**2), (0.5, (3 * 0.02**2 + 4 * 0.05**2) / 7)])
def test_an_expected_scale_counts_as_far_as_it_is_trusted(trust: float, variance: float) -> None:
    scores = 0.7 + 0.02 * np.sqrt(1.5) * np.array([-1.0, 0.0, 1.0])  # of sd 0.02
    observations = observe(history(scores.tolist()), start=Start(scale=0.05, trust=trust))
    assert observations is not None
    np.testing.assert_allclose(observations.y, (scores - 0.7) / np.sqrt(variance), atol=1e-12)


def test_a_loss_is_turned_round() -> None:
    auc = observe(history([0.1, 0.2, 0.3]))
    loss = history([0.9, 0.8, 0.7])
    brier = observe(History(METRICS["brier"], loss.evaluations))
    assert auc is not None
    assert brier is not None
    np.testing.assert_allclose(auc.y, brier.y, atol=1e-12)


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ([0.9, 0.9, 0.9, 0.5, None], [1, 1, 1, 0, 0]),  # half are the maximum: the clip is the minimum
        ([0.7, 0.7, None], [1, 1, 0]),  # all equal: a failure is still worse
        ([0.7], [0]),
    ],
)
def test_degenerate_histories_keep_their_order(scores: list[float | None], order: list[int]) -> None:
    observations = observe(history(scores))
    assert observations is not None
    assert np.isfinite(observations.y).all()
    levels = np.unique(observations.y)
    assert np.searchsorted(levels, observations.y).tolist() == order


def test_cancelled_evaluations_tell_nothing() -> None:
    complete = history([0.8, 0.7, 0.6, None])
    last = replace(complete.evaluations[3], status=Status.CANCELLED)
    observations = observe(History(complete.metric, (*complete.evaluations[:3], last)))
    assert observations is not None
    assert [e.number for e in observations.evaluations] == [0, 1, 2]


def test_nothing_is_observed_before_the_first_success() -> None:
    assert observe(history([None, None])) is None


def test_the_noise_is_centred_on_the_pooled_residual_variance_of_the_mean() -> None:
    """With many residuals the shrinkage fades: variance (1/5 + 1/4) of the fold scores, fold effects removed."""
    rng = np.random.default_rng(1)
    n, fold_sd = 200, 0.03
    scores = rng.normal(0.7, 0.05, n)
    plain = history(scores.tolist(), fold_sd=fold_sd)
    difficulty = np.array([0.2, -0.1, 0.0, -0.2, 0.1])
    shifted = History(
        plain.metric,
        tuple(replace(e, fold_scores=tuple((np.array(e.fold_scores) + difficulty).tolist())) for e in plain),
    )
    for one in (plain, shifted):
        observations = observe(one)
        assert observations is not None
        clip = np.median(scores) - 1.5 * (scores.max() - np.median(scores))
        expected = fold_sd**2 * (1 / 5 + 1 / 4) / np.maximum(scores, clip).var()
        # 796 residuals: a relative standard error of sqrt(2 / 796) = .05.
        assert observations.noise == pytest.approx(expected, rel=0.2)


def test_a_long_history_keeps_its_best_and_its_latest() -> None:
    rng = np.random.default_rng(2)
    scores = rng.uniform(0.5, 0.9, 400)
    observations = observe(history(scores.tolist()))
    assert observations is not None
    kept = [e.number for e in observations.evaluations]
    assert len(kept) == MAX_OBSERVATIONS
    assert kept == sorted(kept)
    best = np.argsort(-scores)[: MAX_OBSERVATIONS // 2]
    assert set(best.tolist()) <= set(kept)
    latest_of_others = sorted(set(range(400)) - set(best.tolist()))[-MAX_OBSERVATIONS // 2 :]
    assert set(latest_of_others) <= set(kept)


def test_with_the_gains_that_were_observed_nothing_is_revised() -> None:
    observations = observe(with_a_lost_race())
    assert observations is not None
    gains = observations.gains[observations.succeeded]
    np.testing.assert_allclose(observations.revised(gains[None])[0], observations.y, rtol=1e-12)


@pytest.mark.parametrize(
    "others",
    [[0.6, 0.9, 0.7, 0.8, 0.75], [0.9, 0.9, 0.9, 0.2, 0.5], [0.7] * 5],
    ids=["shuffled", "half at the top", "equal"],
)
def test_other_gains_are_clipped_and_standardised_as_if_they_had_been_observed(others: list[float]) -> None:
    observations = observe(history([0.8, 0.7, 0.6, None, 0.1, 0.75]))
    other = observe(history([*others[:3], None, *others[3:]]))
    assert observations is not None
    assert other is not None
    revised = observations.revised(np.array([others, [0.8, 0.7, 0.6, 0.1, 0.75]]))
    np.testing.assert_allclose(revised, [other.y, observations.y], rtol=1e-9, atol=1e-12)


def test_what_was_raced_out_stays_where_it_was_about_the_others() -> None:
    observations = observe(with_a_lost_race())
    assert observations is not None
    gains = observations.gains[observations.succeeded]
    # Another unit, and all of them better: nothing of that is left in a standardised gain.
    np.testing.assert_allclose(observations.revised(gains[None] + 0.05)[0], observations.y, rtol=1e-9)


def with_a_lost_race() -> History:
    complete = history([0.8, 0.7, 0.6, None, 0.75])
    lost = replace(complete.evaluations[4], status=Status.RACED_OUT, score=None, risks=None, fold_scores=(0.62, 0.66))
    return History(complete.metric, (*complete.evaluations[:4], lost))


def test_outputs_that_are_not_clipped_or_are_ranks() -> None:
    """A failure stands with the worst; ranks are normal scores, whatever the distances."""
    told = history([0.8, 0.79, 0.2, 0.81, None])
    whole, ranks = observe(told, "unclipped"), observe(told, "ranks")
    assert whole is not None
    assert ranks is not None
    gains = np.array([0.8, 0.79, 0.2, 0.81, 0.2])
    np.testing.assert_allclose(whole.y, (gains - gains.mean()) / gains.std(), rtol=1e-12)
    np.testing.assert_allclose(ranks.y, [NormalDist().inv_cdf(q) for q in (0.7, 0.5, 0.2, 0.9, 0.2)], rtol=1e-9)


def test_the_ends_of_a_path_stand_beside_its_evaluation() -> None:
    booster = Space.full().algorithm("prediction", "lightgbm").default_step()
    asked = Configuration(Step.of("none"), Step.of("none"), booster, Step.of("none"))
    settings = tuple(Setting(trees, (0.5 + trees / 1000,) * 3) for trees in (25, 50, 100, 200))
    chosen = asked.at("prediction", "trees", 100)
    plain = Evaluation(0, 0, asked.at("prediction", "trees", 30), Status.SUCCEEDED, 0.6, (0.6,) * 3)
    along = Evaluation(
        1, 0, chosen, Status.SUCCEEDED, 0.6, (0.6,) * 3, np.zeros(4), path=EvaluatedPath("trees", 500, settings)
    )
    found = with_paths(History(METRICS["auc_roc"], (plain, along)))
    assert found.evaluations[:2] == (plain, along)
    ends = [(e.number, dict(e.configuration.prediction.parameters)["trees"], e.score) for e in found.evaluations[2:]]
    assert ends == [(2, 25, pytest.approx(0.525)), (3, 200, pytest.approx(0.7))]
    assert along.proposed == asked.at("prediction", "trees", 500)
    assert plain.proposed == plain.configuration
    observations = observe(found)
    assert observations is not None
    assert len(observations.y) == 4
