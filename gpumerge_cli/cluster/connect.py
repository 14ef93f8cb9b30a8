"""Connects to the cluster that --cluster names, or starts one on this machine."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cluster.calls import await_call, await_workers, call_each, workers_of
from gpumerge_cli.cluster.local import LocalWorkers, private_folder
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import ClusterError, UsageError
from gpumerge_cli.formats.input import open_files_limit

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

_LOCAL = re.compile(r"local(?::([1-9][0-9]{0,8}))?")
_ADDRESS = re.compile(r"([a-z]+://\S+|[^\s/:]+:[0-9]{1,5}|\[[0-9a-fA-F:]+\]:[0-9]{1,5})")
_MOST_OF_A_CORE = 16
"""Processes of this machine for each core, at most."""
_FILES = 24
"""Open files that this process needs at once for a cluster of its own,"""
_FILES_OF_A_WORKER = 6
"""and for each worker."""
_CONNECT = 10.0
"""Seconds in which a scheduler must answer."""
_CLOSE = 3.0
"""Seconds in which a connection must end."""
_FAILURES = 0
"""Workers that the scheduler may lose with one task before it reports an error. The executor counts them itself."""
_QUIET = ("distributed", "tornado", "bokeh", "asyncio")


@dataclass(frozen=True)
class Connection:
    """A connection to a cluster."""

    client: Client
    workers: LocalWorkers | None = None
    """The processes that were started for it; None if the cluster was there before."""


@contextmanager
def connected(address: str, patience: float = 60.0) -> Iterator[Connection]:
    """A client of the cluster at `address`: of a scheduler, by address or file, or of N processes for "local:N".

    patience: seconds in which the first worker must come. Raises UsageError, ClusterError.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise UsageError("--cluster needs Dask", way_out="pip install 'gpumerge[cluster]'") from None
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _be_quiet()
        local = _LOCAL.fullmatch(address)
        number = int(local[1] or _processes()) if local else 1
        most = _MOST_OF_A_CORE * cores()
        if local and number > most:
            raise UsageError(f"--cluster {address}: too many processes for this machine", way_out=f"use {most} at most")
        _check_file_limit(address, number * _FILES_OF_A_WORKER + _FILES if local else 0)
        cluster = _local(number, stack) if local else Connection(_remote(address, stack))
        await_workers(cluster.client, patience, number)
        _check_versions(cluster.client)
        yield cluster


_open: dict[str, tuple[ExitStack, Connection, int]] = {}  # and the number of users
_lock = threading.Lock()


@contextmanager
def shared_connection(address: str, patience: float = 60.0) -> Iterator[Connection]:
    """See connected: the connection that others of this process use at the moment, if there is one."""
    with _lock:
        if address not in _open:
            with ExitStack() as stack:
                connection = stack.enter_context(connected(address, patience))
                _open[address] = stack.pop_all(), connection, 0
        stack, connection, users = _open[address]
        _open[address] = stack, connection, users + 1
    try:
        yield connection
    finally:
        with _lock:
            stack, connection, users = _open[address]
            _open[address] = stack, connection, users - 1
            if users == 1:
                del _open[address]
                stack.close()


def _be_quiet() -> None:
    """Keep Dask from writing to standard error: this program reports errors, in one line."""
    known = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _QUIET]
    for name in {*_QUIET, *known}:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _check_file_limit(address: str, needed: int) -> None:
    """Raise ClusterError if a limit allows fewer open files. Without them, threads of Dask wait for each other."""
    limit = open_files_limit()
    if limit < needed:
        raise ClusterError(
            f"--cluster {address} needs {needed} open files, and {limit} are allowed",
            way_out="use fewer workers, or raise the limit on open files (ulimit -n)",
        )


