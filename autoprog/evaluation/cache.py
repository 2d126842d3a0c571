"""What is computed once for a cohort and dropped with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary, ref

from autoprog.cohort import Cohort

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Of one function for one cohort: windows may have several lengths, and a search tries several numbers of folds.
_MAX_VALUES = 4


def cached_per_cohort(function: Callable[Concatenate[Cohort, _P], _T]) -> Callable[Concatenate[Cohort, _P], _T]:
    """Have a function keep its last values for every cohort for as long as the cohort lives.

    A cohort may take hundreds of megabytes, and a process sees many: a cache that holds its keys would hold them.

    Parameters
    ----------
    function : callable (cohort, ...) -> value
        Of hashable arguments. Its value must not hold the cohort itself.

    Returns
    -------
    callable
        The same function; called again with equal arguments it gives the same object.
    """
    kept: WeakKeyDictionary[Cohort, Callable[..., _T]] = WeakKeyDictionary()

    @wraps(function)
    def kept_value(cohort: Cohort, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        values = kept.get(cohort)
        if values is None:
            alive = ref(cohort)

            @lru_cache(_MAX_VALUES)
            def values_of(*a: Any, **n: Any) -> _T:  # noqa: ANN401  those of the function, whatever they are
                return function(cast("Cohort", alive()), *a, **n)

            values = kept.setdefault(cohort, values_of)
        return values(*arguments, **named)

    return kept_value
