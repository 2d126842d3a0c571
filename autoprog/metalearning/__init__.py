"""What earlier cohorts teach a search."""

from autoprog.metalearning.portfolio import greedy_portfolio

__all__ = ["greedy_portfolio"]
