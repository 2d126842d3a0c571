"""Stopping rules: end a search when the remaining gain is below the standard error of a score.

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

`improvement` looks one evaluation ahead, which hardly ever promises as much as se. `regret` is the gain from knowing
all true gains, among the most promising candidates.

References
----------
Makarova et al. 2022, AutoML-Conf, "Automatic termination for hyperparameter optimization", whose confidence bound on
the regret hardly ever falls below the error; Nguyen et al. 2017, ACML (expected improvement).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoprog.optimizer.improvement import log_expected_improvement
from autoprog.optimizer.mixture import Mixture
from autoprog.optimizer.neighbourhood import Neighbourhood

StoppingRule = Literal["improvement", "regret"]

# Number of the most promising candidates, and of draws of their gains.
_CANDIDATES, _DRAWS = 200, 256


def has_found(mixture: Mixture, neighbourhood: Neighbourhood, rule: StoppingRule, rng: np.random.Generator) -> bool:
    """Decide by a rule whether the search may end."""
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
    """Expected gain of knowing all over the pick, at least 0; `f` has shape (draws, p), the pick's column first."""
    return float((f.max(axis=1) - f[:, 0]).mean())
