"""The features of a cohort: what a column means and how a cell becomes a number."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

FeatureKind = Literal["numeric", "binary", "categorical", "ordinal"]


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of the cohort's matrix: a number, or for other kinds than numeric the index of a level.

    Attributes
    ----------
    name : str
        The column's name in the file.
    kind : {"numeric", "binary", "categorical", "ordinal"}
        The kind of the values.
    levels : tuple of str
        Canonical texts in the order of their codes, which is meaningful if ordinal; two if binary, none if numeric.
    unit : str or None
        The client's unit.
    label : str or None
        What tables and figures call it; None for its name.
    meta_group : str or None
        The clinical group (laboratory, medication, ...), if given.
    missing_fraction : float
        Share of patients without a value, in [0, 1].
    minimum, maximum : float or None
        Range of a numeric feature's observed values; None for other kinds and without observed values.
    """

    name: str
    kind: FeatureKind
    levels: tuple[str, ...] = ()
    unit: str | None = None
    meta_group: str | None = None
    missing_fraction: float = 0.0
    minimum: float | None = None
    maximum: float | None = None
    label: str | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON document; without a label it is the one of versions that had none, so that digests stay."""
        document = asdict(self)
        if self.label is None:
            del document["label"]
        return document
