"""Everything reported about a model besides its predictions: recalibration, score, uncertainty of risks and rules."""

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
    """An ensemble and what it was made from."""

    ensemble: Ensemble  # some of the candidates; in a summary, those that were refitted
    candidates: Candidates
    choice: Choice
    cohort: Cohort  # that the candidates were evaluated on
    plan: Plan  # of their evaluations


@dataclass(frozen=True)
class Judgement:
    """Everything reported about the model."""

    document: dict[str, Any]  # the ensemble as the API shows it
    recalibration: Recalibration  # of its risks
    intervals: IntervalEstimate
    rule_sets: tuple[RuleSet, ...]  # one a horizon, or one without times
    warnings: tuple[str, ...]  # what the client should know before trusting the model
    competing: tuple[Recalibration, ...] = ()  # of the risks of competing causes; empty where none competes
    distribution: FeatureDistribution | None = None  # for missing values of other patients


@dataclass(frozen=True)
class DeliveryContext:
    """What a summary needs of the search."""

    dispatcher: Dispatcher
    state: SearchState
    clock: Clock
    signals: Signals
    phase: Callable[[Phase], None]  # records a phase
    aside: Executor  # one thread: computes in this process while the slots refit

    def correction_ends(self) -> bool:
        """Whether the score's correction must end with the resamples made so far."""
        return self.signals.leave() or self.clock.correction_ends()


def summarise_model(weighed: FittedEnsemble, means: DeliveryContext) -> Judgement:
    """Summarise a model of an outcome without a time."""
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
    """Summarise a model of event times, with a rule set a horizon."""
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
