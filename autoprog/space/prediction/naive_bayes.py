"""Naive Bayes: columns are independent within a class."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import BaseEstimator
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.hyperparameters import Choice, Float, Parameter
from autoprog.space.prediction.standardised import Standardised

_STANDARDISED = "autoprog.space.prediction.standardised.Standardised"
_SMOOTHING = Float("alpha", 1e-2, 100.0, 1.0, log=True)


def _bernoulli_nb(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    # The library takes no negative threshold, so the columns are shifted instead.
    return Standardised(BernoulliNB(alpha=float(parameters["alpha"])), origin=float(parameters["threshold"]))


def _gaussian_nb(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    # The library adds a share of the largest variance to all: without standardisation, one column of large values would
    # blur the others. A dummy that one outcome lacks has no variance there: the library's default share, 1e-9, would
    # make a patient who has it certain.
    return Standardised(GaussianNB(var_smoothing=0.01))


def _multinomial_nb(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return MultinomialNB(alpha=float(parameters["alpha"]), fit_prior=parameters["priors"] == "observed")


BERNOULLI_NB = Algorithm(
    "prediction",
    "bernoulli_nb",
    (_SMOOTHING, Float("threshold", -1.0, 1.0, 0.0)),
    _bernoulli_nb,
    family="local",
    takes=frozenset({"negative", "collinear", "weights"}),
    cost=Cost(0.002),
    stored_types=(_STANDARDISED,),
    reference="McCallum & Nigam (1998), AAAI Workshop; alpha as in Feurer et al. (2015), NIPS 28",
)

GAUSSIAN_NB = Algorithm(
    "prediction",
    "gaussian_nb",
    (),
    _gaussian_nb,
    family="local",
    takes=frozenset({"negative", "collinear", "weights"}),
    cost=Cost(0.002),
    stored_types=(_STANDARDISED,),
    reference="John & Langley (1995), UAI",
)

MULTINOMIAL_NB = Algorithm(
    "prediction",
    "multinomial_nb",
    (_SMOOTHING, Choice("priors", ("observed", "equal"), default="observed")),
    _multinomial_nb,
    family="local",
    takes=frozenset({"collinear", "weights"}),
    cost=Cost(0.002),
    reference="McCallum & Nigam (1998), AAAI Workshop; alpha and priors as in Feurer et al. (2015), NIPS 28",
)
