"""Curves of cumulative incidence between the times at which they are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def at_times(F: NDArray[np.float64], known: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Curves that start at 0 and are straight between the times at which they are known.

    Parameters
    ----------
    F : ndarray, shape = (..., n_known)
        Values at `known`, not decreasing.
    known : ndarray, shape = (n_known,)
        Ascending, above 0.
    times : ndarray, shape = (n_times,)
        Where the curves are wanted, 0 or more; beyond the last known time its value holds.

    Returns
    -------
    ndarray, shape = (..., n_times)
        Not decreasing.
    """
    if np.array_equal(known, times):
        return F
    knots = np.concatenate([[0.0], known])
    values = np.concatenate([np.zeros((*F.shape[:-1], 1)), F], axis=-1)
    right = np.clip(np.searchsorted(knots, times), 1, len(knots) - 1)
    share = np.clip((times - knots[right - 1]) / (knots[right] - knots[right - 1]), 0.0, 1.0)
    before, after = values[..., right - 1], values[..., right]
    # In this form rounding keeps the order of times; a weighted mean of equal numbers may exceed them.
    return np.asarray(np.minimum(before + share * (after - before), after))


def scaled_to_leave_room(F: NDArray[np.float64], of_interest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Incidences with that of the first cause replaced, and the others scaled to what it leaves.

    Parameters
    ----------
    F : ndarray, shape = (n, K, n_times)
        Incidences whose sum over causes is at most 1.
    of_interest : ndarray, shape = (n, n_times)
        The new incidence of cause 1, in [0, 1], not decreasing.

    Returns
    -------
    ndarray, shape = (n, K, n_times)
        The others keep their share of the patients who do not have the event of interest; the sum stays at most 1.
    """
    others = F[:, 1:]
    room = np.maximum(1.0 - F[:, 0], others.sum(axis=1))[:, None]
    share = np.divide(others, room, out=np.zeros_like(others), where=room > 0)
    scaled = share * (1.0 - of_interest)[:, None]
    # Where the event of interest takes the room of others at a later time, these have been less frequent before.
    scaled = np.minimum.accumulate(scaled[:, :, ::-1], axis=2)[:, :, ::-1]
    return np.concatenate([of_interest[:, None], scaled], axis=1)
