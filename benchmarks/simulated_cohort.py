"""A large cohort of simulated patients: numbers, yes and no, categories; a share of the cells missing.

z      latent states of a patient, which its numbers share              (n, 4)
W      loadings of the numeric columns on them                          (4, n_numeric)
eta    linear predictor, with one product and one bend                  (n,)
risk   expit(eta), about a tenth on average                             (n,)
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

N_NUMERIC, N_BINARY, N_CATEGORICAL = 32, 10, 8
LEVELS = (3, 3, 4, 4, 5, 6, 8, 12)
MISSING = 0.05
OUTCOME = "outcome"

_LATENT = 4
_INTERCEPT = -4.3


def simulated_table(n_patients: int, seed: int) -> pd.DataFrame:
    """Draw a table as a client would send it.

    Parameters
    ----------
    n_patients : int
        Rows.
    seed : int
        Of all draws.

    Returns
    -------
    pandas.DataFrame
        The outcome, 32 columns of numbers, 10 of 0 and 1, 8 of words; 5 % of the cells of the 50 columns are missing.
    """
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n_patients, _LATENT))
    numbers = z @ rng.normal(0, 0.6, (_LATENT, N_NUMERIC)) + rng.standard_normal((n_patients, N_NUMERIC))
    binary = (rng.random((n_patients, N_BINARY)) < expit(numbers[:, :N_BINARY] - 1)).astype(np.float64)
    codes = np.column_stack([_level(numbers[:, -1 - k], levels, rng) for k, levels in enumerate(LEVELS)])
    y = rng.random(n_patients) < expit(_linear_predictor(numbers, binary, codes, rng))
    # Every fourth number is skewed, as laboratory values are.
    numbers[:, ::4] = np.exp(numbers[:, ::4])
    columns: dict[str, object] = {OUTCOME: y.astype(np.int64)}
    columns |= {f"number_{j}": _with_gaps(numbers[:, j].round(3), rng) for j in range(N_NUMERIC)}
    columns |= {f"sign_{j}": _with_gaps(binary[:, j], rng) for j in range(N_BINARY)}
    for k, levels in enumerate(LEVELS):
        places = np.where(rng.random(n_patients) < MISSING, -1, codes[:, k])
        columns[f"group_{k}"] = pd.Categorical.from_codes(places, [f"level {i}" for i in range(levels)])
    return pd.DataFrame(columns)


def _level(number: NDArray[np.float64], levels: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A level for every patient, the first ones the most frequent, that has something to do with a number."""
    noisy = number + rng.standard_normal(len(number))
    bounds = np.quantile(noisy, np.cumsum(np.geomspace(1, 0.2, levels))[:-1] / np.geomspace(1, 0.2, levels).sum())
    return np.asarray(np.searchsorted(bounds, noisy), dtype=np.int64)


def _linear_predictor(
    numbers: NDArray[np.float64], binary: NDArray[np.float64], codes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    eta = _INTERCEPT + numbers @ (rng.normal(0, 0.3, N_NUMERIC) * (np.arange(N_NUMERIC) % 3 == 0))
    eta += binary @ rng.normal(0, 0.4, N_BINARY)
    for k, levels in enumerate(LEVELS):
        eta += rng.normal(0, 0.3, levels)[codes[:, k]]
    eta += 0.4 * numbers[:, 1] * numbers[:, 2] + 0.5 * np.abs(numbers[:, 4])
    return np.asarray(eta)


def _with_gaps(column: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return np.where(rng.random(len(column)) < MISSING, np.nan, column)
