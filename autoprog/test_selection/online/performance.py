"""How an online classifier is doing: mistakes so far, beside what a constant would have made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class OnlinePerformance:
    """Counts of what was predicted before the label was seen.

    Attributes
    ----------
    positives, negatives : int
        Labels so far.
    missed, false_alarms : int
        Positives predicted negative, and the other way round.
    """

    positives: int = 0
    negatives: int = 0
    missed: int = 0
    false_alarms: int = 0

    def after(self, label: int, prediction: int) -> OnlinePerformance:
        """With one more label and its prediction, 0 or 1 each."""
        wrong = int(label != prediction)
        return OnlinePerformance(
            self.positives + label,
            self.negatives + 1 - label,
            self.missed + wrong * label,
            self.false_alarms + wrong * (1 - label),
        )

    @property
    def rounds(self) -> int:
        """Labels so far."""
        return self.positives + self.negatives

    @property
    def online_mistake_rate(self) -> float | None:
        """Mistakes a round, in [0, 1], smaller is better; None before the first."""
        return (self.missed + self.false_alarms) / self.rounds if self.rounds else None

    @property
    def majority_rate(self) -> float | None:
        """Mistakes a round of always predicting what was more frequent; what a learner must be below to be of use."""
        return min(self.positives, self.negatives) / self.rounds if self.rounds else None

    @property
    def balanced_error(self) -> float | None:
        """Mean of the error among positives and among negatives, 1/2 for a constant; None until both were seen."""
        if not self.positives or not self.negatives:
            return None
        return (self.missed / self.positives + self.false_alarms / self.negatives) / 2

    def to_json(self) -> dict[str, int]:
        """The counts as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(**document)