def _processes() -> int:
    return max(1, cores() // 4)


def _local(number: int, stack: ExitStack) -> Connection:
    """A scheduler in this process, and so many workers in others.

    All of them listen on the loopback address, and talk TLS with a certificate that only they have: other users of the
    machine can reach the ports, and whoever a scheduler talks to can run code.
    """
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security

    try:
        security = Security.temporary()
    except ImportError:
        what = "--cluster local needs the package cryptography"
        raise UsageError(what, way_out="pip install 'gpumerge[cluster]'") from None
    threads = max(1, cores() // number)
    stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": _FAILURES}))
    stack.enter_context(dask.config.set({"distributed.scheduler.http.routes": []}))
    try:
        # Dask would use a folder of a known name in that for temporary files, have Python search it for modules, and
        # leave it behind.
        stack.enter_context(dask.config.set({"temporary-directory": stack.enter_context(private_folder())}))
        cluster = LocalCluster(
            n_workers=0, processes=True, protocol="tls", security=security, host="127.0.0.1", silence_logs=False,
            dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
        )  # fmt: skip
    except OSError as error:
        raise ClusterError(f"no scheduler can be started here: {error}") from None
    stack.callback(_close, cluster)
    client = Client(cluster.scheduler_address, security=security, set_as_default=False, timeout=_CONNECT)
    stack.callback(_close, client)
    try:
        workers = LocalWorkers(cluster.scheduler_address, number, threads, security)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        way_out = "use fewer, or raise the limits on processes and open files (ulimit)"
        raise ClusterError(f"{number} workers cannot be started here: {reason.lower()}", way_out=way_out) from None
    stack.callback(workers.close)
    return Connection(client, workers)


def _close(one: Client | LocalCluster) -> None:
    """Close it; one that does not end in time is left to the end of the process."""
    with suppress(TimeoutError):
        one.close(timeout=_CLOSE)


def _remote(address: str, stack: ExitStack) -> Client:
    from distributed import Client

    if os.path.isfile(address):
        target = _address_in(address)
    elif _ADDRESS.fullmatch(address) and address.partition(":")[0] != "local":
        target = address
    else:
        raise UsageError(
            f"--cluster {address}: it is neither a file nor an address",
            way_out="name HOST:PORT, a scheduler's file, or local:N, N from 1 on",
        )
    way_out = "start one there (dask scheduler), or name another; its Dask must be of this version"
    try:
        asyncio.run(asyncio.wait_for(_greet(target), _CONNECT))
        client = Client(target, set_as_default=False, timeout=_CONNECT)
    except OSError:
        raise ClusterError(f"--cluster {address}: no scheduler answers", way_out=way_out) from None
    except Exception:  # whatever Dask makes of an answer that is not a scheduler's, or another version's
        raise ClusterError(f"--cluster {address}: no scheduler that this Dask understands", way_out=way_out) from None
    stack.callback(_close, client)
    return client


async def _greet(address: str) -> None:
    """Exchange greetings with Dask at an address. A Client waits without end for something else that listens there."""
    from distributed.comm import connect
    from distributed.security import Security

    connection = await connect(address, timeout=_CONNECT, **Security().get_connection_args("client"))
    connection.abort()


def _address_in(path: str) -> str:
    """The address in a scheduler's file. Raises UsageError."""
    try:
        with open(path, "rb") as file:
            address = json.load(file)["address"]
        if not isinstance(address, str):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"--cluster {path}: it is not a file of a Dask scheduler", way_out="start one with --scheduler-file"
        ) from None
    return address


def _check_versions(client: Client) -> None:
    """Raise ClusterError if scheduler or workers have another Dask or Python than this process."""
    from distributed.versions import get_versions

    async def versions_of(address: str) -> Any:
        message = {"op": "versions", "packages": []}
        return (await client.scheduler.broadcast(msg=message, workers=[address], on_error="ignore")).get(address)

    try:
        of_scheduler = await_call(client, lambda: client.scheduler.versions(packages=[]))
    except OSError:
        raise ClusterError("the scheduler does not report its version", way_out="look into its logs") from None
    here = get_versions()
    others = {"the scheduler": of_scheduler}
    answers = call_each(client, workers_of(client), versions_of, _CONNECT, _CONNECT)
    others |= {f"the worker at {address}": versions for address, versions in answers.items()}
    for who, versions in others.items():
        if not isinstance(versions, dict):
            continue
        for what in ("distributed", "python"):
            mine, its = (_version(one, what) for one in (here, versions))
            if mine != its:
                raise ClusterError(
                    f"{who} has {what} {its}, this machine has {mine}",
                    way_out="install the same versions on all machines",
                )


def _version(versions: dict[str, dict[str, str]], what: str) -> str:
    if what == "python":
        return ".".join(str(versions["host"]["python"]).split(".")[:2])
    return str(versions["packages"][what])
