"""The feature-processing stage of Table 1: what the predictor sees of the imputed columns."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.feature_selection import GenericUnivariateSelect, VarianceThreshold, chi2, f_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from autoprog.space._base import Algorithm, TableShape
from autoprog.space.hyperparameters import Choice, Float, Integer, Parameter

# A cubic expansion of 40 columns is 12,341 terms; on cohorts of clinical size more than this many only add noise.
_MAX_POLYNOMIAL_TERMS = 1000

# Of a principal component of standardised columns; rounding leaves about 1e-32 where there is none.
_LEAST_VARIANCE = 1e-9


class SelectRates(GenericUnivariateSelect):  # type: ignore[misc]
    """Columns whose univariate test passes an error rate; the most significant one where none does."""

    def _get_support_mask(self) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = super()._get_support_mask()
        if not mask.any():
            mask = np.zeros_like(mask)
            mask[np.argmin(np.nan_to_num(self.pvalues_, nan=np.inf))] = True
        return mask


def _pca(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    # The inner folds of the calibration stage hold two thirds of the training patients.
    most = max(1, min(shape.n_columns, shape.n_patients // 2))
    components = max(1, ceil(float(parameters["fraction"]) * most))
    pca = PCA(components, svd_solver="full", random_state=seed)
    # Dummies of all levels make the table rank-deficient: components of rounding noise must not be blown up to unit
    # variance, here or by a predictor that standardises, or risks would depend on the processor.
    whiten = [StandardScaler()] if parameters["whiten"] else []
    return make_pipeline(StandardScaler(), pca, VarianceThreshold(_LEAST_VARIANCE), *whiten)


def _polynomial(parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    degree = int(parameters["degree"])
    while degree > 1 and comb(shape.n_columns + degree, degree) > _MAX_POLYNOMIAL_TERMS:
        degree -= 1
    return make_pipeline(
        StandardScaler(),
        PolynomialFeatures(
            degree,
            interaction_only=bool(parameters["interaction_only"]),
            include_bias=bool(parameters["include_bias"]),
        ),
    )


def _select_rates(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    score: Any = {"f_classif": f_classif, "chi2": chi2}[str(parameters["score"])]
    return make_pipeline(
        MinMaxScaler(),  # chi2 takes no negative values; the F test does not change
        SelectRates(score, mode=str(parameters["mode"]), param=float(parameters["alpha"])),
    )


FEATURES: tuple[Algorithm, ...] = (
    Algorithm(
        "features",
        "pca",
        (Float("fraction", 0.1, 1.0, 0.5), Choice("whiten", (False, True), default=False)),
        _pca,
        family="features",
    ),
    Algorithm(
        "features",
        "polynomial",
        (
            Integer("degree", 2, 3, 2),
            Choice("interaction_only", (False, True), default=False),
            Choice("include_bias", (True, False), default=False),
        ),
        _polynomial,
        family="features",
        max_columns=43,  # the widest table whose quadratic expansion keeps to _MAX_POLYNOMIAL_TERMS
    ),
    Algorithm(
        "features",
        "select_rates",
        (
            Float("alpha", 0.001, 0.5, 0.1, log=True),
            Choice("mode", ("fpr", "fdr", "fwe"), default="fpr"),
            Choice("score", ("f_classif", "chi2"), default="f_classif"),
        ),
        _select_rates,
        family="features",
        stored_types=(
            "autoprog.space.features.SelectRates",
            "sklearn.feature_selection._univariate_selection.chi2",
            "sklearn.feature_selection._univariate_selection.f_classif",
        ),
    ),
    Algorithm("features", "none", (), lambda *_: None, family="features", takes_missing=True),
)
