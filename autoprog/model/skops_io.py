"""`skops.io`, imported without torch: it takes a second, so only what reads or writes a model imports this module."""

from __future__ import annotations

import sys
from importlib import import_module

_TORCH_SHIM = "sklearn.externals.array_api_compat.torch"

# To list scikit-learn's estimators skops imports every module of it, its shim for torch included, and skips those that
# fail. Torch would take another second and 200 MB.
if "skops.io" in sys.modules or _TORCH_SHIM in sys.modules:
    io = import_module("skops.io")
else:
    sys.modules[_TORCH_SHIM] = None  # type: ignore[assignment]  # None makes the import fail
    try:
        io = import_module("skops.io")
    finally:
        del sys.modules[_TORCH_SHIM]
