"""The contract of every optimizer, over the table of presets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autoprog.errors import InvalidInputError, SearchFailedError
from autoprog.evaluation import EvaluatedPath, Evaluation, History, Setting, Status
from autoprog.optimizer import PRESETS, Optimizer, OptimizerOptions, Proposal, Start, improvement, make_optimizer
from autoprog.optimizer.encoding import Encoding
from autoprog.optimizer.initial import SIMPLE_PIPELINE
from autoprog.optimizer.main_effects import family_labels
from autoprog.performance import METRICS
from autoprog.space import STAGES, Configuration, Space, TableShape, predicted_seconds
from tests.optimizer.toys import SHAPE, draw, full_table, history_of, toy_score, toy_space

MISSING = TableShape(200, 20, 80, has_missing=True)


def evaluated(proposals: list[Proposal], space: Space) -> History:
    """What a search would have seen: every seventh evaluation fails."""
    score = toy_score(Encoding(space))
    configurations = [c for p in proposals for c in p.configurations]
    return history_of(configurations, lambda i: None if i % 7 == 6 else score(configurations[i]))


def search(optimizer: Optimizer, space: Space, batches: int, size: int = 4) -> list[Proposal]:
    proposals: list[Proposal] = []
    state: Mapping[str, Any] = {}
    for batch in range(batches):
        proposals.append(
            optimizer.propose(evaluated(proposals, space), batch, size, np.random.default_rng([0, batch]), state)
        )
        state = json.loads(json.dumps(proposals[-1].state))
    return proposals


@pytest.fixture(scope="module", params=PRESETS)
def preset(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def proposals(preset: str) -> list[Proposal]:
    space = Space.full()
    return search(make_optimizer(space, MISSING, OptimizerOptions.of(preset, {})), space, 9)  # type: ignore[arg-type]


def test_no_configuration_is_proposed_twice_and_failed_ones_never_again(proposals: list[Proposal]) -> None:
    configurations = [c for p in proposals for c in p.configurations]
    assert len({c.key for c in configurations}) == len(configurations)
    assert all(0 < len(p.configurations) <= 4 for p in proposals)


def test_batches_are_valid_and_full(proposals: list[Proposal]) -> None:
    kinds = set(Space.full().valid_kinds(MISSING))
    assert all(Space.full().find_kind(c) in kinds for p in proposals for c in p.configurations)
    assert all(len(p.configurations) == 4 for p in proposals)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "random"], indirect=True)
def test_predictors_of_a_batch_are_distinct(proposals: list[Proposal]) -> None:
    for proposal in proposals[3:]:
        predictors = [c.prediction.algorithm for c in proposal.configurations]
        assert len(set(predictors)) == len(predictors)


@pytest.mark.parametrize("preset", ["random"], indirect=True)
def test_random_search_has_no_state(proposals: list[Proposal]) -> None:
    assert all(p.state == {} for p in proposals)


@pytest.mark.parametrize("preset", ["paper"], indirect=True)
def test_predictors_of_the_papers_batch_lie_in_distinct_subspaces_of_the_map_decomposition(
    proposals: list[Proposal],
) -> None:
    keys = Encoding(Space.full()).keys
    for proposal in proposals[3:]:
        z = dict(zip(keys, proposal.state["best"], strict=True))
        predictors = [f"prediction/{c.prediction.algorithm}" for c in proposal.configurations]
        holding = len({label for key, label in z.items() if key.startswith("prediction/")})
        first = predictors[: min(4, holding)]
        assert len({z[p] for p in first}) == len(first)


def test_the_simple_pipeline_is_the_first_of_all(proposals: list[Proposal]) -> None:
    first = proposals[0].configurations[0]
    assert tuple(first.step(stage).algorithm for stage in STAGES) == SIMPLE_PIPELINE


def test_the_simple_pipeline_is_the_first_where_it_is_not_among_the_cheaper_half(preset: str) -> None:
    space = Space.subset({"imputation": ["mean", "median"], "features": ["none"], "calibration": ["none"]})
    optimizer = make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]
    (first,) = optimizer.propose(History(METRICS["auc_roc"]), 0, 1, np.random.default_rng(0), {}).configurations
    assert tuple(first.step(stage).algorithm for stage in STAGES) == SIMPLE_PIPELINE


def test_a_resumed_search_proposes_what_an_unbroken_one_does(preset: str, proposals: list[Proposal]) -> None:
    """Another object, with states that went through JSON, proposes each batch again to the last bit."""
    space = Space.full()
    for batch in (0, 2, 3, 8):
        fresh = make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]
        state = json.loads(json.dumps(proposals[batch - 1].state)) if batch else {}
        again = fresh.propose(evaluated(proposals[:batch], space), batch, 4, np.random.default_rng([0, batch]), state)
        assert again == proposals[batch]


def test_what_is_pending_is_not_proposed_again(preset: str, proposals: list[Proposal]) -> None:
    """With the same draws as the batch that is under way."""
    space = Space.full()
    optimizer = make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]
    history, pending = evaluated(proposals[:8], space), proposals[8].configurations
    following = optimizer.propose(history, 8, 4, np.random.default_rng([0, 8]), proposals[7].state, pending)
    assert len(following.configurations) >= 1
    assert set(following.configurations).isdisjoint(pending)
    again = optimizer.propose(history, 8, 4, np.random.default_rng([0, 8]), proposals[7].state)
    assert again.configurations == pending


def test_what_was_asked_for_along_a_path_is_not_proposed_again(preset: str) -> None:
    """The history has the setting that was chosen, below the bound that was proposed."""
    space = toy_space(((0,), (0,), (1,), (0,)))
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions.of(preset, {"subspaces": 2}))  # type: ignore[arg-type]
    (first,) = optimizer.propose(History(METRICS["auc_roc"]), 0, 1, np.random.default_rng(0), {}).configurations
    history = history_of([first.at("prediction", "h0", 0.2)], lambda _: 0.7)
    (evaluation,) = history
    path = EvaluatedPath("h0", 0.5, (Setting(0.2, evaluation.fold_scores),))
    history = replace(history, evaluations=(replace(evaluation, path=path),))
    assert history.evaluations[0].proposed == first
    (following,) = optimizer.propose(history, 1, 1, np.random.default_rng(0), {}).configurations
    assert following != first


def test_another_seed_proposes_otherwise(preset: str, proposals: list[Proposal]) -> None:
    space = Space.full()
    optimizer = make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]
    other = optimizer.propose(evaluated(proposals[:8], space), 8, 4, np.random.default_rng([1, 8]), proposals[7].state)
    assert other.configurations != proposals[8].configurations


def test_a_space_without_hyperparameters_is_searched_to_its_last_pipeline(preset: str) -> None:
    space = toy_space(((0, 0), (0, 0), (0, 0, 0), (0, 0)))
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions.of(preset, {"subspaces": 3}))  # type: ignore[arg-type]
    proposals = search(optimizer, space, 8)
    found = [c for p in proposals for c in p.configurations]
    assert len(set(found)) == len(found) == 24
    assert proposals[-1].configurations == ()


def test_the_posterior_is_joint_and_speaks_of_succeeded_evaluations(preset: str, proposals: list[Proposal]) -> None:
    space = Space.full()
    optimizer = make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]
    history = evaluated(proposals, space)
    posterior = optimizer.posterior(history, np.random.default_rng(0), proposals[-1].state)
    again = optimizer.posterior(history, np.random.default_rng(0), json.loads(json.dumps(proposals[-1].state)))
    assert posterior.numbers == tuple(e.number for e in history.succeeded)
    np.testing.assert_array_equal(posterior.means, again.means)
    t = len(posterior.numbers)
    assert posterior.covariances.shape == (len(posterior.decompositions), t, t)
    assert np.linalg.eigvalsh(posterior.covariances).min() > -1e-10
    # The posterior mean ranks what was observed.
    assert np.corrcoef(posterior.means.mean(axis=0), history.gains())[0, 1] > 0.5

    document = json.loads(json.dumps(posterior.to_json()))
    assert sorted(k for m in document["subspaces"] for k in m["algorithms"]) == sorted(posterior.keys)
    together = np.array(document["co_membership"]["frequencies"])
    assert together.shape == (len(posterior.keys),) * 2
    assert np.array_equal(together, together.T)
    assert np.array_equal(np.diag(together), np.ones(len(together)))


def test_a_history_without_success_stays_in_the_first_design_and_has_no_posterior(preset: str) -> None:
    space = Space.full()
    optimizer = make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]
    configurations = optimizer.propose(History(METRICS["auc_roc"]), 0, 12, np.random.default_rng(0), {}).configurations
    history = history_of(configurations, lambda _: None)
    following = optimizer.propose(history, 1, 4, np.random.default_rng(1), {})
    assert len(following.configurations) == 4
    assert not set(configurations) & set(following.configurations)
    with pytest.raises(SearchFailedError, match="none of 12 evaluations"):
        optimizer.posterior(history, np.random.default_rng(0), {})


def test_one_evaluation_has_a_posterior(preset: str) -> None:
    space = Space.full()
    optimizer = make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]
    configurations = optimizer.propose(History(METRICS["auc_roc"]), 0, 1, np.random.default_rng(0), {}).configurations
    posterior = optimizer.posterior(history_of(configurations, lambda _: 0.7), np.random.default_rng(0), {})
    assert posterior.numbers == (0,)
    assert np.isfinite(posterior.means).all()


def test_invalid_spaces_are_refused(preset: str) -> None:
    space = Space.subset({"imputation": ["none"], "prediction": ["logistic_regression"]})
    with pytest.raises(InvalidInputError, match="missing cells"):
        make_optimizer(space, MISSING, OptimizerOptions.of(preset, {}))  # type: ignore[arg-type]


def test_the_default_finds_better_pipelines_than_random_search() -> None:
    """Mean best score after 40 evaluations of a smooth toy objective, over 6 paired objectives."""
    space = toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0)))
    best: dict[str, list[float]] = {"default": [], "random": []}
    for name, found in best.items():
        for seed in range(6):
            score = toy_score(Encoding(space), seed)
            optimizer = make_optimizer(space, SHAPE, OptimizerOptions.of(name, {"subspaces": 4}))  # type: ignore[arg-type]
            seen: list[Configuration] = []
            state: Mapping[str, Any] = {}
            for batch in range(10):
                history = history_of(seen, lambda i, seen=seen, score=score: score(seen[i]))
                proposal = optimizer.propose(history, batch, 4, np.random.default_rng([seed, batch]), state)
                seen += proposal.configurations
                state = proposal.state
            found.append(max(map(score, seen)))
    assert np.mean(best["default"]) > np.mean(best["random"]) + 0.005


def test_failing_neighbourhoods_are_avoided() -> None:
    """A predictor that always fails is hardly proposed again once the first design has tried it."""
    space = toy_space(((0,), (1,), (2, 2, 2), (0,)))
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions(subspaces=4))
    seen: list[Configuration] = []
    state: Mapping[str, Any] = {}
    level = {"prediction0": 0.8, "prediction1": 0.75, "prediction2": None}
    for batch in range(12):
        rng = np.random.default_rng(batch)
        history = history_of(seen, lambda i, seen=seen: level[seen[i].prediction.algorithm])
        proposal = optimizer.propose(history, batch, 2, rng, state)
        seen += proposal.configurations
        state = proposal.state
    uses = [sum(c.prediction.algorithm == name for c in seen[10:]) for name in level]
    assert uses[2] <= uses[0] / 5


def test_a_predictor_that_fails_has_no_share_of_every_batch() -> None:
    """With as many predictors as a batch has pipelines; the best comes up again before one that fails."""
    space = toy_space(((0,), (1,), (2, 2, 2, 2), (0,)))
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions())
    level = {"prediction0": 0.82, "prediction1": 0.8, "prediction2": 0.8, "prediction3": None}
    seen: list[Configuration] = []
    state: Mapping[str, Any] = {}
    while len(seen) < 40:
        history = history_of(seen, lambda i, seen=seen: level[seen[i].prediction.algorithm])
        proposal = optimizer.propose(history, len(seen), 4, np.random.default_rng([0, len(seen)]), state)
        seen += proposal.configurations
        state = proposal.state
    uses = [sum(c.prediction.algorithm == name for c in seen[12:]) for name in level]
    assert uses[3] <= 2
    assert uses[0] == max(uses)


def test_in_a_space_with_fewer_predictors_than_a_batch_nothing_is_left_to_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(improvement, "uniform_design", lambda _e, _k, n, *_: drawn.append(n) or ())
    only = {"imputation": ["median"], "features": ["none"], "calibration": ["none"]}
    space = Space.subset({**only, "prediction": ["logistic_regression", "gaussian_nb", "xgboost"]})
    proposals = search(make_optimizer(space, MISSING, OptimizerOptions()), space, 8)
    assert [len(p.configurations) for p in proposals] == [4] * 8
    assert not drawn


@pytest.mark.parametrize("fails", [False, True])
def test_a_first_design_goes_on_to_dear_pipelines_where_there_are_no_others(fails: bool) -> None:
    space = Space.subset(
        {"imputation": ["median", "mean", "most_frequent"], "features": ["none"], "prediction": ["gaussian_nb"]}
    )
    kinds = space.valid_kinds(MISSING)
    assert len({round(predicted_seconds(kind, MISSING), 9) for kind in kinds}) > 1
    optimizer = make_optimizer(space, MISSING, OptimizerOptions())
    seen: list[Configuration] = []
    state: Mapping[str, Any] = {}
    for batch in range(len(kinds)):
        history = history_of(seen, lambda i: None if fails else 0.7 + 0.01 * (i % 3))
        proposal = optimizer.propose(history, batch, 2, np.random.default_rng([0, batch]), state)
        seen += proposal.configurations
        state = proposal.state
        if len(seen) >= len(kinds):
            break
    assert {space.find_kind(c) for c in seen} == set(kinds)


@pytest.mark.parametrize("decompositions", ["random", "weighted"])
def test_what_is_not_learnt_is_not_concluded_either(decompositions: str) -> None:
    """Neither the first kernel nor the final posterior knows the families or the chain."""
    space = Space.table_1()
    options = OptimizerOptions.of("default", {"decompositions": decompositions})
    optimizer = make_optimizer(space, MISSING, options)
    proposals = search(optimizer, space, 4)
    algorithms = Encoding(space.restricted_to(space.valid_kinds(MISSING))).algorithms
    homes = family_labels(algorithms, options.subspaces)
    assert proposals[-1].state["best"] != homes.tolist()
    posterior = optimizer.posterior(evaluated(proposals, space), np.random.default_rng(0), proposals[-1].state)
    assert len(posterior.decompositions) == 20
    if decompositions == "random":
        # Twenty independent draws of forty labels: no two algorithms are together in nearly all of them.
        together = posterior.co_membership()
        assert together[~np.eye(len(together), dtype=bool)].max() < 0.8


def test_a_state_with_more_subspaces_goes_on_and_one_of_other_algorithms_begins_anew() -> None:
    """With fewer subspaces in the options, and after an upgrade that adds algorithms to the space."""
    space = toy_space(((0,), (0,), (1, 1, 1, 1), (0,)))
    more = make_optimizer(space, SHAPE, OptimizerOptions(subspaces=5, family_strength=0.0))
    proposals = search(more, space, 6)
    history, state = evaluated(proposals, space), dict(proposals[-1].state)
    state["samples"] = [[4] * len(state["labels"])]
    fewer = make_optimizer(space, SHAPE, OptimizerOptions(subspaces=2, family_strength=0.0))
    earlier = {name: value for name, value in state.items() if name != "subspaces"}
    for inherited in (state, earlier):
        posterior = fewer.posterior(history, np.random.default_rng(0), inherited)
        assert len(posterior.decompositions) == 20
        assert fewer.propose(history, 6, 2, np.random.default_rng(0), inherited).state["subspaces"] == 5
    other = make_optimizer(toy_space(((0,), (0,), (1, 1, 1, 1, 1), (0,))), SHAPE, OptimizerOptions(subspaces=2))
    inherited, anew = (other.propose(history, 6, 2, np.random.default_rng(0), s) for s in (state, {}))
    assert inherited == anew
    assert inherited.state["subspaces"] == 2


def test_a_cancelled_evaluation_is_not_proposed_again() -> None:
    space = toy_space(((0,), (0,), (0, 0), (0, 0)))
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions(subspaces=2))
    configurations = optimizer.propose(History(METRICS["auc_roc"]), 0, 3, np.random.default_rng(0), {}).configurations
    history = history_of(configurations, lambda _: 0.7)
    cancelled = Evaluation(2, 0, configurations[2], Status.CANCELLED)
    following = optimizer.propose(
        replace(history, evaluations=(*history.evaluations[:2], cancelled)), 1, 4, np.random.default_rng(1), {}
    )
    assert len(following.configurations) == 1
    assert following.configurations[0] not in configurations


@pytest.mark.parametrize(
    "given",
    [
        {"decompositions": "random"},
        {"decompositions": "weighted"},
        {"local_after": 12},
        {"outputs": "unclipped"},
        {"outputs": "ranks"},
    ],
)
def test_every_switch_proposes_what_is_new_and_the_same_again(given: dict[str, Any]) -> None:
    space = toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0)))
    options = OptimizerOptions.of("default", {"subspaces": 4, **given})
    first, again = (search(make_optimizer(space, SHAPE, options), space, 5) for _ in range(2))
    assert first == again
    plain = search(make_optimizer(space, SHAPE, OptimizerOptions(subspaces=4)), space, 5)
    assert [p.configurations for p in first] != [p.configurations for p in plain]
    found = [c for p in first for c in p.configurations]
    assert len(set(found)) == len(found) == 20


@pytest.mark.parametrize(
    "given", [{"ascent": False}, {"counts": "shared"}, {"gated": False}, {"full_batches": False, "subspaces": 2}]
)
def test_every_switch_of_the_paper_proposes_otherwise_and_the_same_again(given: dict[str, Any]) -> None:
    space = toy_space(((0, 1), (0, 2), (0, 1, 2, 2), (0, 0)))
    options = OptimizerOptions.of("paper", {"subspaces": 4, **given})
    first, again = (search(make_optimizer(space, SHAPE, options), space, 5) for _ in range(2))
    assert first == again
    plain = search(make_optimizer(space, SHAPE, OptimizerOptions.of("paper", {"subspaces": 4})), space, 5)
    assert [p.configurations for p in first] != [p.configurations for p in plain]
    lengths = [len(p.configurations) for p in first[3:]]
    assert max(lengths) <= 2 if "full_batches" in given else lengths == [4, 4]


def test_what_earlier_cohorts_have_taught_moves_the_papers_bounds() -> None:
    """A prior mean far above the others' of one predictor, which the cohort does not deny, is followed."""
    space = toy_space(((0,), (0,), (1, 1, 1, 1, 1, 1), (0,)))
    options = OptimizerOptions.of("paper", {"subspaces": 4})
    start = Start(offsets={"prediction/prediction4": 3.0, "prediction/prediction4/h0": 1.0}, n_cohorts=9)
    history = history_of(draw(space, 12, np.random.default_rng(2)), lambda _: 0.7)
    first = [
        make_optimizer(space, SHAPE, options, each)
        .propose(history, 3, 4, np.random.default_rng(3), {})
        .configurations[0]
        for each in (start, Start())
    ]
    assert first[0].prediction.algorithm == "prediction4"
    assert dict(first[0].prediction.parameters)["h0"] > 0.8
    assert first[0] != first[1]


