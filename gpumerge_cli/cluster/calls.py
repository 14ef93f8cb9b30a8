"""Calls of a Dask client, each with a limit of time, and their errors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

Answer = TypeVar("Answer")

ANSWER_SECONDS = 30.0
"""Seconds in which the cluster must answer a call, and in which the answer of a task that is done must come."""
_SCHEDULER = 60.0
"""Seconds in which the scheduler must list its workers: it may be busy, but one that is frozen never does."""


@dataclass(frozen=True)
class ListedWorker:
    """A worker as the scheduler lists it."""

    name: str
    threads: int
    """Those that Dask gives it."""


def await_call(client: Client, call: Callable[[], Awaitable[Answer]], seconds: float = ANSWER_SECONDS) -> Answer:
    """The outcome of a call of a client's method, made in its event loop, where it can be awaited.

    Raises TimeoutError if it does not come in time.
    """

    async def outcome() -> Answer:
        return await call()

    found: Answer = client.sync(outcome, callback_timeout=seconds)
    return found


def run_on_all(
    client: Client,
    function: Callable[..., object],
    argument: object,
    *,
    on_error: str,
    seconds: float = ANSWER_SECONDS,
) -> object:
    """See Client.run. Raises TimeoutError if a worker that goes away at this moment never answers."""
    return await_call(client, lambda: client.run(function, argument, on_error=on_error), seconds)


def call_each(
    client: Client,
    addresses: Iterable[str],
    call: Callable[[str], Awaitable[Answer]],
    seconds: float,
    grace: float,
) -> dict[str, Answer | BaseException]:
    """The outcomes of a call for each worker, by their addresses; the errors of those that raise.

    Workers that do not answer are left out: one that is frozen, or cut off, must not keep others waiting for long.
    seconds: in which the first one must answer. grace: seconds that others have after it, or thrice its time if that is
    more. Raises ClusterError if the scheduler goes away.
    """

    async def outcomes() -> dict[str, Answer | BaseException]:
        call_of = {address: asyncio.ensure_future(call(address)) for address in addresses}
        waiting, start = set(call_of.values()), time.monotonic()
        try:
            if waiting:
                _, waiting = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if waiting and len(waiting) < len(call_of):
                _, waiting = await asyncio.wait(waiting, timeout=max(grace, 3 * (time.monotonic() - start)))
        finally:
            for one in waiting:
                one.cancel()
        done = {address: one for address, one in call_of.items() if one.done() and not one.cancelled()}
        return {address: one.exception() or one.result() for address, one in done.items()}

    found: dict[str, Answer | BaseException] = client.sync(outcomes)
    check_alive(client)
    return found


def workers_of(client: Client) -> dict[str, ListedWorker]:
    """The workers of a cluster by their addresses. Raises ClusterError if the cluster is gone."""
    check_alive(client)
    try:
        identity = await_call(client, lambda: client.scheduler.identity(n_workers=-1), _SCHEDULER)
        workers: dict[str, dict[str, Any]] = identity["workers"]
    except TimeoutError:
        raise ClusterError(
            f"the scheduler has not answered for {_SCHEDULER:.0f} seconds", way_out="look into its logs"
        ) from None
    except OSError:
        return {}
    except (AttributeError, KeyError):  # Dask takes the scheduler's answer away as it goes
        raise _gone() from None
    return {
        address: ListedWorker(str(one.get("name", address)), int(one.get("nthreads") or 0))
        for address, one in workers.items()
    }


def await_workers(client: Client, patience: float, number: int = 1) -> None:
    """Wait until so many workers are there. Raises ClusterError if they do not come in `patience` seconds."""
    limit = max(patience, 0.01)  # 0 would be no limit
    try:
        await_call(client, lambda: client.wait_for_workers(number, timeout=limit), limit + ANSWER_SECONDS)
    except (AttributeError, KeyError):  # see workers_of
        raise _gone() from None
    except TimeoutError:
        raise ClusterError(
            f"no worker came in {patience:.0f} seconds",
            way_out="start some (dask worker ADDRESS), or wait longer with --cluster-wait",
        ) from None


def check_alive(client: Client) -> None:
    """Raise ClusterError if the scheduler went away."""
    if client.status not in ("running", "connecting"):
        raise _gone()


def _gone() -> ClusterError:
    return ClusterError("the scheduler has gone away", way_out="start it again, and look into its logs")


def load_error(error: BaseException) -> ClusterError:
    """The error for a worker that cannot load this program's part for workers, or has no room for it."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, RuntimeError | MemoryError):
        return ClusterError(f"a worker cannot begin: {reason}", way_out="look at the limits of its machine")
    return ClusterError(
        f"a worker cannot load gpumerge: {reason}", way_out="install gpumerge[cluster] of one version on all machines"
    )
