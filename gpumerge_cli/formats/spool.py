"""Temporary files for what cannot be read in place."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from gpumerge_cli.errors import GpumergeError, input_error

if TYPE_CHECKING:
    import weakref


class SharedSpool:
    """One temporary file for all copies of inputs for which no descriptors of their own are left."""

    _lock = threading.Lock()
    _only: weakref.ref[SharedSpool] | None = None

    def __init__(self, folder: str | None) -> None:
        import tempfile

        # It is open as long as inputs need it.
        self._file = tempfile.TemporaryFile(buffering=0, dir=folder)  # noqa: SIM115
        self.descriptor = self._file.fileno()

    def __del__(self) -> None:
        self._file.close()

    @classmethod
    def of_all(cls, descriptor: int, name: str, folder: str | None) -> tuple[SharedSpool, int]:
        """Move what is in the file `descriptor`, which is closed, to the end of the shared one: (that one, where)."""
        with cls._lock, os.fdopen(descriptor, "rb", buffering=0) as copy:
            shared = cls._only() if cls._only is not None else None
            import shutil
            import weakref

            try:
                shared = shared or cls(folder)
                start = os.lseek(shared.descriptor, 0, os.SEEK_END)
                copy.seek(0)
                shutil.copyfileobj(copy, shared._file, 1 << 20)
            except OSError as error:
                raise _not_spooled(error, name, folder) from None
            cls._only = weakref.ref(shared)
            return shared, start


@contextlib.contextmanager
def new_spool(name: str, folder: str | None) -> Iterator[IO[bytes]]:
    """An unnamed temporary file for a copy of the input `name`. An OSError of the body becomes an InputError."""
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder) as spool:
            yield spool
    except OSError as error:
        raise _not_spooled(error, name, folder) from None


def _not_spooled(error: OSError, name: str, folder: str | None) -> GpumergeError:
    import tempfile

    return input_error(error, f"{name} (spooled to {folder or tempfile.gettempdir()})")
