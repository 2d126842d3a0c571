"""What is told of a model beside its predictions: recalibration, score, uncertainty of single risks, rules.

One function for outcomes without a time, one for event times; what they return is put together by `delivery`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort
from autoprog.ensemble import Candidates, Ensemble
from autoprog.evaluation import Plan
from autoprog.interpreter import (
    Clusters,
    IncidenceOutcome,
    ObservedOutcome,
    RuleSet,
    empty_strata,
    explain,
    make_strata,
    settled_prior_rules,
)
from autoprog.search.assessment import (
    Choice,
    calibration_warnings,
    correction_warnings,
    ensemble_document,
    subgroup_documents,
)
from autoprog.search.clock import Clock
from autoprog.search.event_assessment import event_document, event_subgroup_documents, simple_warnings
from autoprog.search.intervals import Delivered, IntervalEstimate, estimate_intervals
from autoprog.search.ports import Dispatcher, Phase, SearchState
from autoprog.search.settings import SearchSettings
from autoprog.search.signals import Signals
from autoprog.validation import (
    CausesOfPatients,
    FeatureDistribution,
    FollowedPatients,
    Patients,
    Recalibration,
    fit_competing,
    fit_event_recalibration,
    shrunk_recalibration,
)


@dataclass(frozen=True)
class FittedEnsemble:
    """An ensemble, and what it was made from.

    Attributes
    ----------
    ensemble : Ensemble
        Some of the candidates; of what is judged, those that were refitted.
    candidates : Candidates
        What it was chosen from.
    choice : Choice
        How it was chosen.
    cohort : Cohort
        The patients that were evaluated on.
    plan : Plan
        How they were.
    """

    ensemble: Ensemble
    candidates: Candidates
    choice: Choice
    cohort: Cohort
    plan: Plan


@dataclass(frozen=True)
class Judgement:
    """What is told of the model.

    Attributes
    ----------
    document : dict
        The ensemble as the API shows it.
    recalibration : Recalibration
        Of its risks.
    intervals : IntervalEstimate
        Of the uncertainty of single risks.
    rule_sets : tuple of RuleSet
        One a horizon; one of an outcome without a time.
    warnings : tuple of str
        What the client should know before trusting the model.
    competing : tuple of Recalibration
        Of its risks of the causes that compete with the event of interest; empty where none does.
    distribution : FeatureDistribution or None
        What missing values of other patients may be.
    """

    document: dict[str, Any]
    recalibration: Recalibration
    intervals: IntervalEstimate
    rule_sets: tuple[RuleSet, ...]
    warnings: tuple[str, ...]
    competing: tuple[Recalibration, ...] = ()
    distribution: FeatureDistribution | None = None


@dataclass(frozen=True)
class DeliveryContext:
    """What judging takes of the search.

    Attributes
    ----------
    dispatcher : Dispatcher
        Runs refits.
    state : SearchState
        Settings and the cohort's place.
    clock : Clock
        Says how long they may take.
    signals : Signals
        Tell when to leave the search.
    phase : callable (Phase) -> None
        Told of the phases.
    aside : Executor
        Of one thread: what is computed in this process while the slots refit.
    """

    dispatcher: Dispatcher
    state: SearchState
    clock: Clock
    signals: Signals
    phase: Callable[[Phase], None]
    aside: Executor

    def correction_ends(self) -> bool:
        """Whether the score's correction has to end with the resamples that it has."""
        return self.signals.leave() or self.clock.correction_ends()


def summarise_model(weighed: FittedEnsemble, means: DeliveryContext) -> Judgement:
    """Tell of a model for an outcome without a time.

    Parameters
    ----------
    weighed : FittedEnsemble
        The ensemble.
    means : DeliveryContext
        What it takes.

    Returns
    -------
    Judgement
        Complete.

    Raises
    ------
    LeaseLostError, ShutdownError
        If the search must be left.
    """
    means.phase(Phase.VALIDATION)
    ensemble, candidates, cohort, settings = weighed.ensemble, weighed.candidates, weighed.cohort, means.state.settings
    history, seed = candidates.history, settings.seed
    averaged = ensemble.out_of_fold_risks(history)
    recalibration = shrunk_recalibration(cohort.y, averaged)

    def assessed() -> tuple[dict[str, Any], RuleSet]:
        patients = Patients(cohort.y, cohort.groups)
        document = ensemble_document(
            ensemble,
            patients,
            candidates,
            weighed.choice,
            settings.thresholds,
            seed,
            stop=means.correction_ends,
        )
        document["subgroups"] = subgroup_documents(ensemble, cohort, history, settings.subgroups, seed)
        document["calibration"]["recalibration"] = recalibration.to_json()
        return document, _rules(cohort, recalibration.apply(averaged), settings)

    assessment = means.aside.submit(assessed)
    distribution = FeatureDistribution.fit(cohort.features, cohort.X)
    intervals = _intervals(weighed, means, recalibration, distribution)
    means.phase(Phase.RULES)
    document, rules = assessment.result()
    document["instability"] = intervals.instability[0] if intervals.instability else None
    warnings = (
        *calibration_warnings(history, cohort.y),
        *correction_warnings(document),
        *empty_strata(rules.strata),
    )
    return Judgement(document, recalibration, intervals, (rules,), warnings, distribution=distribution)


