"""The interpreter: a few association rules that describe which patients a model places in which risk stratum.

The rules as a classifier of strata, and its agreement with the model.

    r, s         strata of the rows, patients or visits, by the model and the rules  (n,)
    P            P_ij, share of patients with r = i and s = j                        (n_strata, n_strata)
    p_o, p_e     sum_i P_ii; sum_i P_i. P_.i
    kappa        (p_o - p_e) / (1 - p_e)

    w            1{r = s} - (1 - kappa)(P_.r + P_s.)                                 (n,)
    D            design effect of w: 1 where rows are independent

    var kappa = D var w / (n (1 - p_e)^2)

References
----------
Alaa & van der Schaar 2018, ICML, section 5.3.
Cohen 1960, Educational and Psychological Measurement 20:37; Fleiss, Cohen & Everitt 1969, Psychological Bulletin
72:323, eq. 13, by row; Li, Han & Pei 2001, ICDM, 369 (classification by several rules).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from autoprog.cohort import Cohort
from autoprog.interpreter.candidates import Candidates
from autoprog.interpreter.clusters import Clusters
from autoprog.interpreter.conditions import all_satisfied
from autoprog.interpreter.mining import STRENGTH, posterior
from autoprog.interpreter.observed import BinaryOutcome, ObservedOutcome
from autoprog.interpreter.prior_rules import PriorRule
from autoprog.interpreter.rules import (
    LEVEL,
    MAX_RULES,
    MIN_PATIENTS,
    Condition,
    Fidelity,
    HeldOut,
    Prior,
    Rule,
    RuleSet,
    Stratum,
    StratumProbability,
)
from autoprog.interpreter.selection import (
    FALSE_DISCOVERY_RATE,
    MIN_ODDS_RATIO,
    Target,
    adjusted,
    hold_out,
    p_values,
    select_rules,
)
from autoprog.interpreter.strata import stratum_indices


def strata_by_rules(
    rules: Sequence[Rule], matches: NDArray[np.bool_], strata: Sequence[Stratum], default: int
) -> NDArray[np.int64]:
    """Place each patient in the stratum of the matching rule with the largest posterior mean, or in the default."""
    names = [stratum.name for stratum in strata]
    placed = np.full(matches.shape[1], default, dtype=np.int64)
    for k in sorted(range(len(rules)), key=lambda k: rules[k].stratum_probability.mean):
        placed[matches[k]] = names.index(rules[k].stratum)
    return placed


def compute_fidelity(
    r: NDArray[np.integer], s: NDArray[np.integer], strata: Sequence[Stratum], default: int, clusters: Clusters
) -> Fidelity:
    """Compute kappa with its large-sample interval; r needs at least two strata."""
    k, n = len(strata), len(r)
    P = np.bincount(r * k + s, minlength=k * k).reshape(k, k) / n
    by_model, by_rules = P.sum(axis=1), P.sum(axis=0)
    p_o, p_e = float(np.trace(P)), float(by_model @ by_rules)
    kappa = (p_o - p_e) / (1 - p_e)
    w = (r == s) - (1 - kappa) * (by_rules[r] + by_model[s])
    variance = float(clusters.design_effect(w) * w.var() / (n * (1 - p_e) ** 2))
    half = float(ndtri((1 + LEVEL) / 2)) * variance**0.5
    n_patients = clusters.n_patients(np.ones(n, dtype=np.bool_))
    return Fidelity(kappa, max(-1.0, kappa - half), min(1.0, kappa + half), p_o, n_patients, strata[default].name)


MIN_SUPPORT = 0.03  # least share of the mined rows that a mined rule matches

_MAX_MINED = 5_000  # rows; with more the rules take longer and hardly change

_NOTE = (
    "The rules describe which {row}s this model places in which risk stratum, by {risks}; they are "
    "associations, not causes. stratum_probability is the posterior mean and {level:.0f} % credible interval of the "
    "probability that a matching {row} is placed in the stratum; observed_event_rate is {observed}; support is the "
    "share of all {row}s that match. The rules were found on {mined}, so expect somewhat weaker figures in others: "
    "held_out has those of {held_out} who had no part in it. Among these every rule that was found had to stand out "
    "from the base rate, at a false-discovery rate of {rate:.0%}; {dropped}. fidelity says how well the rules "
    "alone tell the model's strata there; a {row} that no rule matches counts to one stratum."
)
_WORTH = "tests and intervals count them as the fewer independent ones that they are worth."
_VISITS_NOTE = f" Shares are of visits, and each n counts patients. Visits of one patient are alike: {_WORTH}"
_GROUPS_NOTE = f" Patients of one group are alike: {_WORTH}"
_PRIOR_NOTE = " A rule with a prior was brought by a clinician, and is shown whatever the patients say of it."
_STOPPED_NOTE = " The time ended before all rules were looked for: a search that is continued may find more."
_UNSHOWN_NOTE = (
    " Of the rules that a clinician brought {n} cannot be shown: fewer than {least} patients match, or all patients or "
    "none are in the stratum."
)


@dataclass(frozen=True)
class _Proposal:
    """A rule that may be shown: a mined one, or a clinician's with its prior."""

    conditions: tuple[Condition, ...]
    stratum: int
    prior: Prior | None = None