def test_a_local_search_changes_the_best() -> None:
    """Of an old history every proposal differs from one of the eight best pipelines in few steps."""
    space = toy_space(((0, 1), (0, 2), (0, 1, 2, 2, 1, 2), (0, 0)))
    configurations = draw(space, 60, np.random.default_rng(4))
    score = toy_score(Encoding(space))
    history = history_of(configurations, lambda i: score(configurations[i]))
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions(subspaces=4, local_after=50))
    batch = optimizer.propose(history, 15, 1, np.random.default_rng(0), {}).configurations
    best = [configurations[e.number] for e in sorted(history.succeeded, key=lambda e: -(e.score or 0.0))[:20]]
    assert all(min(sum(c.step(s) != b.step(s) for s in STAGES) for b in best) <= 2 for c in batch)


def test_a_portfolio_comes_after_the_simple_pipeline_and_the_surrogate_after_the_portfolio() -> None:
    space = Space.full()
    drawn = {c.prediction.algorithm: c for c in (space.draw(k, np.random.default_rng(i)) for i, k in
             enumerate(space.valid_kinds(MISSING)[::37]))}  # fmt: skip
    portfolio = tuple(drawn.values())[:5]
    optimizer = make_optimizer(space, MISSING, OptimizerOptions(), Start(portfolio, trust=0.5))
    proposals = search(optimizer, space, 4)
    found = [c for p in proposals for c in p.configurations]
    assert tuple(found[1:6]) == portfolio
    assert [bool(p.state) for p in proposals] == [False, False, True, True]  # sampled decompositions, or none yet
    assert [len(p.configurations) for p in proposals] == [4, 4, 4, 4]


