"""Everything reported about a model besides its predictions: recalibration, score, intervals of risks, rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from autoprog.interpreter import RuleSet, empty_strata, explain, make_strata, settled_prior_rules, stratum_indices
from autoprog.search.clock import Clock
from autoprog.search.delivery.assessment import FittedEnsemble, correction_warnings, ensemble_document
from autoprog.search.delivery.intervals import IntervalEstimate, estimate_intervals
from autoprog.search.ports import Phase, SearchState
from autoprog.search.settings import SearchSettings
from autoprog.validation import FeatureDistribution, Recalibration
from autoprog.work import Dispatcher, Signals


@dataclass(frozen=True)
class ModelSummary:
    """What is reported about a model, and the maps that it needs for predictions."""

    # As the API shows it.
    document: dict[str, Any]
    recalibration: Recalibration
    intervals: IntervalEstimate
    # One per horizon.
    rule_sets: tuple[RuleSet, ...]
    # For the client, before trusting the model.
    warnings: tuple[str, ...]
    # Of the causes that compete with the event of interest.
    competing: tuple[Recalibration, ...]
    distribution: FeatureDistribution


@dataclass(frozen=True)
class DeliveryContext:
    """The parts of a running search that its delivery needs."""

    dispatcher: Dispatcher
    state: SearchState
    clock: Clock
    signals: Signals
    phase: Callable[[Phase], None]
    # Of one thread, for what this process computes while the slots refit.
    aside: Executor

    def rules_end(self, *, begun: bool = True) -> bool:
        """Test whether the mining of rules must end, or must not begin."""
        return self.signals.leave() or self.clock.rules_end(begun=begun)

    def correction_ends(self) -> bool:
        """Whether the score's correction must end with the resamples that it has."""
        return self.signals.leave() or self.clock.correction_ends()


def summarise_model(fitted: FittedEnsemble, context: DeliveryContext) -> ModelSummary:
    """Summarise a model; raises LeaseLostError or ShutdownError if the search must be left."""
    context.phase(Phase.VALIDATION)
    settings, endpoint = context.state.settings, fitted.endpoint
    recalibration = endpoint.fit_recalibration(fitted.averaged)
    competing = () if fitted.causes is None else endpoint.fit_competing(fitted.causes)

    def assessed() -> tuple[dict[str, Any], tuple[RuleSet, ...]]:
        document = ensemble_document(
            fitted, seed=settings.seed, subgroups=settings.subgroups, stop=context.correction_ends
        )
        document["calibration"]["recalibration"] = recalibration.to_json()
        rule_sets = _rule_sets(fitted, recalibration, settings, context)
        document["strata"] = _observed_strata(fitted, recalibration, rule_sets)
        return document, rule_sets

    assessment = context.aside.submit(assessed)
    distribution = FeatureDistribution.fit(fitted.cohort.features, fitted.cohort.X)
    intervals = estimate_intervals(
        context.dispatcher,
        context.state,
        fitted,
        recalibration,
        distribution,
        clock=context.clock,
        signals=context.signals,
    )
    context.phase(Phase.RULES)
    document, rule_sets = assessment.result()
    endpoint.place_instability(document, intervals.instability)
    warnings = [*endpoint.ranking_warnings(fitted.history), *correction_warnings(document)]
    for horizon, rules in zip(endpoint.horizons, rule_sets, strict=True):
        empty = empty_strata(rules.strata)
        warnings += empty if horizon is None else [f"at horizon {horizon:g}: {text}" for text in empty]
    return ModelSummary(document, recalibration, intervals, rule_sets, tuple(warnings), competing, distribution)


def _observed_strata(
    fitted: FittedEnsemble, recalibration: Recalibration, rule_sets: Sequence[RuleSet]
) -> list[dict[str, Any]]:
    """What was observed in the strata of every horizon, by the out-of-fold risks that made them."""
    endpoint = fitted.endpoint
    risks = endpoint.at_horizons(recalibration.apply(fitted.averaged))
    found = []
    for k, (horizon, rules) in enumerate(zip(endpoint.horizons, rule_sets, strict=True)):
        stratum = stratum_indices(rules.strata, risks[..., k])
        observed = endpoint.observe_strata(k, stratum, len(rules.strata))
        mean = [
            float(risks[stratum == s, k].mean()) if (stratum == s).any() else None for s in range(len(rules.strata))
        ]
        found += [
            {"horizon": horizon, "name": band.name, "lower": band.lower, "upper": band.upper, "risk": risk, **seen}
            for band, risk, seen in zip(rules.strata, mean, observed, strict=True)
        ]
    return found


def _rule_sets(
    fitted: FittedEnsemble, recalibration: Recalibration, settings: SearchSettings, context: DeliveryContext
) -> tuple[RuleSet, ...]:
    cohort, endpoint = fitted.cohort, fitted.endpoint
    risks = endpoint.at_horizons(recalibration.apply(fitted.averaged))
    thresholds = settings.strata.model_dump() if settings.strata else {}
    stated = settled_prior_rules([rule.stated() for rule in settings.prior_rules], cohort.features)
    return tuple(
        explain(
            cohort,
            p,
            make_strata(p, **thresholds),
            settings.seed,
            prior_rules=stated,
            observed=endpoint.observed(k),
            horizon=horizon,
            stop=(lambda: True) if context.rules_end(begun=False) else context.rules_end,
        )
        for k, (horizon, p) in enumerate(zip(endpoint.horizons, risks.T, strict=True))
    )
