"""Modes of the estimator: what `fit` takes as the target, and what the methods of scikit-learn give back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, column_or_1d

from autoprog.estimator.targets import SamplingDesign, as_survival, two_classes

if TYPE_CHECKING:
    from autoprog.estimator.estimator import AutoPrognosis
    from autoprog.estimator.tables import CohortTable
    from autoprog.model import PrognosticModel

_Floats = NDArray[np.float64]


class EstimatorMode(Protocol):
    """What depends on the mode."""

    def cohort(self, estimator: AutoPrognosis, X: ArrayLike, y: Any, design: SamplingDesign) -> CohortTable:  # noqa: ANN401  a target in any form
        """Make the cohort to search."""
        ...

    def restore(self, estimator: AutoPrognosis, model: PrognosticModel) -> None:
        """Set what `fit` sets of a target, for a model without its search."""
        ...

    def labels(self, estimator: AutoPrognosis, risks: _Floats) -> NDArray[Any]:
        """What `predict` gives."""
        ...

    def probabilities(self, estimator: AutoPrognosis, risks: _Floats) -> _Floats:
        """What `predict_proba` gives."""
        ...

    def score(self, estimator: AutoPrognosis, risks: _Floats, y: Any, sample_weight: ArrayLike | None) -> float:  # noqa: ANN401  as above
        """What `score` gives."""
        ...

    def tag(self, tags: Tags) -> None:
        """Set the type of the estimator."""
        ...


class Classification:
    """Two classes."""

    def cohort(self, estimator: AutoPrognosis, X: ArrayLike, y: Any, design: SamplingDesign) -> CohortTable:  # noqa: ANN401  as above
        """Make the cohort, and set the classes."""
        from autoprog.estimator.tables import binary_cohort  # noqa: PLC0415  see the head of `estimator`

        if estimator.horizons is not None:
            msg = "horizons are of mode 'survival'"
            raise ValueError(msg)
        frame = estimator._table(X, y)  # noqa: SLF001  a part of it
        labels = column_or_1d(np.asarray(y), warn=True)
        check_consistent_length(frame, labels, design.groups, design.weights)
        estimator.classes_, positive = two_classes(labels[design.weights_of(len(labels)) != 0], estimator.positive)
        name = getattr(y, "name", None)
        name = name.strip() if isinstance(name, str) else None
        return binary_cohort(frame, labels, positive, design, name=name, all_numeric=_is_array(X))

    def restore(self, estimator: AutoPrognosis, model: PrognosticModel) -> None:
        """Set the classes."""
        outcome: Any = model.outcome
        estimator.positive = outcome.positive
        estimator.classes_ = np.array(sorted((outcome.negative, outcome.positive)), dtype=object)

    def labels(self, estimator: AutoPrognosis, risks: _Floats) -> NDArray[Any]:
        """Likelier class."""
        found: NDArray[Any] = estimator.classes_[(self.probabilities(estimator, risks)[:, 1] > 0.5).astype(np.intp)]
        return found

    def probabilities(self, estimator: AutoPrognosis, risks: _Floats) -> _Floats:
        """Probability of each class."""
        columns = [1.0 - risks, risks]
        return np.column_stack(columns if _positive(estimator) == estimator.classes_[1] else columns[::-1])

    def score(self, estimator: AutoPrognosis, risks: _Floats, y: Any, sample_weight: ArrayLike | None) -> float:  # noqa: ANN401  as above
        """AUC-ROC."""
        from sklearn.metrics import roc_auc_score  # noqa: PLC0415  see the head of `estimator`

        from autoprog.cohort.canonical import TWINS, canonical_text  # noqa: PLC0415

        # A model without its search knows its classes as texts, and 1 may be true.
        positive = canonical_text(_positive(estimator))
        labels = [canonical_text(label) for label in column_or_1d(np.asarray(y)).tolist()]
        classes = {canonical_text(label) for label in estimator.classes_.tolist()}
        unknown = set(labels) - classes - {TWINS[label] for label in classes & TWINS.keys()}
        if unknown:
            msg = f"y holds {', '.join(map(repr, sorted(unknown)[:6]))}; the classes are {estimator.classes_.tolist()}"
            raise ValueError(msg)
        has_outcome = np.isin(labels, [positive, TWINS.get(positive, positive)])
        return float(roc_auc_score(has_outcome, risks, sample_weight=sample_weight))

    def tag(self, tags: Tags) -> None:
        """Keep them."""


class FollowUp:
    """A time to an event."""

    def cohort(self, estimator: AutoPrognosis, X: ArrayLike, y: Any, design: SamplingDesign) -> CohortTable:  # noqa: ANN401  as above
        """Make the cohort."""
        from autoprog.estimator.tables import survival_cohort  # noqa: PLC0415  see the head of `estimator`

        outcome = as_survival(y)
        frame = estimator._table(X, np.asarray(outcome.event))  # noqa: SLF001  a part of it
        check_consistent_length(frame, outcome.event, design.groups, design.weights)
        return survival_cohort(frame, outcome, estimator.horizons, design, all_numeric=_is_array(X))

    def restore(self, estimator: AutoPrognosis, model: PrognosticModel) -> None:
        """Nothing to set."""

    def labels(self, estimator: AutoPrognosis, risks: _Floats) -> _Floats:
        """Risks until the last horizon."""
        return risks[:, -1]

    def probabilities(self, estimator: AutoPrognosis, risks: _Floats) -> _Floats:
        """Raise ValueError."""
        msg = "the model is of event times, and has no classes: predict_risk gives the risk until every horizon"
        raise ValueError(msg)

    def score(self, estimator: AutoPrognosis, risks: _Floats, y: Any, sample_weight: ArrayLike | None) -> float:  # noqa: ANN401  as above
        """Concordance."""
        from autoprog.survival import censoring_survival, uno_c, wolbers_c  # noqa: PLC0415  see the head of `estimator`

        if sample_weight is not None:
            msg = "the concordance of mode 'survival' takes no sample_weight"
            raise ValueError(msg)
        outcome = as_survival(y)
        t, event = np.asarray(outcome.time), np.asarray(outcome.event)
        measure, last = uno_c if event.max() <= 1 else wolbers_c, float(estimator.horizons_[-1])
        return float(measure(t, event, risks[:, -1], last, censoring_survival(t, event)).index)

    def tag(self, tags: Tags) -> None:
        """It is neither a classifier nor a regressor."""
        tags.estimator_type, tags.classifier_tags = None, None


def _positive(estimator: AutoPrognosis) -> Any:  # noqa: ANN401  a label
    return estimator.classes_[1] if estimator.positive is None else estimator.positive


def _is_array(X: ArrayLike) -> bool:
    return not isinstance(X, pd.DataFrame)


MODES: dict[str, EstimatorMode] = {"classification": Classification(), "survival": FollowUp()}
"""Modes by their names."""


def choose_mode(mode: str) -> EstimatorMode:
    """The mode of this name; raises ValueError."""
    if mode not in MODES:
        msg = (
            f"mode is 'classification' or 'survival', not {mode!r}; cohorts of visits are searched by the command line "
            "and the REST API"
        )
        raise ValueError(msg)
    return MODES[mode]
