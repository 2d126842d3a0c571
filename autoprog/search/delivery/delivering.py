"""The end of a search: weight what was explored, refit it, assess it and explain it."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from autoprog.cohort import Cohort, WindowSchema
from autoprog.endpoints import make_endpoint, rules_document
from autoprog.ensemble import WEIGHING_RULES, Ensemble
from autoprog.errors import ArtifactError, SearchFailedError
from autoprog.evaluation import History, Plan, Status
from autoprog.model import Member, ModelMetadata, PrognosticModel, check_estimator
from autoprog.optimizer import Posterior
from autoprog.search.clock import Clock, posterior_s
from autoprog.search.delivery.assessment import Choice, FittedEnsemble
from autoprog.search.delivery.summary import DeliveryContext, ModelSummary, summarise_model
from autoprog.search.loop import Exploration
from autoprog.search.ports import Claim, Phase, SearchResult, SearchState, Store
from autoprog.search.refits import Refit, plan_phases
from autoprog.search.tasks import fit
from autoprog.space import Configuration, list_modules
from autoprog.work import Call, CallLimits, CallOutcome, CallStatus, Dispatcher, Signals, run_calls

# Module that writes fitted pipelines.
_WRITER = "autoprog.model.skops_io"

# Seed unlike any number of a batch; those seed the proposals.
_CONCLUSION_STREAM = 2**32 - 3


def deliver(
    store: Store,
    dispatcher: Dispatcher,
    claim: Claim,
    state: SearchState,
    *,
    cohort: Cohort,
    exploration: Exploration,
    signals: Signals,
) -> SearchResult:
    """Make the model of a finished search; raises SearchFailedError if no pipeline succeeded or could be refitted."""
    if not exploration.history.succeeded:
        raise SearchFailedError(_why_nothing(exploration.history))
    history, plan, warnings = exploration.outcome()
    store.record_phase(claim, Phase.ENSEMBLE)
    exploration.clock.count(dispatcher.slots)
    fitted = _fit_ensemble(exploration, history, plan)
    # This process computes while the slots refit: small products, for which threads would take cores from the slots.
    with threadpool_limits(1), ThreadPoolExecutor(1) as aside:
        # Of an opening alone the optimizer concludes nothing, and a posterior may be what has ended other runners.
        learnt = (exploration.counts()["n_proposed"] or 0) > 0 and not exploration.is_cut_short
        in_time = exploration.clock.allows(posterior_s(len(exploration.explored)))
        concluded = aside.submit(_concluded, exploration) if learnt and in_time else None
        fitted, members, left_out = _refit(dispatcher, exploration, fitted, signals)
        context = DeliveryContext(
            dispatcher, state, exploration.clock, signals, lambda phase: store.record_phase(claim, phase), aside
        )
        summary = summarise_model(fitted, context)
        model = _build_model(fitted, members, summary, None if cohort.visits is None else WindowSchema.of(cohort))
        summary.document["interval"] = model.interval_document
        summary.document["run"] = _run_document(exploration, fitted, model)
        warnings = [*warnings, *left_out, *summary.warnings, *_losses(exploration.history)]
        rules = rules_document(summary.rule_sets, model.horizons)
        if learnt and concluded is None:
            warnings.append("the time budget left no time to conclude which algorithms are alike on this cohort")
        decomposition = None if concluded is None else concluded.result().to_json()
        return SearchResult(model, summary.document, rules, decomposition, tuple(warnings))


def _fit_ensemble(exploration: Exploration, history: History, plan: Plan) -> FittedEnsemble:
    """Choose the ensemble of a history."""
    settings = exploration.state.settings
    endpoint = make_endpoint(plan.sample(exploration.cohort), plan.times, settings.thresholds)
    ensemble, candidates = exploration.choose_ensemble(history, endpoint)
    return FittedEnsemble(ensemble, candidates, Choice(WEIGHING_RULES[settings.ensemble]), endpoint, plan)


def _concluded(exploration: Exploration) -> Posterior:
    """Posterior of all explored pipelines; finalists alone say little about which algorithms are alike."""
    rng = np.random.default_rng([exploration.state.settings.seed, _CONCLUSION_STREAM])
    return exploration.posterior(exploration.explored, rng)


def _build_model(
    fitted: FittedEnsemble, members: Sequence[Member], summary: ModelSummary, windows: WindowSchema | None
) -> PrognosticModel:
    """Build the model from the refitted members and their summary."""
    if windows is not None:
        lengths = [m.configuration.window or fitted.plan.window for m in fitted.ensemble.members]
        members = [replace(m, window=length) for m, length in zip(members, lengths, strict=True)]
    return PrognosticModel(
        fitted.cohort.features,
        fitted.cohort.outcome,
        tuple(members),
        summary.rule_sets,
        ModelMetadata.of(fitted.cohort),
        summary.recalibration,
        scale=fitted.ensemble.scale,
        intervals=summary.intervals.intervals,
        interval_method=summary.intervals.method,
        windows=windows,
        competing=summary.competing,
        distribution=summary.distribution,
        window=None if windows is None else fitted.plan.window,
    )


def _run_document(exploration: Exploration, fitted: FittedEnsemble, model: PrognosticModel) -> dict[str, Any]:
    """How the model was made, for who writes about it: counts and versions that no other document has."""
    groups = fitted.cohort.groups
    return {
        **exploration.counts(),
        "n_rows": fitted.cohort.n_rows,
        "n_groups": None if groups is None else len(np.unique(groups)),
        "software": {"python": platform.python_version(), **model.metadata.versions},
    }


def _why_nothing(history: History) -> str:
    counts = Counter(e.status.value for e in history)
    reason = next((e.reason for e in history if e.reason), None)
    what = ", ".join(f"{n} {status}" for status, n in counts.items()) or "none was made before the search ended"
    return f"no evaluation succeeded: {what}" + (f"; first reason: {reason}" if reason else "")


def _in_time(ensemble: Ensemble, history: History, plan: Plan, clock: Clock) -> tuple[Ensemble, list[str]]:
    """Keep the members that the time left allows to refit, heaviest first; if none, the quickest."""
    refits = {e.number: Refit.of(e, plan.folds) for e in history.succeeded}
    kept = clock.affordable([refits[m.number] for m in ensemble.members])
    late = {m.number for m, is_kept in zip(ensemble.members, kept, strict=True) if not is_kept}
    if len(late) == len(ensemble.members):
        late.remove(min(late, key=lambda number: refits[number].seconds))
    if not late:
        return ensemble, []
    texts = [f"the time budget left no time to refit {len(late)} of {len(ensemble.members)} members of the ensemble"]
    return ensemble.without(late), texts


def _refit(
    dispatcher: Dispatcher, exploration: Exploration, fitted: FittedEnsemble, signals: Signals
) -> tuple[FittedEnsemble, tuple[Member, ...], list[str]]:
    """Refit an ensemble to all patients or, while no member can be, one of the other evaluations; with warnings."""
    warnings, is_last = list[str](), False
    while True:
        ensemble, too_late = _in_time(fitted.ensemble, fitted.history, fitted.plan, exploration.clock)
        outcomes = _refit_members(dispatcher, exploration, ensemble, fitted, signals)
        failed = {int(o.key): o for o in outcomes if o.status is not CallStatus.SUCCEEDED}
        warnings += _left_out(failed.values(), len(outcomes))
        if len(failed) < len(outcomes):
            break
        history = _without(fitted.history, failed)
        if is_last or not history.succeeded:
            raise SearchFailedError(f"no member of the ensemble could be refitted: {outcomes[0].reason}")
        if is_last := exploration.clock.refits_end():
            quickest = min(history.succeeded, key=lambda e: Refit.of(e, fitted.plan.folds).seconds)
            history = _without(history, {e.number for e in history.succeeded} - {quickest.number})
        fitted = _fit_ensemble(exploration, history, fitted.plan)
    ensemble = ensemble.without(failed)
    lost = {m.number for m in fitted.ensemble.members} - {m.number for m in ensemble.members}
    values = {int(o.key): o.value for o in outcomes}
    members = tuple(Member(m.weight, values[m.number]) for m in ensemble.members)
    fitted = replace(fitted, ensemble=ensemble, choice=fitted.choice._replace(lost=frozenset(lost)))
    return fitted, members, [*too_late, *warnings]


def _without(history: History, numbers: Collection[int]) -> History:
    """A history in which these evaluations have not succeeded; the simple pipeline stays what others compare with."""
    evaluations = tuple(replace(e, status=Status.INVALID) if e.number in numbers else e for e in history)
    return replace(history, evaluations=evaluations)


def _refit_members(
    dispatcher: Dispatcher, exploration: Exploration, ensemble: Ensemble, fitted: FittedEnsemble, signals: Signals
) -> list[CallOutcome]:
    """Refit every member, as long as time allows; one outcome each."""
    state, outcomes = exploration.state, list[CallOutcome]()

    # Time limits only what follows the first refit: without any there is no model.
    def stop() -> bool:
        has_model = any(o.status is CallStatus.SUCCEEDED for o in outcomes)
        return signals.leave() or (has_model and exploration.clock.refits_end())

    def call(number: int, configuration: Configuration, threads: int) -> Call:
        arguments = (state.cohort, configuration, fitted.plan, threads)
        return Call(str(number), fit, arguments, (*list_modules(configuration), _WRITER))

    refits = {e.number: Refit.of(e, fitted.plan.folds) for e in fitted.history.succeeded}
    limits = CallLimits(state.settings.final_s, state.settings.limits.memory_mb)
    clock = exploration.clock
    for places, threads in plan_phases([refits[m.number] for m in ensemble.members], clock.slots, clock.threads):
        phase = [ensemble.members[place] for place in places]
        calls = [call(m.number, m.configuration, threads) for m in phase]
        for outcome in run_calls(dispatcher, calls, limits, stop):
            outcomes.append(_checked(outcome))
    signals.check()
    return outcomes


def _left_out(failed: Collection[CallOutcome], n_members: int) -> list[str]:
    """Warnings of the members that were not refitted."""
    cut = [o for o in failed if o.status is CallStatus.CANCELLED]
    warnings = [
        f"evaluation {o.key} is left out of the ensemble: its refit ended as {o.status}, {o.reason}"
        for o in failed
        if o not in cut
    ]
    if cut:
        warnings.append(f"the time budget cut the refits of {len(cut)} of {n_members} members of the ensemble")
    return warnings


def _checked(outcome: CallOutcome) -> CallOutcome:
    """Return the outcome of a refit, failed if what came is no fitted pipeline."""
    if outcome.status is CallStatus.SUCCEEDED:
        try:
            check_estimator(outcome.value)
        except ArtifactError as error:
            return replace(outcome, status=CallStatus.FAILED, value=None, reason=f"its answer is refused: {error}")
    return outcome


def _losses(history: History) -> list[str]:
    """Warnings, one per kind of failure, so that a search that lost many evaluations does not look like any other."""
    no_loss = {Status.SUCCEEDED, Status.RACED_OUT, Status.CANCELLED}
    counts = Counter(e.status.value for e in history if e.status not in no_loss)
    return [f"{n} of {len(history)} evaluations ended as {status}" for status, n in counts.items()]
