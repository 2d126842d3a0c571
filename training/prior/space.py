"""The space that the pools were drawn from: Table 1 and, with competing causes, Fine and Gray's model."""

from __future__ import annotations

from autoprog.space import Space

_POOLED_BESIDE = frozenset({"fine_gray"})


def pooled_space(n_causes: int = 1) -> Space:
    """The algorithms that pools know."""
    stages = Space.full(n_causes).stages
    return Space(tuple(tuple(a for a in stage if a.table_1 or a.name in _POOLED_BESIDE) for stage in stages))
