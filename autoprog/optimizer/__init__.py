"""The choice of the next configurations: structured surrogate, decompositions and batches."""

from autoprog.optimizer._base import Optimizer, Proposal
from autoprog.optimizer.decomposition import Decomposition
from autoprog.optimizer.initial import Start
from autoprog.optimizer.options import Acquisition, Aim, Counts, Decompositions, OptimizerOptions, Outputs, Preset, Stop
from autoprog.optimizer.posterior import Posterior
from autoprog.optimizer.presets import PRESETS, make_optimizer

__all__ = [
    "PRESETS",
    "Acquisition",
    "Aim",
    "Counts",
    "Decomposition",
    "Decompositions",
    "Optimizer",
    "OptimizerOptions",
    "Outputs",
    "Posterior",
    "Preset",
    "Proposal",
    "Start",
    "Stop",
    "make_optimizer",
]
