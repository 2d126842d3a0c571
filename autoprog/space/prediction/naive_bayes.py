"""Naive Bayes: columns that are independent within a class."""

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
    # The library takes no negative threshold; the columns are moved in its place.
    return Standardised(BernoulliNB(alpha=float(parameters["alpha"])), origin=float(parameters["threshold"]))


def _gaussian_nb(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    # The library adds to every variance a share of the largest: unless standardised, one column of large values
    # would blur the others.
    # Dummies that one outcome lacks have no variance under it: the library's 1e-9 makes such a patient certain.
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
