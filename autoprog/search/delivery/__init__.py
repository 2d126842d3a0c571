"""The end of a search: the ensemble, its refit, its score and measures, patients' intervals and rules."""

from autoprog.search.delivery.delivering import deliver

__all__ = ["deliver"]
