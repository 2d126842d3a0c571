"""A stream of patients of whom only a few features can be looked at, with a scikit-learn interface or one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort.messages import pointer
from autoprog.errors import Fault, InvalidInputError
from autoprog.feature_streams.algorithms import make_algorithm, predicted_label
from autoprog.feature_streams.moments import GivenMoments, RunningMoments, moments_from_json
from autoprog.feature_streams.options import LARGEST_STEP, StreamOptions
from autoprog.feature_streams.selectors import Constraint, Subset


@dataclass(frozen=True, slots=True)
class OnlinePerformance:
    """Counts of predictions that were made before the label was seen."""

    positives: int = 0
    negatives: int = 0
    missed: int = 0  # positives predicted negative
    false_alarms: int = 0  # negatives predicted positive

    def after(self, label: int, prediction: int) -> OnlinePerformance:
        """Add a label and its prediction, 0 or 1 each."""
        wrong = int(label != prediction)
        return OnlinePerformance(
            self.positives + label,
            self.negatives + 1 - label,
            self.missed + wrong * label,
            self.false_alarms + wrong * (1 - label),
        )

    @property
    def rounds(self) -> int:
        """Number of labels."""
        return self.positives + self.negatives

    @property
    def online_mistake_rate(self) -> float | None:
        """Mistakes per round, in [0, 1]; smaller is better; None before the first."""
        return (self.missed + self.false_alarms) / self.rounds if self.rounds else None

    @property
    def majority_rate(self) -> float | None:
        """Mistakes per round of always predicting the more frequent label; a useful learner is below it."""
        return min(self.positives, self.negatives) / self.rounds if self.rounds else None

    @property
    def balanced_error(self) -> float | None:
        """Mean of the error rates among positives and negatives, 1/2 for a constant; None until both were seen."""
        if not self.positives or not self.negatives:
            return None
        return (self.missed / self.positives + self.false_alarms / self.negatives) / 2

    def to_json(self) -> dict[str, int]:
        """Write the counts as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**document)


_Floats = NDArray[np.float64]
# Part of every seed, so that no two kinds of draws share one.
_WEIGHTS, _SELECTION, _COIN = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Observation:
    """Result of a patient's prediction."""

    prediction: int  # 0 or 1, made before the label was learnt
    correct: bool  # whether it equals the label
    performance: OnlinePerformance  # on all patients, including this one


