"""Worker processes on this machine, for --cluster local: those that end during a run are started again."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cluster.folder import remove_stale_folders

if TYPE_CHECKING:
    from distributed.security import Security

_FOLDER = "gpumerge-workers-"
_POLL = 0.1
"""Seconds between two checks for workers that have ended."""
_ROLES = ("client", "scheduler", "worker")
_END = 10.0
"""Seconds in which a process that is killed must end."""
_START = (
    "import sys; sys.path[:] = [sys.argv.pop(1), *filter(None, sys.path)]; "  # never the current folder's modules
    "import json, dask; dask.config.set(json.load(sys.stdin)); "
    "from distributed.cli.dask_worker import main; sys.exit(main(prog_name='dask-worker'))"
)


@contextmanager
def private_folder() -> Iterator[str]:
    """A temporary folder that only this user can enter. It is gone afterwards. Raises OSError."""
    remove_stale_folders(Path(tempfile.gettempdir()), _FOLDER)
    with tempfile.TemporaryDirectory(prefix=_FOLDER, ignore_cleanup_errors=True) as folder:
        used = _locked(Path(folder))
        try:
            yield folder
        finally:
            os.close(used)


class LocalWorkers:
    """So many worker processes of one scheduler, of so many threads each.

    They listen on the loopback address only. security: the certificate of the scheduler, which they get by a pipe, so
    that no other user sees its key.

    They have no nanny, since one that is killed while it starts is never started again by it, or only much later.
    Raises OSError or RuntimeError, as a limit on processes or threads has it; none is left then.
    """

    def __init__(self, address: str, number: int, threads: int, security: Security) -> None:
        self._address = address
        self._threads = threads
        self._configuration = json.dumps(_configuration(security)).encode()
        remove_stale_folders(Path(tempfile.gettempdir()), _FOLDER)
        self._folder = tempfile.TemporaryDirectory(prefix=_FOLDER, ignore_cleanup_errors=True)
        self._used = _locked(Path(self._folder.name))
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self.processes: list[subprocess.Popen[bytes]] = []
        self._keeper = threading.Thread(target=self._keep, name="gpumerge workers", daemon=True)
        try:
            for each in range(number):
                self.processes.append(self._started(each))
            self._keeper.start()
        except BaseException:
            self.close()
            raise

    def _started(self, number: int) -> subprocess.Popen[bytes]:
        package = str(Path(__file__).parents[2])
        words = [
            sys.executable, "-c", _START, package, self._address, "--name", str(number), "--no-nanny",
            "--nthreads", str(self._threads), "--memory-limit", "0", "--no-dashboard",
            "--dashboard-address", "127.0.0.1:0", "--protocol", "tls",
            "--local-directory", self._folder.name, "--death-timeout", "60", "--host", "127.0.0.1",
        ]  # fmt: skip
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, env=os.environ | {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"},
        )  # fmt: skip
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin:  # one that has ended is started again
            process.stdin.write(self._configuration)
        return process

    def _keep(self) -> None:
        """Start again what has ended."""
        while not self._ended.wait(_POLL):
            with self._lock:
                for number, process in enumerate(self.processes):
                    if process.poll() is not None and not self._ended.is_set():
                        self.processes[number] = self._started(number)

    def close(self) -> None:
        """End all of them at once: what they were at is not wanted any more."""
        self._ended.set()
        if self._keeper.ident is not None:
            self._keeper.join(_END)
        with self._lock:
            for process in self.processes:
                with suppress(OSError):
                    process.kill()
            for process in self.processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END)
        self._folder.cleanup()
        os.close(self._used)


def _configuration(security: Security) -> dict[str, Any]:
    """Dask's configuration of a worker that has this certificate."""
    own = {"key": security.tls_worker_key, "cert": security.tls_worker_cert}
    return {
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": security.tls_ca_file,
        **{f"distributed.comm.tls.{role}.{what}": one for role in _ROLES for what, one in own.items()},
        "distributed.worker.http.routes": [],
    }


def _locked(folder: Path) -> int:
    """A descriptor that marks a folder as used, which `sweep` leaves alone. Raises OSError."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock
