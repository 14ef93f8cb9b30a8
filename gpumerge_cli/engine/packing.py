"""Compression of temporary files, block by block: the one built in, or a program of the user."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpumerge_cli.errors import OutputError, output_error

if TYPE_CHECKING:
    import subprocess

_BLOCK = 1 << 20
_PROGRAM_BLOCK = 8 << 20


class BlockCodec:
    """A way to compress blocks of temporary files. block: bytes of one, except a run's last.

    stop: ends the calls that are under way with an error, and all later ones.
    """

    def __init__(
        self,
        pack: Callable[[bytes], bytes],
        unpack: Callable[[bytes], bytes],
        block: int,
        stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.pack = pack
        self.unpack = unpack
        self.block = block
        self.stop = stop

    @classmethod
    def of(cls, program: str | None) -> BlockCodec | None:
        """The compression that --compress-program names: None for none, "builtin" for the one built in, else a program.

        Raises OutputError for a program that cannot be run.
        """
        if program is None:
            return None
        if program == "builtin":
            return cls(lambda data: zlib.compress(data, 1), zlib.decompress, _BLOCK)
        import shutil

        if shutil.which(program) is None:
            raise OutputError("no such program", where=program, way_out="install it, or leave --compress-program out")
        calls = _Program(program)
        return cls(calls.run, lambda data: calls.run(data, "-d"), _PROGRAM_BLOCK, calls.stop)


class _Program:
    """A program that packs or unpacks what it reads, run by any number of threads until it is stopped."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, data: bytes, *options: str) -> bytes:
        """The output of the program for `data`. Raises OutputError if it fails or is stopped."""
        command = [self._name, *options]
        try:
            with self._started(command) as process:
                try:
                    out, err = process.communicate(data)
                finally:
                    with self._lock:
                        self._running.discard(process)
        except OSError as error:
            raise output_error(error, self._name) from None
        if process.returncode:
            output = err.decode("utf-8", "replace").strip().splitlines()
            raise OutputError(
                f"{' '.join(command)} ended with code {process.returncode}{': ' + output[-1] if output else ''}",
                way_out="use another --compress-program, or none",
            )
        return out

    def stop(self) -> None:
        """Kill the program wherever it runs, and start it no more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.kill()

    def _started(self, command: list[str]) -> subprocess.Popen[bytes]:
        import subprocess

        pipe = subprocess.PIPE
        with self._lock:
            if self._stopped:
                raise OutputError("the sort was stopped", where=self._name)
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
            self._running.add(process)
            return process