class FeatureStream:
    """Selects features, predicts and learns, patient by patient.

    `partial_fit` and `predict` follow scikit-learn. `select` and `observe` do the same in two steps, for a bedside
    where values follow the choice; an observation may come late, and counts when it comes.

    Parameters
    ----------
    features : sequence of str, distinct names
    options : StreamOptions
    standardisation : GivenMoments or None, known moments; None learns them from the values seen
    constraint : callable or None
        Constraint of Thompson sampling, see `ThompsonSelector`; as code, it is not part of the JSON state.

    Raises
    ------
    InvalidInputError
        With every fault.
    """

    classes_ = np.array([0, 1])

    def __init__(
        self,
        features: Sequence[str],
        options: StreamOptions = StreamOptions(),  # noqa: B008  frozen
        *,
        standardisation: GivenMoments | None = None,
        constraint: Constraint | None = None,
    ) -> None:
        first = {name: j for j, name in reversed(list(enumerate(features)))}
        faults = [
            *options.faults(len(features)),
            *(Fault(f"/features/{j}", f"{n} is there already") for j, n in enumerate(features) if first[n] != j),
        ]
        if standardisation is not None and len(standardisation.mean) != len(features):
            detail = f"{len(standardisation.mean)} moments for {len(features)} features"
            faults.append(Fault("/standardisation", detail))
        if constraint is not None and (options.algorithm != "thompson" or options.family is not None):
            faults.append(Fault("/algorithm", "only thompson can be constrained, and by a family or a function"))
        if options.family is not None and not any(fault.pointer.startswith("/features") for fault in faults):
            faults += options.family.faults(features, options.subset_size)
        if faults:
            raise InvalidInputError(faults)
        self.features, self.options = tuple(features), options
        self._moments = standardisation or RunningMoments(len(features))
        rng = np.random.default_rng([options.seed, _WEIGHTS])
        self._algorithm = make_algorithm(self.features, options, rng, constraint)
        self.performance = OnlinePerformance()
        self.selections = 0  # number of calls of `select`

    def select(self) -> tuple[int, Subset]:
        """Open a selection: its number, from 1, and the indices of the features, ascending; `ofs` may choose none."""
        self.selections += 1
        rng = np.random.default_rng([self.options.seed, _SELECTION, self.selections])
        return self.selections, self._algorithm.select(rng)

    def observe(
        self, subset: Subset, values: Mapping[str, object], label: object, reward: object = None
    ) -> Observation:
        """Predict a patient from what was seen, then learn the label.

        Parameters
        ----------
        subset : ndarray of int, as `select` returned it
        values : mapping, feature -> number for all of the subset, or None where it could not be obtained
        label : object, 0 or 1
        reward : object
            Under `thompson`, the subset's reward in place of 1 for a right prediction and 0 for a wrong one: in [0, 1],
            or any finite number under a Gaussian likelihood; None for the default.

        Returns
        -------
        Observation
            Its prediction was made without the label.

        Raises
        ------
        InvalidInputError
            With every fault: a feature that is missing or was not selected, a value that is not a finite number, a
            label other than 0 and 1, an invalid reward.
        """
        if faults := self.find_faults(subset, values, label, reward):
            raise InvalidInputError(faults)
        row = np.full(len(self.features), np.nan)
        for j in subset:
            value = values[self.features[j]]
            row[j] = np.nan if value is None else float(value)  # type: ignore[arg-type]
        worth = None if reward is None else float(reward)  # type: ignore[arg-type]
        return self._step(subset, row, int(label), worth)  # type: ignore[call-overload]

    def find_faults(
        self, subset: Subset, values: Mapping[str, object], label: object, reward: object = None
    ) -> list[Fault]:
        """Faults for which `observe`, with the same arguments, would raise; nothing is learnt."""
        wanted = {self.features[j] for j in subset}
        faults = [
            Fault(pointer("values", name), "missing; send null if it could not be had")
            for name in sorted(wanted - values.keys())
        ]
        for name, value in values.items():
            if name not in wanted:
                faults.append(Fault(pointer("values", name), "was not selected"))
            elif value is not None and not _is_number(value):
                faults.append(Fault(pointer("values", name), "must be a finite number or null"))
        if not (isinstance(label, bool | Real | np.bool_) and label in {0, 1}):
            faults.append(Fault("/label", "must be 0 or 1"))
        if reward is not None:
            faults += self._reward_faults(reward)
        return faults

    def _reward_faults(self, reward: object) -> Iterator[Fault]:
        if self.options.algorithm != "thompson":
            yield Fault("/reward", f"only thompson learns from rewards, not {self.options.algorithm}")
        elif not _is_number(reward) or abs(float(reward)) >= LARGEST_STEP:  # type: ignore[arg-type]
            yield Fault("/reward", f"must be a finite number below {LARGEST_STEP:g} in size")
        elif self.options.likelihood == "bernoulli" and not 0 <= float(reward) <= 1:  # type: ignore[arg-type]
            yield Fault("/reward", "must lie in [0, 1]; any number may be given under a gaussian likelihood")

    def partial_fit(self, X: _Floats, y: Sequence[int] | NDArray[np.integer], classes: object = None) -> Self:  # noqa: ARG002  scikit-learn's
        """Select, predict and learn for each patient, in order.

        Parameters
        ----------
        X : ndarray, shape = (n, d), of which only selected features are read; NaN could not be obtained
        y : array_like, shape = (n,), 0 or 1
        classes : object, not used; for compatibility with scikit-learn

        Returns
        -------
        FeatureStream
            Itself.

        Raises
        ------
        InvalidInputError
            If shapes do not match, a value is infinite or a label neither 0 nor 1; then nothing is learnt.
        """
        X, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        faults = self._find_faults(X)
        if labels.shape != (len(X),):
            faults.append(Fault("/y", f"{labels.size} labels for {len(X)} patients"))
        if not np.isin(labels, (0, 1)).all():
            faults.append(Fault("/y", f"{int((~np.isin(labels, (0, 1))).sum())} labels are neither 0 nor 1"))
        if faults:
            raise InvalidInputError(faults)
        for row, label in zip(X, labels.astype(np.int64).tolist(), strict=True):
            _, subset = self.select()
            self._step(subset, row, label)
        return self

    def decision_function(self, X: _Floats) -> _Floats:
        """Scores (n,) of X (n, d) from the features thought best, at least 0 for a predicted 1; nothing is learnt."""
        X = np.asarray(X, dtype=np.float64)
        if faults := self._find_faults(X):
            raise InvalidInputError(faults)
        subset = self._algorithm.best()
        return np.array([self._algorithm.score(self._standardised(subset, row)[0]) for row in X])

    def predict(self, X: _Floats) -> NDArray[np.int64]:
        """Labels, 0 or 1, from the features thought best; see `decision_function`."""
        return (self.decision_function(X) >= 0).astype(np.int64)

    @property
    def best_features(self) -> tuple[str, ...]:
        """Names of the features thought best."""
        return tuple(self.features[j] for j in self._algorithm.best())

    @property
    def standardisation_kind(self) -> Literal["running", "given"]:
        """Whether moments are learnt from the values seen, or were given."""
        return "given" if isinstance(self._moments, GivenMoments) else "running"

    def _step(self, subset: Subset, row: _Floats, label: int, reward: float | None = None) -> Observation:
        seen = subset[~np.isnan(row[subset])]
        self._moments.learn(seen, row[seen])
        v, seen = self._standardised(subset, row)
        prediction = int(predicted_label(self._algorithm.score(v)) > 0)
        # Only a reward between 0 and 1 draws; its coin is seeded by the label's number.
        rng = np.random.default_rng([self.options.seed, _COIN, self.performance.rounds])
        self._algorithm.update(v, seen, 2 * label - 1, rng, reward)
        self.performance = self.performance.after(label, prediction)
        return Observation(prediction, prediction == label, self.performance)

    def _standardised(self, subset: Subset, row: _Floats) -> tuple[_Floats, Subset]:
        seen = subset[~np.isnan(row[subset])]
        v = np.zeros(len(self.features))
        v[seen] = self._moments.apply(seen, row[seen])
        return v, seen

    def _find_faults(self, X: _Floats) -> list[Fault]:
        if X.ndim != 2 or X.shape[1] != len(self.features):
            return [Fault("/X", f"must have one column for each of {len(self.features)} features")]
        infinite = int(np.isinf(X).sum())
        return [Fault("/X", f"{infinite} values are infinite")] if infinite else []

    def to_json(self) -> dict[str, Any]:
        """The whole state as a JSON object, except for a constraint."""
        return {
            "features": list(self.features),
            "options": self.options.to_json(),
            "moments": self._moments.to_json(),
            "algorithm": self._algorithm.to_json(),
            "performance": self.performance.to_json(),
            "selections": self.selections,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], constraint: Constraint | None = None) -> Self:
        """Restore a stream that `to_json` wrote, with the constraint that it was made with."""
        stream = cls(document["features"], StreamOptions.from_json(document["options"]), constraint=constraint)
        stream._moments = moments_from_json(document["moments"])
        stream._algorithm.load(document["algorithm"])
        stream.performance = OnlinePerformance.from_json(document["performance"])
        stream.selections = document["selections"]
        return stream


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_) and bool(np.isfinite(float(value)))
