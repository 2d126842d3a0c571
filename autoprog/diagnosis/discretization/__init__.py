"""Learnt thresholds: where to cut a continuous measurement, by bandits over candidate thresholds."""

from autoprog.diagnosis.discretization.bandit import (
    Bandit,
    Exp3,
    ExponentialWeights,
    Hedge,
    bandit_from_json,
    bandit_scores,
    drawn,
    make_bandit,
    probabilities,
)
from autoprog.diagnosis.discretization.cuts import Cut, CutCase, CutFeature, CutLearner, CutOptions, Updates
from autoprog.diagnosis.discretization.gains import (
    coin_entropy,
    cost_aware_gain,
    expected_information,
    exponential_gain,
    realised_gain,
)
from autoprog.diagnosis.discretization.learner import (
    Choice,
    Gain,
    Question,
    Runs,
    ThresholdLearner,
    candidate_thresholds,
    simulate,
)
from autoprog.diagnosis.discretization.options import FORMS, BanditOptions, Form
from autoprog.diagnosis.discretization.posterior import ThetaPosterior

__all__ = [
    "FORMS",
    "Bandit",
    "BanditOptions",
    "Choice",
    "Cut",
    "CutCase",
    "CutFeature",
    "CutLearner",
    "CutOptions",
    "Exp3",
    "ExponentialWeights",
    "Form",
    "Gain",
    "Hedge",
    "Question",
    "Runs",
    "ThetaPosterior",
    "ThresholdLearner",
    "Updates",
    "bandit_from_json",
    "bandit_scores",
    "candidate_thresholds",
    "coin_entropy",
    "cost_aware_gain",
    "drawn",
    "expected_information",
    "exponential_gain",
    "make_bandit",
    "probabilities",
    "realised_gain",
    "simulate",
]
