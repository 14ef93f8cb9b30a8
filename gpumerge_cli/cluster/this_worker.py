"""This process as a worker of Dask: its name, threads, memory and GPU. Outside of Dask it is one of one thread.

Dask tells tasks alone which worker they run in. It gives that to functions of Client.run as their argument dask_worker,
which the functions here take as `worker`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpumerge_cli.engine.resources import default_memory

if TYPE_CHECKING:
    from distributed import Worker


def _worker() -> Worker | None:
    """Dask's worker in this process; None if there is none."""
    try:
        from distributed import get_worker

        return get_worker()
    except (ImportError, ValueError):
        return None


def worker_name() -> str:
    """The name of this worker in its cluster."""
    worker = _worker()
    return "here" if worker is None else str(worker.name)


def worker_threads(worker: Worker | None = None) -> int:
    """The threads that Dask gives this worker."""
    worker = worker or _worker()
    return 1 if worker is None else int(worker.state.nthreads)


def worker_memory(worker: Worker | None = None) -> int:
    """Bytes that the chunks of this worker may take: a quarter of what Dask gives it, or of its share of the rest."""
    worker = worker or _worker()
    limit = None if worker is None else worker.memory_manager.memory_limit
    threads = worker_threads(worker)
    share = default_memory() * threads // max(threads, len(os.sched_getaffinity(0)))
    return max(1, min(share, int(limit) // 4 if limit else share))


def has_gpu(worker: Worker | None = None) -> bool:
    """Whether this worker has the resource of a GPU."""
    worker = worker or _worker()
    return worker is not None and "GPU" in worker.state.total_resources
