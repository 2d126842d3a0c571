"""Shared prefixes: a stage before the prediction is fitted once on the same patients, and reused.

A fitted stage depends on its parameters, its seed and its training patients alone. It is stored under a digest of all
three in a folder shared by one worker's child processes; patients outside the digest cannot leak into it.
"""

from __future__ import annotations

import logging
import os
import pickle
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
from sklearn.pipeline import Pipeline

from autoprog.space.subsample import SubsampledTransformer

_log = logging.getLogger(__name__)

# Limits for all stages and for one.
_MAX_BYTES = 512 << 20
_MAX_BYTES_EACH = 64 << 20
# Faster fits are not worth a file: digesting, writing and reading take some milliseconds.
_MIN_S = 0.03
# Nor are they worth a look-up: the last duration of each kind of stage on a table of about this size, in this process.
_last_s: dict[tuple[tuple[type, ...], int, int], float] = {}


def _list_types(transformer: Any) -> tuple[type, ...]:  # noqa: ANN401  an unfitted stage
    """Types of a stage and of the steps inside it."""
    parts: Sequence[Any] = ()
    if isinstance(transformer, Pipeline):
        parts = [part for _, part in transformer.steps]
    elif isinstance(transformer, SubsampledTransformer):
        parts = [transformer.estimator]
    return (type(transformer), *(kind for part in parts for kind in _list_types(part)))


@dataclass(frozen=True)
class PrefixMemory:
    """Store of fitted stages, usable as `memory` of `sklearn.pipeline.Pipeline`."""

    folder: Path  # private to the user: its files are unpickled
    most_bytes: int = _MAX_BYTES  # beyond it the least recently used files are removed

    def cache(self, function: Callable[..., Any], ignore: object = None) -> Callable[..., Any]:  # noqa: ARG002
        """Wrap the function that fits one stage, `(transformer, X, y, ...) -> (X, transformer)`, with the store."""

        def remembering(transformer: Any, X: Any, y: Any = None, **others: Any) -> Any:  # noqa: ANN401  scikit-learn's signature
            rows, columns = X.shape
            of_this_kind = (_list_types(transformer), rows.bit_length(), columns)
            is_large = getattr(X, "nbytes", _MAX_BYTES_EACH) >= _MAX_BYTES_EACH
            if is_large or _last_s.get(of_this_kind, _MIN_S) < _MIN_S / 2:
                return function(transformer, X, y, **others)
            path = self.folder / joblib.hash([transformer, X, y])
            kept = self._read(path)
            if kept is None:
                start = time.perf_counter()
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    result = function(transformer, X, y, **others)
                kept = (result, [(w.category, str(w.message)) for w in caught])
                _last_s[of_this_kind] = time.perf_counter() - start
                if _last_s[of_this_kind] > _MIN_S:
                    self._write(path, kept)
            result, messages = kept
            for category, message in messages:
                warnings.warn(message, category, stacklevel=2)
            return result

        return remembering

    def _read(self, path: Path) -> Any:  # noqa: ANN401
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:  # not there, or removed meanwhile
            return None
        return pickle.loads(content)  # noqa: S301  written by a process of this worker, in its private folder

    def _write(self, path: Path, kept: object) -> None:
        """Store a stage, or log why not: a fit must not fail because a folder is full."""
        try:
            content = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
            if len(content) > _MAX_BYTES_EACH:
                return
            self._make_room(len(content))
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
                file.write(content)
            Path(file.name).replace(path)
        except (OSError, pickle.PicklingError, TypeError, AttributeError) as error:
            _log.warning("a fitted stage is not kept: %s", type(error).__name__)

    def _make_room(self, needed: int) -> None:
        files = []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):  # another child has renamed or removed it
                files.append((entry.stat(), Path(entry.path)))
        excess = sum(stat.st_size for stat, _ in files) + needed - self.most_bytes
        for stat, path in sorted(files, key=lambda item: item[0].st_mtime):
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= stat.st_size
