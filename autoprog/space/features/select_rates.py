"""Selection of the columns whose univariate test passes an error rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import GenericUnivariateSelect, chi2, f_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.features.varying_columns import VARYING_COLUMNS, VaryingColumns
from autoprog.space.hyperparameters import Choice, Float, Parameter


class SelectRates(GenericUnivariateSelect):  # type: ignore[misc]
    """Select columns whose univariate test passes an error rate, or the most significant one if none does."""

    def _get_support_mask(self) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = super()._get_support_mask()
        if not mask.any():
            mask = np.zeros_like(mask)
            mask[np.argmin(np.nan_to_num(self.pvalues_, nan=np.inf))] = True
        return mask


def _select_rates(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    score: Any = {"f_classif": f_classif, "chi2": chi2}[str(parameters["score"])]
    return make_pipeline(
        MinMaxScaler(),  # chi2 needs nonnegative values; the F test does not change
        VaryingColumns(),  # neither test is defined for a constant column
        SelectRates(score, mode=str(parameters["mode"]), param=float(parameters["alpha"])),
    )


SELECT_RATES = Algorithm(
    "features",
    "select_rates",
    (
        Float("alpha", 0.001, 0.5, 0.1, log=True),
        Choice("mode", ("fpr", "fdr", "fwe"), default="fpr"),
        Choice("score", ("f_classif", "chi2"), default="f_classif"),
    ),
    _select_rates,
    family="selection",
    cost=Cost(0.004, 0.8, 0.8),
    stored_types=(
        VARYING_COLUMNS,
        "autoprog.space.features.select_rates.SelectRates",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
    ),
    reference="Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57:289-300; hyperparameters as in Feurer et al. (2015), "
    "NIPS 28",
)
