"""Linear learners: logistic regression, ridge, discriminant analysis, support vector machine.

All standardise the columns on the training patients, since penalties and shrunk covariances depend on their scale.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.covariance import OAS
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.hyperparameters import Choice, Float, Parameter
from autoprog.space.prediction.platt import PlattScaled
from autoprog.space.prediction.standardised import Standardised

_STANDARDISED = "autoprog.space.prediction.standardised.Standardised"

# Folds of the support vector machine's cross-fitted margins, as many as the inner folds of the calibration stage.
_MARGIN_FOLDS = 3


class RidgeProbability(RidgeClassifier):  # type: ignore[misc]
    """Ridge regression on the outcome coded -1 and 1, as a linear probability model clipped to [0, 1]."""

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        # The fitted value estimates 2 P(y = 1) - 1.
        risk = np.clip((self.decision_function(X) + 1.0) / 2.0, 0.0, 1.0)
        return np.column_stack([1.0 - risk, risk])


def _logistic_regression(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    # The library's unit penalty on standardised columns keeps coefficients of separable small cohorts finite.
    return Standardised(LogisticRegression(max_iter=1000))


def _ridge(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return Standardised(RidgeProbability(alpha=float(parameters["alpha"])))


def _lda(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    # The solver follows from the covariance, so that no combination of hyperparameters is invalid: the singular value
    # decomposition takes no shrinkage, and the solvers that take it give the same risks.
    priors = [0.5, 0.5] if parameters["priors"] == "equal" else None
    covariance = str(parameters["covariance"])
    if covariance == "empirical":
        lda = LinearDiscriminantAnalysis(solver="svd", priors=priors, tol=float(parameters["tolerance"]))
    elif covariance == "oas":
        lda = LinearDiscriminantAnalysis(solver="lsqr", priors=priors, covariance_estimator=OAS())
    else:
        shrinkage = "auto" if covariance == "ledoit_wolf" else float(parameters["shrinkage"])
        lda = LinearDiscriminantAnalysis(solver="lsqr", priors=priors, shrinkage=shrinkage)
    return Standardised(lda)


def _linear_svm(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    # liblinear has no hinge loss with an L1 penalty, so that penalty always uses the squared hinge.
    penalty = str(parameters["penalty"])
    svm = LinearSVC(
        C=float(parameters["C"]),
        penalty=penalty,
        loss="squared_hinge" if penalty == "l1" else str(parameters["loss"]),
        class_weight="balanced" if parameters["class_weight"] == "balanced" else None,
        dual="auto",
        max_iter=5000,
        random_state=seed,
    )
    # Inner training folds of the calibration stage contain two thirds of the rarer class.
    folds = max(2, min(_MARGIN_FOLDS, shape.n_minority * 2 // 3))
    return Standardised(PlattScaled(svm, folds=folds, seed=seed))


LOGISTIC_REGRESSION = Algorithm(
    "prediction",
    "logistic_regression",
    (),
    _logistic_regression,
    family="linear",
    takes=frozenset({"negative", "collinear", "weights"}),
    cost=Cost(0.003),
    stored_types=(_STANDARDISED,),
    reference="Cox (1958), J. R. Stat. Soc. B 20:215-242",
)

RIDGE = Algorithm(
    "prediction",
    "ridge",
    (Float("alpha", 1e-2, 1e4, 10.0, log=True),),
    _ridge,
    family="linear",
    takes=frozenset({"negative", "collinear", "weights"}),
    cost=Cost(0.003),
    stored_types=(_STANDARDISED, "autoprog.space.prediction.linear.RidgeProbability"),
    reference="Hoerl & Kennard (1970), Technometrics 12:55-67",
)

LDA = Algorithm(
    "prediction",
    "lda",
    (
        Choice("covariance", ("empirical", "ledoit_wolf", "oas", "shrunk"), default="ledoit_wolf"),
        Float("shrinkage", 0.0, 1.0, 0.5),
        Float("tolerance", 1e-5, 1e-1, 1e-4, log=True),
        Choice("priors", ("observed", "equal"), default="observed"),
    ),
    _lda,
    family="linear",
    takes=frozenset({"negative"}),
    cost=Cost(0.003),
    stored_types=(_STANDARDISED,),
    reference=(
        "Ledoit & Wolf (2004), J. Multivar. Anal. 88:365-411; Chen, Wiesel, Eldar & Hero (2010), IEEE Trans. Signal "
        "Process. 58:5016-5029 (oas); shrinkage and tolerance as in Feurer et al. (2015), NIPS 28"
    ),
)

LINEAR_SVM = Algorithm(
    "prediction",
    "linear_svm",
    (
        Float("C", 1e-4, 10.0, 0.1, log=True),
        Choice("loss", ("squared_hinge", "hinge"), default="squared_hinge"),
        Choice("penalty", ("l2", "l1"), default="l2"),
        Choice("class_weight", ("none", "balanced"), default="none"),
    ),
    _linear_svm,
    family="linear",
    takes=frozenset({"negative", "collinear", "weights"}),
    cost=Cost(0.01),
    max_patients=20_000,
    stored_types=(_STANDARDISED, "autoprog.space.prediction.platt.PlattScaled"),
    reference=(
        "Fan et al. (2008), J. Mach. Learn. Res. 9:1871-1874; Platt (1999), Advances in Large Margin Classifiers; "
        "axes of Feurer et al. (2015), NIPS 28, with smaller C for cohorts of few events"
    ),
)