def judge_events(weighed: FittedEnsemble, means: DeliveryContext) -> Judgement:
    """Tell of a model for event times.

    Parameters
    ----------
    weighed : FittedEnsemble
        The ensemble; its candidates know the follow-up.
    means : DeliveryContext
        What it takes.

    Returns
    -------
    Judgement
        Complete; a rule set a horizon.

    Raises
    ------
    LeaseLostError, ShutdownError
        If the search must be left.
    """
    means.phase(Phase.VALIDATION)
    ensemble, candidates, cohort, settings = weighed.ensemble, weighed.candidates, weighed.cohort, means.state.settings
    follow_up, time = candidates.follow_up, cohort.time
    assert follow_up is not None  # noqa: S101  of event times
    assert time is not None  # noqa: S101  as above
    averaged = ensemble.out_of_fold_risks(candidates.history)
    recalibration = fit_event_recalibration(candidates.y, averaged, follow_up, shrunk=True)
    F = ensemble.out_of_fold_causes(candidates.history, follow_up.at_horizons)
    causes = None if F is None or cohort.time_to_event is None else CausesOfPatients(cohort.time_to_event.causes, F)
    competing = () if causes is None else fit_competing(candidates.y, causes.F, follow_up)

    def assessed() -> tuple[dict[str, Any], tuple[RuleSet, ...]]:
        document = event_document(
            ensemble,
            FollowedPatients(candidates.y, follow_up, cohort.groups),
            candidates,
            weighed.choice,
            causes,
            thresholds=settings.thresholds,
            seed=settings.seed,
            stop=means.correction_ends,
        )
        document["calibration"]["recalibration"] = recalibration.to_json()
        names, seed = settings.subgroups, settings.seed
        document["subgroups"] = event_subgroup_documents(ensemble, cohort, candidates, names, seed)
        risks, clusters = recalibration.apply(averaged), Clusters.of(cohort)
        return document, tuple(
            _rules(cohort, risks[:, k], settings, IncidenceOutcome(time, cohort.y, horizon, clusters), horizon)
            for horizon, k in zip(follow_up.horizons, follow_up.at_horizons, strict=True)
        )

    assessment = means.aside.submit(assessed)
    distribution = FeatureDistribution.fit(cohort.features, cohort.X)
    intervals = _intervals(weighed, means, recalibration, distribution)
    means.phase(Phase.RULES)
    document, rule_sets = assessment.result()
    for each, found in zip(
        document["horizons"], intervals.instability or [None] * len(follow_up.horizons), strict=True
    ):
        each["instability"] = found
    warnings = [*simple_warnings(candidates, follow_up), *correction_warnings(document)]
    for horizon, rules in zip(follow_up.horizons, rule_sets, strict=True):
        warnings += [f"at horizon {horizon:g}: {text}" for text in empty_strata(rules.strata)]
    return Judgement(document, recalibration, intervals, rule_sets, tuple(warnings), competing, distribution)


def _intervals(
    weighed: FittedEnsemble, means: DeliveryContext, recalibration: Recalibration, distribution: FeatureDistribution
) -> IntervalEstimate:
    history, cohort = weighed.candidates.history, weighed.cohort
    delivered = Delivered(weighed.ensemble, history, cohort, weighed.plan, recalibration, distribution)
    return estimate_intervals(means.dispatcher, means.state, delivered, means.clock, means.signals)


def _rules(
    cohort: Cohort,
    risks: NDArray[np.float64],
    settings: SearchSettings,
    observed: ObservedOutcome | None = None,
    horizon: float | None = None,
) -> RuleSet:
    thresholds = settings.strata.model_dump() if settings.strata else {}
    stated = settled_prior_rules([rule.stated() for rule in settings.prior_rules], cohort.features)
    strata = make_strata(risks, **thresholds)
    return explain(cohort, risks, strata, settings.seed, prior_rules=stated, observed=observed, horizon=horizon)
