"""Curves of cumulative incidence between the times at which they are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def at_times(F: NDArray[np.float64], known: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate curves of shape (..., n_known) linearly from 0 at time 0; constant after the last known time."""
    if np.array_equal(known, times):
        return F
    knots = np.concatenate([[0.0], known])
    values = np.concatenate([np.zeros((*F.shape[:-1], 1)), F], axis=-1)
    right = np.clip(np.searchsorted(knots, times), 1, len(knots) - 1)
    share = np.clip((times - knots[right - 1]) / (knots[right] - knots[right - 1]), 0.0, 1.0)
    before, after = values[..., right - 1], values[..., right]
    # This form stays monotone under rounding; a weighted mean of equal numbers may exceed them.
    return np.asarray(np.minimum(before + share * (after - before), after))


def rising_alike(
    F: NDArray[np.float64], times: NDArray[np.float64], known: NDArray[np.float64], at_known: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Interpolate curves from 0 at time 0, such that each rises between two known times as another curve does.

    Parameters
    ----------
    F : ndarray, shape = (..., n_times)
        The curves to follow, nondecreasing.
    times : ndarray, shape = (n_times,)
        Times of F, ascending, known times included; none is after the last of these.
    known : ndarray, shape = (n_known,)
        Times with known values, ascending, above 0.
    at_known : ndarray, shape = (..., n_known)
        The values, nondecreasing.

    Returns
    -------
    ndarray, shape = (..., n_times)
        Nondecreasing; straight between two known times at which F is the same.
    """
    F = np.maximum.accumulate(F, axis=-1)  # rounding may have lowered it
    zero = np.zeros((*F.shape[:-1], 1))
    knots = np.concatenate([[0.0], known])
    F_known = np.concatenate([zero, F[..., np.searchsorted(times, known)]], axis=-1)
    values = np.concatenate([zero, at_known], axis=-1)
    right = np.maximum(np.searchsorted(knots, times), 1)
    low, rise = F_known[..., right - 1], F_known[..., right] - F_known[..., right - 1]
    straight = np.broadcast_to((times - knots[right - 1]) / (knots[right] - knots[right - 1]), F.shape)
    share = np.clip(np.divide(F - low, rise, out=straight.copy(), where=rise > 0), 0.0, 1.0)
    before, after = values[..., right - 1], values[..., right]
    return np.where(share < 1.0, np.minimum(before + share * (after - before), after), after)


def scaled_to_leave_room(F: NDArray[np.float64], of_interest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace the incidence of the first cause and scale the others to the rest.

    Parameters
    ----------
    F : ndarray, shape = (n, K, n_times)
        Incidences whose sum over causes is at most 1.
    of_interest : ndarray, shape = (n, n_times)
        The new incidence of cause 1, in [0, 1], nondecreasing.

    Returns
    -------
    ndarray, shape = (n, K, n_times)
        The other causes keep their shares of the patients without the event of interest; the sum is at most 1.
    """
    others = F[:, 1:]
    room = np.maximum(1.0 - F[:, 0], others.sum(axis=1))[:, None]
    share = np.divide(others, room, out=np.zeros_like(others), where=room > 0)
    scaled = share * (1.0 - of_interest)[:, None]
    # If the event of interest displaces the others at a later time, lower them at earlier times too.
    scaled = np.minimum.accumulate(scaled[:, :, ::-1], axis=2)[:, :, ::-1]
    return np.concatenate([of_interest[:, None], scaled], axis=1)
