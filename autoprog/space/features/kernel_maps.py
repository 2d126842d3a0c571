"""Features in which a linear learner fits functions of a kernel: kernel components, landmarks, random waves."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.features.kernel_axes import GAMMA, KERNEL_AXES, kernel_arguments, scale_gamma
from autoprog.space.features.kernel_components import KERNEL_COMPONENTS, KernelComponents
from autoprog.space.features.memory import most_columns
from autoprog.space.hyperparameters import Integer, Parameter


def _kernel_pca(parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    components = min(int(parameters["components"]), most_columns(shape))
    return make_pipeline(StandardScaler(), KernelComponents(components, **kernel_arguments(parameters, shape)))


def _nystroem(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    landmarks = min(int(parameters["components"]), most_columns(shape))
    return make_pipeline(
        StandardScaler(),
        KernelComponents(landmarks, **kernel_arguments(parameters, shape), landmarks=landmarks, random_state=seed),
    )


def _random_kitchen_sinks(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    waves = min(int(parameters["components"]), most_columns(shape))
    sampler = RBFSampler(gamma=scale_gamma(parameters, shape), n_components=waves, random_state=seed)
    return make_pipeline(StandardScaler(), sampler)


KERNEL_PCA = Algorithm(
    "features",
    "kernel_pca",
    (Integer("components", 2, 100, 20, log=True), *KERNEL_AXES),
    _kernel_pca,
    family="kernel",
    cost=Cost(0.1, 0.9, 0.2),
    max_patients=1000,  # every patient is compared with each: 6 s for 500,000 patients and 87 columns
    stored_types=(KERNEL_COMPONENTS,),
    patients_in=KERNEL_COMPONENTS,
    reference="Schölkopf, Smola & Müller (1998), Neural Comput. 10:1299-1319; hyperparameters as in Feurer et al. "
    "(2015), NIPS 28, gamma relative to the number of columns",
)

NYSTROEM = Algorithm(
    "features",
    "nystroem",
    (Integer("components", 10, 500, 50, log=True), *KERNEL_AXES),
    _nystroem,
    family="kernel",
    cost=Cost(0.005, 0.85, 0.2),
    stored_types=(KERNEL_COMPONENTS,),
    patients_in=KERNEL_COMPONENTS,
    reference="Williams & Seeger (2001), NIPS 13; hyperparameters as in Feurer et al. (2015), NIPS 28, gamma relative "
    "to the number of columns",
)

RANDOM_KITCHEN_SINKS = Algorithm(
    "features",
    "random_kitchen_sinks",
    (GAMMA, Integer("components", 10, 500, 50, log=True)),
    _random_kitchen_sinks,
    family="kernel",
    cost=Cost(0.003, 0.9, 0.3),
    reference="Rahimi & Recht (2008), NIPS 21; hyperparameters as in Feurer et al. (2015), NIPS 28, gamma relative "
    "to the number of columns",
)
