"""Fine and Gray's model of every cause, joined."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from autoprog.space.event_times.penalty import ridge_penalty
from autoprog.survival import fit_fine_gray

# The exponential of more than this overflows.
_LARGEST_EXPONENT = 700.0


class FineGray(BaseEstimator):  # type: ignore[misc]
    """Proportional hazards of the subdistribution of each cause, with a ridge penalty on standardised columns.

    Parameters
    ----------
    n_causes : int
        K, at least 2.
    ridge : float
        Penalty `ridge / 2 |beta_standardised|^2` against the pseudo log-likelihood, 0 or more; see `ridge_penalty`.
    until : float
        The last time that is asked for; beyond it the incidence stays as it is there.

    Attributes
    ----------
    coef_ : ndarray, shape = (K, d)
        Log subdistribution hazard ratios, a unit of the column.
    centre_ : ndarray, shape = (K, d)
        The columns of the patient whose hazard the baseline is.
    times_, cumulative_hazard_ : list of ndarray, length K
        Steps of the baselines.

    References
    ----------
    .. [1] Fine, J. P. & Gray, R. J. (1999). A proportional hazards model for the subdistribution of a competing risk.
       J Am Stat Assoc 94:496-509.
    """

    def __init__(self, n_causes: int = 2, ridge: float = 0.1, until: float = np.inf) -> None:
        self.n_causes = n_causes
        self.ridge = ridge
        self.until = until

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Fit a model a cause.

        Parameters
        ----------
        X : array-like, shape = (n, d)
            Linearly independent columns.
        y : structured ndarray, shape = (n,)
            See `event_times`.

        Returns
        -------
        FineGray
            Itself.

        Raises
        ------
        NoEventError
            If the event of interest was seen in no patient; a competing cause that none has, has no incidence.
        ConvergenceError
            If the likelihood has no maximum.
        """
        columns = np.asarray(X, dtype=np.float64)
        d = columns.shape[1]
        self.coef_, self.centre_ = np.zeros((self.n_causes, d)), np.zeros((self.n_causes, d))
        self.times_ = [np.empty(0)] * self.n_causes
        self.cumulative_hazard_ = [np.empty(0)] * self.n_causes
        for k in range(self.n_causes):
            if k > 0 and not (y["event"] == k + 1).any():
                continue
            ridge = ridge_penalty(self.ridge, d, int(np.count_nonzero(y["event"] == k + 1)))
            model = fit_fine_gray(columns, y["time"], y["event"], cause=k + 1, ridge=ridge)
            self.coef_[k], self.centre_[k] = model.coefficients, model.centre
            self.times_[k], self.cumulative_hazard_[k] = model.cumulative_hazard.times, model.cumulative_hazard.values
        return self

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x).

        The causes' models are apart from each other: where they sum above 1 at `until`, all the patient's incidences
        are divided by that sum. It is the largest, so that one divisor for all times keeps their order.

        Parameters
        ----------
        X : array-like, shape = (n, d)
            Columns as in `fit`.
        times : array-like, shape = (n_times,)
            0 or more.

        Returns
        -------
        ndarray, shape = (n, K, n_times)
            Not decreasing with time, the sum over causes at most 1.
        """
        check_is_fitted(self)
        columns = np.asarray(X, dtype=np.float64)
        t = np.minimum(np.append(np.asarray(times, dtype=np.float64), self.until), self.until)
        F = np.empty((len(columns), self.n_causes, len(t)))
        for k in range(self.n_causes):
            places = np.searchsorted(self.times_[k], t, side="right")
            H0 = np.concatenate([[0.0], self.cumulative_hazard_[k]])[places]
            lp = np.minimum((columns - self.centre_[k]) @ self.coef_[k], _LARGEST_EXPONENT)
            F[:, k] = -np.expm1(-H0 * np.exp(lp)[:, None])
        F /= np.maximum(F[:, :, -1].sum(axis=1), 1.0)[:, None, None]
        return F[:, :, :-1]