def explain(  # noqa: PLR0913  each is a part of what is explained
    cohort: Cohort,
    risks: NDArray[np.floating],
    strata: Sequence[Stratum],
    seed: int = 0,
    *,
    prior_rules: Sequence[PriorRule] = (),
    observed: ObservedOutcome | None = None,
    horizon: float | None = None,
    source: str = "their out-of-fold risks",
    stop: Callable[[], bool] = lambda: False,
) -> RuleSet:
    """Mine the rules that best describe the strata of a model's risks, and test them on held-out patients.

    Three quarters of the patients, at most 5,000 rows, are mined. A mined rule at least doubles the stratum's odds, and
    passes Fisher's exact test on the others at a false-discovery rate of 10 % over all strata (Benjamini & Yekutieli).

    Parameters
    ----------
    cohort : Cohort
        The patients, or their visits. A group is either mined or held out as a whole.
    risks : ndarray, shape = (n_rows,)
        Out-of-fold or external risks in [0, 1]. In-sample risks would describe what the model has memorised.
    strata : sequence of Stratum
        From the highest to the lowest.
    seed : int
        Draws the held-out patients, and the mined rows of a large cohort.
    prior_rules : sequence of PriorRule
        A clinician's rules from `settled_prior_rules`. They come first and are always shown, unless fewer than
        `MIN_PATIENTS` match. Mined rules describe the patients whom supported ones do not match.
    observed : ObservedOutcome or None
        The observed outcomes; by default the cohort's binary outcome.
    horizon : float or None
        Time of the risks, if the outcome has time; several horizons need several calls.
    source : str
        Description of the risks, for the note.
    stop : callable () -> bool
        Once it turns true the mining ends with the rules found so far, and the note says so.

    Returns
    -------
    RuleSet
        At most `MAX_RULES` rules a stratum, with figures from all patients; the same for the same input, unless
        stopped.
    """
    r = stratum_indices(strata, risks)
    strata = [replace(stratum, fraction=float(np.mean(r == k))) for k, stratum in enumerate(strata)]
    rng = np.random.default_rng(seed)
    clusters = Clusters.of(cohort)
    held_out = hold_out(np.asarray(risks, dtype=np.float64), cohort.groups, rng)
    mined = ~held_out
    if np.count_nonzero(mined) > _MAX_MINED:
        mined = np.isin(np.arange(len(r)), rng.choice(np.flatnonzero(mined), _MAX_MINED, replace=False))
    given = _brought(prior_rules, cohort, r, strata)
    proposals = [*given, *_mined_rules(cohort, r, mined, given, len(strata), stop)]
    stopped = stop()
    proposals.sort(key=lambda proposal: proposal.stratum)
    matches = np.zeros((len(proposals), len(r)), dtype=np.bool_)
    for k, proposal in enumerate(proposals):
        matches[k] = all_satisfied(proposal.conditions, cohort.features, cohort.X)
    checks = _checks(proposals, matches[:, held_out], r[held_out], clusters.take(held_out))
    kept = [k for k, proposal in enumerate(proposals) if proposal.prior or _stands(checks[k])]
    outcome = observed or BinaryOutcome(cohort.y, clusters)
    rules = tuple(
        replace(_rule(proposals[k], matches[k], r, strata, outcome, clusters), held_out=checks[k], horizon=horizon)
        for k in kept
    )
    note = _note(clusters, mined, held_out, outcome, len(proposals) - len(kept), source)
    note += _PRIOR_NOTE if given else ""
    note += _STOPPED_NOTE if stopped else ""
    if len(given) < len(prior_rules):
        note += _UNSHOWN_NOTE.format(n=len(prior_rules) - len(given), least=MIN_PATIENTS)
    fidelity = _fidelity(rules, matches[kept], r, strata, mined, held_out=held_out, clusters=clusters)
    return RuleSet(tuple(strata), rules, note, fidelity)


