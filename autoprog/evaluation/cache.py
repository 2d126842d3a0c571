"""Values computed once per cohort and dropped with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary, ref

from autoprog.cohort import Cohort

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Values per function and cohort: windows may have several lengths, and a search tries several numbers of folds.
_MAX_VALUES = 4


def cached_per_cohort(function: Callable[Concatenate[Cohort, _P], _T]) -> Callable[Concatenate[Cohort, _P], _T]:
    """Cache a function's last values per cohort, while the cohort lives; arguments must be hashable."""
    # Cohorts take hundreds of megabytes, so the cache must not keep them alive; nor may a value hold its cohort.
    kept: WeakKeyDictionary[Cohort, Callable[..., _T]] = WeakKeyDictionary()

    @wraps(function)
    def kept_value(cohort: Cohort, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        values = kept.get(cohort)
        if values is None:
            alive = ref(cohort)

            @lru_cache(_MAX_VALUES)
            def values_of(*a: Any, **n: Any) -> _T:  # noqa: ANN401  the function's own arguments
                return function(cast("Cohort", alive()), *a, **n)

            values = kept.setdefault(cohort, values_of)
        return values(*arguments, **named)

    return kept_value
