"""Fine and Gray's model for every cause, combined."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from autoprog.space.event_times.penalty import ridge_penalty
from autoprog.survival import fit_fine_gray

# Exponentials of larger numbers overflow.
_LARGEST_EXPONENT = 700.0


class FineGray(BaseEstimator):  # type: ignore[misc]
    """Proportional subdistribution hazards of each cause, with a ridge penalty on standardised columns.

    Parameters
    ----------
    n_causes : int
        K, at least 2.
    ridge : float
        Penalty `ridge / 2 |beta_standardised|^2` on the pseudo log-likelihood, 0 or more; see `ridge_penalty`.
    until : float
        Last time of interest; the incidence is constant after it.

    Attributes
    ----------
    coef_ : ndarray, shape = (K, d)
        Log subdistribution hazard ratios per unit of the column.
    centre_ : ndarray, shape = (K, d)
        Columns of the patient with the baseline hazard.
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
        """Fit one model per cause.

        Parameters
        ----------
        X : array-like, shape = (n, d)
            Linearly independent columns.
        y : structured ndarray, shape = (n,)
            Outcomes of dtype `EVENT_TIMES`.

        Returns
        -------
        FineGray
            Itself.

        Raises
        ------
        NoEventError
            If no patient has the event of interest; an unobserved competing cause has incidence 0.
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
        """P(cause k until t | x), shape = (n, K, n_times), as in `IncidencePipeline`."""
        check_is_fitted(self)
        columns = np.asarray(X, dtype=np.float64)
        t = np.minimum(np.append(np.asarray(times, dtype=np.float64), self.until), self.until)
        F = np.empty((len(columns), self.n_causes, len(t)))
        for k in range(self.n_causes):
            places = np.searchsorted(self.times_[k], t, side="right")
            H0 = np.concatenate([[0.0], self.cumulative_hazard_[k]])[places]
            lp = np.minimum((columns - self.centre_[k]) @ self.coef_[k], _LARGEST_EXPONENT)
            F[:, k] = -np.expm1(-H0 * np.exp(lp)[:, None])
        # The causes' models are separate. The sum is largest at `until`; one divisor for all times keeps their order.
        F /= np.maximum(F[:, :, -1].sum(axis=1), 1.0)[:, None, None]
        return F[:, :, :-1]