@pytest.mark.parametrize(("size", "of_portfolio", "first_batches"), [(1, 1, 2), (4, 3, 1)])
def test_where_gains_are_expected_a_portfolio_is_for_what_runs_beside_its_first(
    size: int, of_portfolio: int, first_batches: int
) -> None:
    space = Space.full()
    kinds = {kind[2].name: kind for kind in space.valid_kinds(MISSING)}
    portfolio = tuple(space.default(kind) for name, kind in kinds.items() if name != "logistic_regression")[:5]
    start = Start(portfolio, {"prediction/ridge": 0.5}, scale=0.05, trust=0.9)
    proposals = search(make_optimizer(space, MISSING, OptimizerOptions(), start), space, 3, size)
    found = [c for p in proposals for c in p.configurations]
    assert tuple(found[1 : 1 + of_portfolio]) == portfolio[:of_portfolio]
    assert [bool(p.state) for p in proposals] == [batch >= first_batches for batch in range(3)]


def test_what_earlier_cohorts_taught_of_algorithms_moves_the_choice() -> None:
    """Of what is not evaluated yet what did well elsewhere comes first, and what did badly not soon."""
    space = toy_space(((0, 1), (0, 2), (1, 1, 1, 1), (0, 0)))
    offsets = {"prediction/prediction2": 1.5, "prediction/prediction3": -1.5}
    known = [kind for kind in space.valid_kinds(SHAPE) if kind[2].name in {"prediction0", "prediction1"}]
    portfolio = tuple(space.default(kind) for kind in known[-5:])
    optimizer = make_optimizer(space, SHAPE, OptimizerOptions(), Start(portfolio, offsets, trust=0.9))
    design = optimizer.propose(History(METRICS["auc_roc"]), 0, 6, np.random.default_rng(0), {}).configurations
    assert design[1:] == portfolio
    history = history_of(design, lambda i: 0.8 + 0.001 * i)
    batch = optimizer.propose(history, 1, 4, np.random.default_rng(1), {}).configurations
    order = [c.prediction.algorithm for c in batch]
    assert order[0] == "prediction2"
    assert "prediction3" not in order


def test_the_space_of_the_source_is_searched() -> None:
    space = full_table()
    assert (len(space.algorithms), space.n_pipelines, space.n_dimensions) == (41, 4800, 106)
    proposals = search(make_optimizer(space, SHAPE, OptimizerOptions()), space, 4)
    assert [len(p.configurations) for p in proposals] == [4, 4, 4, 4]
