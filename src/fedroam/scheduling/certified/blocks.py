"""A pass over very many users in two or more threads, with the same result as in one."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

WORTH_A_THREAD = 2_000_000
"""Links below which starting threads costs more than it gives."""


def over_blocks(work: Callable[[int, int], None], n_users: int, n_links: int) -> None:
    """
    ``work(first, last)`` on blocks that cover ``0..n_users``.

    ``work`` releases the interpreter and writes only to the places of its own users, so that the
    result is the same, bit for bit, for any number of threads.
    """
    n_blocks = min(os.cpu_count() or 1, n_links // WORTH_A_THREAD, n_users)
    if n_blocks < 2:
        work(0, n_users)
        return
    edges = [n_users * i // n_blocks for i in range(n_blocks + 1)]
    with ThreadPoolExecutor(n_blocks) as pool:
        list(pool.map(work, edges[:-1], edges[1:]))
