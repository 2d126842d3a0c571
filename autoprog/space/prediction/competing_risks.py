"""Fine and Gray's model, the predictor for competing risks only."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.base import BaseEstimator

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.event_times import FineGray
from autoprog.space.hyperparameters import Parameter


def _fine_gray(_parameters: Mapping[str, Parameter], shape: TableShape, _seed: int) -> BaseEstimator:
    return FineGray(shape.n_causes, until=shape.times[-1])


FINE_GRAY = Algorithm(
    "prediction",
    "fine_gray",
    (),
    _fine_gray,
    "linear",
    modes=("survival", "temporal"),
    takes=frozenset({"negative", "times"}),
    cost=Cost(0.02, patients=1.1, columns=1.5),
    least_causes=2,
    table_1=False,
    stored_types=("autoprog.space.event_times.fine_gray.FineGray",),
    reference="Fine & Gray (1999), J Am Stat Assoc 94:496-509",
)
