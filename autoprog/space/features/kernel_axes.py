"""The kernels of the feature stage, and the axes that they share.

x, z     standardised columns of two patients             (d,)
d        number of columns                                int
gamma    g / d                                            float

rbf      exp(-gamma |x - z|^2)
poly     (gamma x'z + coef0)^degree
sigmoid  tanh(gamma x'z + coef0), not positive definite
cosine   x'z / (|x| |z|)

The mean squared distance of two patients is 2 d, and the mean of x'x is d. The axis is g, so that one range suits
narrow and wide tables; the Gaussian kernel of an average pair is exp(-2 g).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autoprog.space._base import TableShape
from autoprog.space.hyperparameters import Choice, Float, Integer, Parameter

# Above the upper end patients resemble only themselves; towards the lower end the kernel becomes linear.
GAMMA = Float("gamma", 0.003, 3.0, 0.1, log=True)

KERNEL_AXES = (
    Choice("kernel", ("rbf", "poly", "sigmoid", "cosine"), default="rbf"),
    GAMMA,
    Integer("degree", 2, 4, 3),
    Float("coef0", -1.0, 1.0, 0.0),
)


def scale_gamma(parameters: Mapping[str, Parameter], shape: TableShape) -> float:
    """The kernel coefficient gamma for these columns, from its value g on the axis."""
    return float(parameters["gamma"]) / shape.n_columns


def kernel_arguments(parameters: Mapping[str, Parameter], shape: TableShape) -> dict[str, Any]:
    """Kernel, gamma, degree and coef0 under scikit-learn's names; a kernel reads those that it has."""
    return {
        "kernel": str(parameters["kernel"]),
        "gamma": scale_gamma(parameters, shape),
        "degree": int(parameters["degree"]),
        "coef0": float(parameters["coef0"]),
    }
