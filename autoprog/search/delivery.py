"""The end of a search: weigh what was explored, refit it, say how good it is, and explain it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.ensemble import Ensemble, average_models
from autoprog.errors import SearchFailedError
from autoprog.evaluation import History, Plan, Status
from autoprog.interpreter import explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel
from autoprog.search.loop import Exploration
from autoprog.search.ports import Call, CallLimits, CallStatus, Claim, Dispatcher, Phase, SearchState, Store
from autoprog.search.result import SearchResult
from autoprog.search.signals import Signals
from autoprog.search.work import fit
from autoprog.validation import calibration_of, cross_fitted, estimate_score, fit_recalibration

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
    history = exploration.history
    if not history.succeeded:
        raise SearchFailedError(_why_nothing(history))
    store.record_phase(claim, Phase.ENSEMBLE)
    rng = np.random.default_rng([state.settings.seed, _ENSEMBLE_STREAM])
    posterior = exploration.optimizer.posterior(history, rng, exploration.optimizer_state)
    ensemble = average_models(history, posterior, rng)
    members, ensemble, warnings = _refit(dispatcher, state, ensemble, exploration.plan, signals)

    store.record_phase(claim, Phase.VALIDATION)
    averaged = ensemble.out_of_fold_risks(history)
    recalibration = fit_recalibration(cohort.y, averaged)
    document = _ensemble_document(ensemble, averaged, cohort, history, state.settings.seed)
    document["calibration"]["recalibration"] = recalibration.to_json()

    store.record_phase(claim, Phase.RULES)
    thresholds = state.settings.strata.model_dump() if state.settings.strata else {}
    risks = recalibration.apply(averaged)
    rules = explain(cohort, risks, make_strata(risks, **thresholds))
    model = PrognosticModel(cohort.features, cohort.outcome, members, rules, ModelMetadata.of(cohort), recalibration)
    return SearchResult(model, document, rules.to_json(), posterior.to_json(), (*warnings, *_losses(history)))


def _why_nothing(history: History) -> str:
    counts = Counter(e.status.value for e in history)
    reason = next((e.reason for e in history if e.reason), None)
    what = ", ".join(f"{n} {status}" for status, n in counts.items()) or "none was made before the search ended"
    return f"no evaluation succeeded: {what}" + (f"; first reason: {reason}" if reason else "")


def _refit(
    dispatcher: Dispatcher, state: SearchState, ensemble: Ensemble, plan: Plan, signals: Signals
) -> tuple[tuple[Member, ...], Ensemble, list[str]]:
    """Fit every member to all patients; one that cannot be is left out, said, and the others are weighed anew."""
    calls = [Call(str(m.number), fit, (state.cohort, m.configuration, plan)) for m in ensemble.members]
    limits = CallLimits(state.settings.limits.evaluation_s, state.settings.limits.memory_mb)
    outcomes = {o.key: o for o in dispatcher.run(calls, limits, signals.leave)}
    signals.check()
    failed = [outcomes[call.key] for call in calls if outcomes[call.key].status is not CallStatus.SUCCEEDED]
    warnings = [
        f"evaluation {o.key} is left out of the ensemble: its refit ended as {o.status}, {o.reason}" for o in failed
    ]
    if len(failed) == len(ensemble.members):
        raise SearchFailedError(f"no member of the ensemble could be refitted: {failed[0].reason}")
    ensemble = ensemble.without({int(o.key) for o in failed})
    members = tuple(Member(m.weight, outcomes[str(m.number)].value) for m in ensemble.members)
    return members, ensemble, warnings


def _ensemble_document(
    ensemble: Ensemble, averaged: NDArray[np.float64], cohort: Cohort, history: History, seed: int
) -> dict[str, Any]:
    """The ensemble, its score and the simple pipeline's, as the API shows them."""
    risks = cross_fitted(cohort.y, averaged, np.random.default_rng(seed))
    return {
        "members": [
            {"weight": m.weight, "configuration": m.configuration.to_json(), "score": m.score} for m in ensemble.members
        ],
        "score": estimate_score(history.metric, cohort.y, risks, np.random.default_rng(seed)).to_json(),
        "baseline": _baseline(history, cohort, seed),
        "calibration": calibration_of(cohort.y, risks).to_json(),
    }


def _baseline(history: History, cohort: Cohort, seed: int) -> dict[str, Any] | None:
    """The first configuration of every search, the simple pipeline or what comes nearest to it in the space."""
    simple = history.evaluations[0]
    if simple.risks is None:
        return None
    risks = cross_fitted(cohort.y, simple.risks, np.random.default_rng(seed))  # as the ensemble's, to be fair
    score = estimate_score(history.metric, cohort.y, risks, np.random.default_rng(seed))
    return {"configuration": simple.configuration.to_json(), "score": score.to_json()}


def _losses(history: History) -> list[str]:
    """One warning a kind of failure, so that a search that lost many evaluations does not look like any other."""
    counts = Counter(e.status.value for e in history if e.status not in {Status.SUCCEEDED, Status.CANCELLED})
    return [f"{n} of {len(history)} evaluations ended as {status}" for status, n in counts.items()]
