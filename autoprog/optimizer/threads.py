"""One thread for the proposer's linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold torch and the BLAS libraries at one thread, then restore their numbers."""
    # The matrices are small: more threads wait for each other, ten times longer on shared cores, and sum in an order
    # that is not reproducible.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
