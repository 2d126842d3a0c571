"""One torch thread during a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread, and restore the former number afterwards."""
    # More threads would make sums, and the fitted model, differ between runs by rounding, and small matrices take many
    # times longer on shared cores.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
