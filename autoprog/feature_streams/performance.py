"""Performance of an online classifier: its mistakes, next to those of a constant prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


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
