"""Batches of a search, and the numbers of their evaluations.

Evaluations are numbered in the order of proposal through all batches. A search on a sample ends with batches of
finalists, which have numbers too; a search that continues it goes on exploring after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoprog.optimizer import Proposal
from autoprog.space import Configuration


class Batches:
    """Batches that a search has proposed, after those of the search that it continues.

    Parameters
    ----------
    proposals : sequence of Proposal
        Those stored so far.
    opening : sequence of Configuration
        What is explored first.
    n_inherited : int
        Number of batches of the search that this one continues.
    """

    def __init__(self, proposals: Sequence[Proposal], opening: Sequence[Configuration], n_inherited: int = 0) -> None:
        self._proposals: list[Proposal] = []
        self._firsts = [0]  # number of each batch's first evaluation, and of the next batch's
        self._explored: list[int] = []  # numbers of all but the finalists
        self._opening = tuple(opening)
        self._n_inherited = n_inherited
        for proposal in proposals:
            self.add(proposal)

    def __len__(self) -> int:
        return len(self._proposals)

    def __iter__(self) -> Iterator[Proposal]:
        return iter(self._proposals)

    def add(self, proposal: Proposal) -> None:
        """Append a batch."""
        first = self._firsts[-1]
        self._proposals.append(proposal)
        self._firsts.append(first + len(proposal.configurations))
        if not proposal.is_final:
            self._explored += range(first, self._firsts[-1])

    @property
    def last(self) -> Proposal | None:
        """The last batch."""
        return self._proposals[-1] if self._proposals else None

    @property
    def final(self) -> tuple[Proposal, ...]:
        """The batches of this search's finalists; those of a search that it continues do not count."""
        return tuple(p for p in self._proposals[self._n_inherited :] if p.is_final)

    @property
    def n_configurations(self) -> int:
        """Number of configurations of all batches."""
        return self._firsts[-1]

    def numbers(self, batch: int) -> range:
        """Numbers of a batch's evaluations; empty after the last batch."""
        return range(self._firsts[min(batch, len(self))], self._firsts[min(batch + 1, len(self))])

    @property
    def finalists(self) -> frozenset[int]:
        """Numbers of all finalists."""
        return frozenset(number for p in self._proposals if p.is_final for number in self.numbers(p.batch))

    @property
    def opening(self) -> frozenset[int]:
        """Numbers of the explored configurations that are of the opening."""
        return frozenset(self._explored[: len(self._opening)])

    @property
    def opening_left(self) -> tuple[Configuration, ...]:
        """Configurations of the opening that are not proposed yet."""
        return self._opening[len(self._explored) :]
