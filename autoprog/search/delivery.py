"""The end of a search: weigh what was explored, refit it, say how good it is, and explain it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from autoprog.cohort import Cohort
from autoprog.ensemble import RULES, Candidates, Ensemble
from autoprog.errors import SearchFailedError
from autoprog.evaluation import History, Plan, Status
from autoprog.interpreter import explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel
from autoprog.search.assessment import calibration_warnings, ensemble_document, subgroup_documents
from autoprog.search.calls import run_calls
from autoprog.search.clock import Clock, refit_s
from autoprog.search.loop import Exploration
from autoprog.search.ports import (
    Call,
    CallLimits,
    CallOutcome,
    CallStatus,
    Claim,
    Dispatcher,
    Phase,
    SearchState,
    Store,
)
from autoprog.search.result import SearchResult
from autoprog.search.signals import Signals
from autoprog.search.work import fit
from autoprog.validation import Patients, fit_recalibration

# Apart from the numbers of batches, which seed the proposals.
_ENSEMBLE_STREAM = 2**32 - 1


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
    """Make the model of a search from what it has seen.

    Parameters
    ----------
    store : Store
        Told of the phases.
    dispatcher : Dispatcher
        Refits the members under the search's limits.
    claim : Claim
        This runner's hold on the search.
    state : SearchState
        Settings and the cohort's place.
    cohort : Cohort
        The patients.
    exploration : Exploration
        Finished.
    signals : Signals
        Tell when to leave the search as it is; a cancelled one is delivered.

    Returns
    -------
    SearchResult
        The model and its documents.

    Raises
    ------
    SearchFailedError
        If no evaluation succeeded, or no member could be refitted.
    LeaseLostError, ShutdownError
        If the search must be left.
    """
    if not exploration.history.succeeded:
        raise SearchFailedError(_why_nothing(exploration.history))
    history, plan, warnings = exploration.outcome()
    cohort = plan.sample(cohort)
    store.record_phase(claim, Phase.ENSEMBLE)
    rng = np.random.default_rng([state.settings.seed, _ENSEMBLE_STREAM])
    posterior = exploration.optimizer.posterior(history, rng, exploration.optimizer_state)
    candidates, rule = Candidates(history, posterior, cohort.y), RULES[state.settings.ensemble]
    ensemble = rule.weigh(candidates, rng)
    decomposition = posterior
    if len(history) < len(exploration.explored):  # finalists alone say little of which algorithms are alike
        decomposition = exploration.optimizer.posterior(exploration.explored, rng, exploration.optimizer_state)
    ensemble, too_late = _in_time(ensemble, history, exploration.clock)
    members, ensemble, left_out = _refit(dispatcher, state, ensemble, plan, exploration.clock, signals)

    store.record_phase(claim, Phase.VALIDATION)
    averaged = ensemble.out_of_fold_risks(history)
    recalibration = fit_recalibration(cohort.y, averaged)
    patients, settings = Patients(cohort.y, cohort.groups), state.settings
    document = ensemble_document(ensemble, patients, candidates, rule, settings.thresholds, settings.seed)
    document["subgroups"] = subgroup_documents(ensemble, cohort, history, settings.subgroups, settings.seed)
    document["calibration"]["recalibration"] = recalibration.to_json()

    store.record_phase(claim, Phase.RULES)
    thresholds = state.settings.strata.model_dump() if state.settings.strata else {}
    risks = recalibration.apply(averaged)
    rules = explain(cohort, risks, make_strata(risks, **thresholds), state.settings.seed)
    warnings = [
        *warnings,
        *too_late,
        *left_out,
        *calibration_warnings(history, cohort.y),
        *_losses(exploration.history),
    ]
    metadata = ModelMetadata.of(cohort)
    model = PrognosticModel(
        cohort.features, cohort.outcome, members, rules, metadata, recalibration, scale=ensemble.scale
    )
    return SearchResult(model, document, rules.to_json(), decomposition.to_json(), tuple(warnings))


def _why_nothing(history: History) -> str:
    counts = Counter(e.status.value for e in history)
    reason = next((e.reason for e in history if e.reason), None)
    what = ", ".join(f"{n} {status}" for status, n in counts.items()) or "none was made before the search ended"
    return f"no evaluation succeeded: {what}" + (f"; first reason: {reason}" if reason else "")


def _in_time(ensemble: Ensemble, history: History, clock: Clock) -> tuple[Ensemble, list[str]]:
    """The members whose refits the remaining time allows, heaviest first; the quickest one where it allows none."""
    seconds = {e.number: refit_s(e) for e in history.succeeded}
    kept = clock.affordable([seconds[m.number] for m in ensemble.members])
    late = {m.number for m, is_kept in zip(ensemble.members, kept, strict=True) if not is_kept}
    if not late:
        return ensemble, []
    if len(late) == len(ensemble.members):
        late.remove(min(late, key=lambda number: seconds[number]))
    texts = [f"the time budget left no time to refit {len(late)} of {len(ensemble.members)} members of the ensemble"]
    return ensemble.without(late), texts


def _refit(
    dispatcher: Dispatcher, state: SearchState, ensemble: Ensemble, plan: Plan, clock: Clock, signals: Signals
) -> tuple[tuple[Member, ...], Ensemble, list[str]]:
    """Fit every member to all patients; one that cannot be is left out, said, and the others are weighed anew.

    Time limits what follows the first refit: without any there is no model.
    """
    outcomes: dict[str, CallOutcome] = {}

    def stop() -> bool:
        fitted = any(o.status is CallStatus.SUCCEEDED for o in outcomes.values())
        return signals.leave() or (fitted and clock.refits_end())

    calls = [Call(str(m.number), fit, (state.cohort, m.configuration, plan)) for m in ensemble.members]
    limits = CallLimits(state.settings.limits.evaluation_s, state.settings.limits.memory_mb)
    for outcome in run_calls(dispatcher, calls, limits, stop):
        outcomes[outcome.key] = outcome
    signals.check()
    failed = [outcomes[call.key] for call in calls if outcomes[call.key].status is not CallStatus.SUCCEEDED]
    cut = [o for o in failed if o.status is CallStatus.CANCELLED]
    warnings = [
        f"evaluation {o.key} is left out of the ensemble: its refit ended as {o.status}, {o.reason}"
        for o in failed
        if o not in cut
    ]
    if cut:
        warnings.append(f"the time budget cut the refits of {len(cut)} of {len(calls)} members of the ensemble")
    if len(failed) == len(ensemble.members):
        raise SearchFailedError(f"no member of the ensemble could be refitted: {failed[0].reason}")
    ensemble = ensemble.without({int(o.key) for o in failed})
    members = tuple(Member(m.weight, outcomes[str(m.number)].value) for m in ensemble.members)
    return members, ensemble, warnings


def _losses(history: History) -> list[str]:
    """One warning a kind of failure, so that a search that lost many evaluations does not look like any other."""
    no_loss = {Status.SUCCEEDED, Status.RACED_OUT, Status.CANCELLED}
    counts = Counter(e.status.value for e in history if e.status not in no_loss)
    return [f"{n} of {len(history)} evaluations ended as {status}" for status, n in counts.items()]