def _note(
    clusters: Clusters,
    mined: NDArray[np.bool_],
    held_out: NDArray[np.bool_],
    observed: ObservedOutcome,
    dropped: int,
    source: str,
) -> str:
    note = _NOTE.format(
        row=clusters.row,
        risks=source,
        level=100 * LEVEL,
        observed=observed.described,
        mined=clusters.counted(mined),
        held_out=clusters.counted(held_out),
        rate=FALSE_DISCOVERY_RATE,
        dropped={0: "all did", 1: "1 did not and is left out"}.get(dropped, f"{dropped} did not and are left out"),
    )
    if clusters.patient is not None:
        return note + _VISITS_NOTE
    return note if clusters.group is None else note + _GROUPS_NOTE


def _brought(
    prior_rules: Sequence[PriorRule], cohort: Cohort, r: NDArray[np.int64], strata: Sequence[Stratum]
) -> list[_Proposal]:
    """Keep a clinician's rules that enough patients match, of strata with some but not all patients."""
    clusters = Clusters.of(cohort)
    names = [stratum.name for stratum in strata]
    given = []
    for rule in prior_rules:
        if rule.stratum not in names:
            continue
        stratum = names.index(rule.stratum)
        n_matching = clusters.n_different(all_satisfied(rule.conditions, cohort.features, cohort.X))
        if 0 < np.count_nonzero(r == stratum) < len(r) and n_matching >= MIN_PATIENTS:
            given.append(_Proposal(rule.conditions, stratum, rule.prior))
    return given


def _mined_rules(
    cohort: Cohort,
    r: NDArray[np.int64],
    mined: NDArray[np.bool_],
    given: Sequence[_Proposal],
    n_strata: int,
    stop: Callable[[], bool],
) -> list[_Proposal]:
    if stop():
        return []
    X, r, clusters = cohort.X[mined], r[mined], Clusters.of(cohort).take(mined)
    candidates = Candidates.of(cohort.features, X, r, n_strata, max(MIN_PATIENTS, ceil(MIN_SUPPORT * len(r))))
    proposals = []
    for stratum in range(n_strata):
        target = Target(candidates.B, r == stratum, candidates.min_count)
        if not 0 < target.n_r < target.n or stop():
            continue
        own = [p for p in given if p.stratum == stratum]
        covered = np.zeros(len(r), dtype=np.bool_)
        for proposal in own:
            covered |= _supported(proposal, all_satisfied(proposal.conditions, cohort.features, X), target, clusters)
        starts = candidates.starts(stratum, target.n, target.n_r)
        said = {frozenset(proposal.conditions) for proposal in own}
        for members in select_rules(target, starts, covered, MAX_RULES - len(own), stop):
            conditions = tuple(candidates.conditions[member] for member in members)
            if frozenset(conditions) not in said:
                proposals.append(_Proposal(conditions, stratum))
    return proposals


