"""When a search has found what it can: what is left to gain is less than what the luck of a score amounts to.

=======  ==============================================================================  =======  =====
symbol   meaning                                                                         shape    unit
=======  ==============================================================================  =======  =====
f        true gains of candidates, a posteriori                                          (p,)     1
x*       evaluated pipeline with the best posterior mean, which would be picked          scalar   index
se       standard error of a cross-validated score about the true gain: root of the      scalar   1
         noise variance
=======  ==============================================================================  =======  =====

    improvement   max_x E[max(f(x) - E f(x*), 0)] < se
    regret        E[max_x f(x) - f(x*)] < se

The first looks one evaluation ahead, and one evaluation hardly ever promises as much as the luck of a score. The second
is what would be gained if all were known, among the most promising candidates.

References
----------
Makarova et al. 2022, AutoML-Conf, "Automatic termination for hyperparameter optimization", whose bound on the regret is
one of confidence and hardly ever falls below the error; Nguyen et al. 2017, ACML (expected improvement).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.expected_improvement import log_expected_improvement
from autoprog.optimizer.mixture import Mixture
from autoprog.optimizer.neighbourhood import Neighbourhood

StoppingRule = Literal["improvement", "regret"]

# Most promising candidates whose gains are drawn, and draws.
_CANDIDATES, _DRAWS = 200, 256


def has_found(mixture: Mixture, neighbourhood: Neighbourhood, rule: StoppingRule, rng: np.random.Generator) -> bool:
    """Whether a rule says that the search may end.

    Parameters
    ----------
    mixture : Mixture
        What is believed of the evaluated pipelines.
    neighbourhood : Neighbourhood
        Of the valid kinds.
    rule : {"improvement", "regret"}
        Which.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    bool
        Whether what is left is below the error.
    """
    belief = mixture.belief
    incumbents, best = mixture.incumbents()
    candidates = list(dict.fromkeys(neighbourhood.candidates(incumbents, rng)))
    mean, sd = mixture.marginal(belief.encoding.encode(candidates))
    log_improvement = log_expected_improvement(mean, sd, best)
    if rule == "improvement":
        left = float(np.exp(log_improvement.max()))
    else:
        promising = np.argsort(-log_improvement, kind="stable")[:_CANDIDATES]
        points = belief.encoding.encode([incumbents[0], *(candidates[i] for i in promising)])
        f = mixture.draws(points, _DRAWS, rng)
        left = expected_regret(f)
    return left < float(np.sqrt(belief.parameters.noise))


def expected_regret(f: NDArray[np.float64]) -> float:
    """What knowing all would gain over the pick.

    Parameters
    ----------
    f : ndarray, shape = (draws, p)
        Draws of true gains; the first column is the pick's.

    Returns
    -------
    float
        At least 0, in units of f.
    """
    return float((f.max(axis=1) - f[:, 0]).mean())
