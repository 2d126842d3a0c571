"""Learners of one cause's hazard, combined to the incidence of each of several causes.

=======  =======================================================================  ================
symbol   meaning                                                                  shape
=======  =======================================================================  ================
H        cumulative hazard of each cause                                          (n, K, n_steps)
F        P(cause k until t | x)                                                   (n, K, n_times)
=======  =======================================================================  ================

Each cause has its own learner, for which events of other causes are censored. For one cause F = 1 - exp(-H). For
several, 1 - exp(-H_k) would be wrong: it treats patients with another event as still at risk.

References
----------
Prentice et al. (1978), Biometrics 34:541; Putter, Fiocco & Geskus (2007), Stat Med 26:2389.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from autoprog.space.event_times.outcomes import of_cause
from autoprog.space.path import PathFit
from autoprog.survival import bounded_incidence

_CELLS_AT_ONCE = 5_000_000
_MAX_STEPS = 2_000
_MIN_SURVIVAL = 1e-12


class CauseSpecific(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Cumulative incidence from one learner of event times per cause.

    Parameters
    ----------
    learner : estimator
        Unfitted, with `predict_survival` and, once fitted, `times_` at which its hazard may step.
    n_causes : int
        K, at least 1.

    Attributes
    ----------
    learners_ : list of estimator or None, length K
        Fitted; None for an unobserved competing cause, whose hazard is 0.
    """

    def __init__(self, learner: BaseEstimator, n_causes: int = 1) -> None:
        self.learner = learner
        self.n_causes = n_causes

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Fit one learner per cause; ValueError if no patient has the event of interest."""
        if not (y["event"] == 1).any():
            msg = "no patient to learn from has the event of interest"
            raise ValueError(msg)
        self.learners_: list[Any] = [
            clone(self.learner).fit(X, of_cause(y, cause)) if (y["event"] == cause).any() else None
            for cause in range(1, self.n_causes + 1)
        ]
        return self

    def fit_path(
        self,
        X: ArrayLike,
        y: NDArray[np.void],
        other_X: ArrayLike,
        other_y: NDArray[np.void],  # noqa: ARG002  part of the protocol
        times: ArrayLike,
    ) -> PathFit:
        """Fit the learners at every value of their `along_path`; as `DiscreteTime.fit_path`, but without monitoring."""
        values, risks = [], []
        for value, learner in self.learner.along_path():
            at_value = CauseSpecific(learner, self.n_causes).fit(X, y)
            values.append(value)
            risks.append(at_value.cumulative_incidence(other_X, times).astype(np.float32))
            self.learners_ = at_value.learners_
        return PathFit(tuple(values), np.array(risks))

    def cumulative_incidence(self, X: ArrayLike, times: ArrayLike) -> NDArray[np.float64]:
        """P(cause k until t | x), shape = (n, K, n_times), as in `IncidencePipeline`."""
        check_is_fitted(self)
        columns, t = np.asarray(X, dtype=np.float64), np.asarray(times, dtype=np.float64)
        seen = [k for k, learner in enumerate(self.learners_) if learner is not None]
        if self.n_causes == 1:
            return np.asarray(1.0 - self.learners_[0].predict_survival(columns, t))[:, None, :]
        steps = self._steps(t)
        places = np.searchsorted(steps, t, side="right")
        incidence = np.zeros((len(columns), self.n_causes, len(t)))
        at_once = max(1, _CELLS_AT_ONCE // (max(1, len(steps)) * self.n_causes))
        for start in range(0, len(columns), at_once):
            part = slice(start, start + at_once)
            survival = np.stack([self.learners_[k].predict_survival(columns[part], steps) for k in seen], axis=1)
            H = -np.log(np.maximum(survival, _MIN_SURVIVAL))
            F = bounded_incidence(np.diff(H, axis=2, prepend=0.0))
            incidence[part, seen] = np.concatenate([np.zeros((*F.shape[:2], 1)), F], axis=2)[:, :, places]
        return incidence

    def _steps(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        # Steps of any hazard until the last requested time; of very many, evenly spaced ones. The requested times are
        # included for learners whose curves rise between their steps.
        steps = np.unique(np.concatenate([m.times_ for m in self.learners_ if m is not None]))
        steps = steps[steps <= t[-1]]
        if len(steps) > _MAX_STEPS:
            steps = steps[:: -(-len(steps) // _MAX_STEPS)]
        return np.union1d(steps, t)