def _supported(
    proposal: _Proposal, matches: NDArray[np.bool_], target: Target, clusters: Clusters
) -> NDArray[np.bool_]:
    """Patients whom a clinician's rule places in the stratum, by its prior and the data together."""
    q_r, mean = target.n_r / target.n, _posterior(proposal, matches, target.in_stratum, clusters).mean
    return matches & (mean * (1 - q_r) >= MIN_ODDS_RATIO * (1 - mean) * q_r)


def _posterior(
    proposal: _Proposal, matches: NDArray[np.bool_], in_stratum: NDArray[np.bool_], clusters: Clusters
) -> StratumProbability:
    """Probability that matching patients are in the stratum, from their effective number of rows."""
    prior = proposal.prior or Prior(float(in_stratum.mean()), STRENGTH)
    of_rule = in_stratum[matches]
    n_A, n_Ar = len(of_rule), int(np.count_nonzero(of_rule))
    D = float(clusters.take(matches).design_effect(of_rule))
    return posterior(n_A / D, n_Ar / D, prior.probability, prior.strength)


def _stands(check: HeldOut | None) -> bool:
    return check is not None and check.adjusted_p_value <= FALSE_DISCOVERY_RATE


def _checks(
    proposals: Sequence[_Proposal], matches: NDArray[np.bool_], r: NDArray[np.int64], clusters: Clusters
) -> list[HeldOut | None]:
    """Test each rule on the held-out patients; None if fewer than `MIN_PATIENTS` match."""
    n_A = np.count_nonzero(matches, axis=1)
    strata = np.array([proposal.stratum for proposal in proposals], dtype=np.int64)
    in_stratum = r == strata[:, None]
    n_Ar, n_r = np.count_nonzero(matches & in_stratum, axis=1), np.count_nonzero(in_stratum, axis=1)
    p = p_values(n_A, n_Ar, len(r), n_r, clusters.design_effect(matches, in_stratum))
    # A clinician's rules are always shown; among the mined ones they would raise the number that passes.
    own = np.array([proposal.prior is None for proposal in proposals], dtype=np.bool_)
    q = np.ones(len(p))
    q[own], q[~own] = adjusted(p[own]), adjusted(p[~own])
    checks = (
        HeldOut(clusters.n_patients(A), clusters.n_patients(A & in_r), float(p[k]), float(q[k]))
        for k, (A, in_r) in enumerate(zip(matches, in_stratum, strict=True))
    )
    return [
        check if clusters.n_different(A) >= MIN_PATIENTS else None for A, check in zip(matches, checks, strict=True)
    ]


def _rule(
    proposal: _Proposal,
    matches: NDArray[np.bool_],
    r: NDArray[np.int64],
    strata: Sequence[Stratum],
    observed: ObservedOutcome,
    clusters: Clusters,
) -> Rule:
    in_stratum = r == proposal.stratum
    n_A, n_Ar = int(np.count_nonzero(matches)), int(np.count_nonzero(matches & in_stratum))
    return Rule(
        conditions=proposal.conditions,
        stratum=strata[proposal.stratum].name,
        stratum_probability=_posterior(proposal, matches, in_stratum, clusters),
        observed_event_rate=observed.event_rate(matches),
        support=n_A / len(r),
        confidence=n_Ar / n_A,
        lift=n_Ar / n_A / float(in_stratum.mean()),
        prior=proposal.prior,
    )


def _fidelity(
    rules: Sequence[Rule],
    matches: NDArray[np.bool_],
    r: NDArray[np.int64],
    strata: Sequence[Stratum],
    mined: NDArray[np.bool_],
    *,
    held_out: NDArray[np.bool_],
    clusters: Clusters,
) -> Fidelity | None:
    """Agreement of rules and model on the held-out patients; None if the model places them all alike."""
    if len(np.unique(r[held_out])) < 2:
        return None
    rest = mined & ~matches.any(axis=0)
    default = int(np.bincount(r[rest if rest.any() else mined], minlength=len(strata)).argmax())
    placed = strata_by_rules(rules, matches, strata, default)
    return compute_fidelity(r[held_out], placed[held_out], strata, default, clusters.take(held_out))
