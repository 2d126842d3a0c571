"""One thread for torch while a learner is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Hold torch at one thread, and give the former number back.

    A child of the engine has one already. Elsewhere more threads would make the sums, and so the fitted model, differ
    from run to run by rounding, and small matrices take many times longer on shared cores.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
