"""Linear components of the standardised columns: principal and independent ones."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn import decomposition
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.features.share_of_columns import SHARE_OF_COLUMNS, ShareOfColumns
from autoprog.space.features.varying_columns import VARYING_COLUMNS, VaryingColumns
from autoprog.space.hyperparameters import Choice, Float, Parameter


def _principal_components(share: float, shape: TableShape, *, whiten: bool) -> Pipeline:
    # The covariance for many patients, as scikit-learn's "auto" chooses, but never random projections.
    solver = "covariance_eigh" if shape.n_patients >= 10 * shape.n_columns else "full"
    pca = ShareOfColumns(decomposition.PCA(svd_solver=solver), "n_components", share)
    # Dummies of all levels make the table rank-deficient. Components of rounding noise must not be scaled to unit
    # variance, here or in a predictor that standardises, or risks would depend on the processor.
    return make_pipeline(StandardScaler(), pca, VaryingColumns(), *([StandardScaler()] if whiten else []))


def _pca(parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    return _principal_components(float(parameters["fraction"]), shape, whiten=bool(parameters["whiten"]))


def _fast_ica(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    """Whitened principal components, rotated until they are as non-Gaussian as possible."""
    # This whitening leaves out components of rounding noise, which FastICA's own would keep.
    principal = _principal_components(float(parameters["fraction"]), shape, whiten=True)
    ica = decomposition.FastICA(
        algorithm=str(parameters["algorithm"]),
        fun=str(parameters["contrast"]),
        fun_args={"alpha": float(parameters["slope"])},  # read only by the contrast log cosh(slope u) / slope
        whiten=False,
        max_iter=200,
        random_state=seed,
    )
    return make_pipeline(*(step for _, step in principal.steps), ica)


PCA = Algorithm(
    "features",
    "pca",
    (Float("fraction", 0.1, 1.0, 0.5), Choice("whiten", (False, True), default=False)),
    _pca,
    family="projection",
    cost=Cost(0.003, 0.8, 1.0),
    stored_types=(SHARE_OF_COLUMNS, VARYING_COLUMNS),
    reference="Hotelling (1933), J. Educ. Psychol. 24:417-441; as in Feurer et al. (2015), NIPS 28, but for a share of "
    "the columns in place of a share of the variance",
)

FAST_ICA = Algorithm(
    "features",
    "fast_ica",
    (
        Float("fraction", 0.1, 1.0, 0.5),
        Choice("algorithm", ("parallel", "deflation"), default="parallel"),
        Choice("contrast", ("logcosh", "exp", "cube"), default="logcosh"),
        Float("slope", 1.0, 2.0, 1.0),
    ),
    _fast_ica,
    family="projection",
    cost=Cost(0.06, 1.0, 1.5),
    max_patients=10_000,  # up to 200 passes over the patients; this many determine the rotation
    stored_types=(SHARE_OF_COLUMNS, VARYING_COLUMNS),
    reference="Hyvärinen & Oja (2000), Neural Netw. 13:411-430, also for the slope; otherwise as in Feurer et al. "
    "(2015), NIPS 28, whose fourth axis, to leave the whitening out, has no fixed point to converge to",
)
