"""Permutation importance of an ensemble's inputs, out of fold.

    q_i      risk of patient i by the ensemble that was fitted without the patient's fold      (n, H)
    q_i^jr   the same, with input j from another patient of the fold, drawn in shuffle r       (n, H)
    S        a measure of all patients' risks, signed so that more is better
    I_j      S(q) less the mean over r of S(q^jr)

An interval is the mean of the shuffles' intervals of a paired difference, which is a little too wide. Of two inputs
that say the same, each is of little importance, as the other remains. An input of visits has its windows shuffled
together.

References
----------
Breiman 2001, Machine Learning 45:5; Fisher, Rudin & Dominici 2019, Journal of Machine Learning Research 20:177.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.endpoints import Endpoint
from autoprog.survival import Interval

_Floats = NDArray[np.float64]
LESS_IS_BETTER = frozenset({"brier"})


@dataclass(frozen=True, slots=True)
class InputImportance:
    """How much worse the risks are without what one input says.

    Attributes
    ----------
    feature : str
        The input.
    horizons : tuple of (float or None, mapping of str to Interval)
        Loss of each measure at each horizon, more for more important inputs; (None, ...) alone without a time.
    """

    feature: str
    horizons: tuple[tuple[float | None, Mapping[str, Interval]], ...]

    @property
    def size(self) -> float:
        """Mean loss of the AUC over the horizons."""
        return float(np.mean([next(iter(measures.values())).estimate for _, measures in self.horizons]))

    def to_json(self) -> dict[str, Any]:
        """JSON document for the API."""
        return {
            "feature": self.feature,
            "horizons": [
                {"horizon": horizon, "measures": {name: each.to_json() for name, each in measures.items()}}
                for horizon, measures in self.horizons
            ],
        }


def measure_importance(endpoint: Endpoint, feature: str, q: _Floats, shuffled: _Floats) -> InputImportance:
    """Compare risks, (n, H), with those of each shuffle, (n_shuffles, n, H)."""
    losses = [_losses(endpoint, q, other) for other in shuffled]
    return InputImportance(
        feature,
        tuple(
            (horizon, {name: _mean([loss[k][name] for loss in losses]) for name in losses[0][k]})
            for k, horizon in enumerate(endpoint.horizons)
        ),
    )


def _losses(endpoint: Endpoint, q: _Floats, other: _Floats) -> list[dict[str, Interval]]:
    return [
        {name: _negated(gain) if name in LESS_IS_BETTER else gain for name, gain in gains.items()}
        for gains in endpoint.gains(q, other)
    ]


def _negated(gain: Interval) -> Interval:
    return Interval(-gain.estimate, -gain.upper, -gain.lower)


def _mean(estimates: Sequence[Interval]) -> Interval:
    means = np.mean([(each.estimate, each.lower, each.upper) for each in estimates], axis=0)
    return Interval(*(float(x) for x in means))
