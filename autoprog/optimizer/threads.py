"""One thread for the proposer's linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold torch and the BLAS libraries at one thread, and give the former numbers back.

    The matrices are small: more threads spend their time waiting for each other, ten times longer on shared cores, and
    the order of their sums is not reproducible.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
