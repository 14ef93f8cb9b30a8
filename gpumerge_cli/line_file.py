"""Files that lines are appended to, such as logs that later runs resume from. A torn last line is removed."""

from __future__ import annotations

import fcntl
import os
import stat

from gpumerge_cli.errors import InputError, OutputError, output_error


class LineFile:
    """A file that lines are added to, each whole, by one process at a time.

    path: a regular file, device or pipe. keep: keep the whole lines of the file; otherwise they are removed.
    begins: the beginning of such a file; another file is left unchanged. what: its description in messages. Raises
    OutputError, and InputError for a file that begins otherwise.
    """

    def __init__(self, path: str, *, keep: bool, begins: str, what: str) -> None:
        self.path = path
        try:
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - close() closes it
            try:
                if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    with open(path, "rb") as file:
                        beginning = file.read(len(os.fsencode(begins)))
                    if not os.fsencode(begins).startswith(beginning):
                        way_out = "name another file, or delete it"
                        raise InputError(f"is not a {what}", where=f"{path}:1", way_out=way_out)
                    self._file.truncate(len(whole_lines(path)) if keep else 0)
            except BaseException:
                self.close()
                raise
        except BlockingIOError:
            raise OutputError("another run writes it", where=path, way_out="wait for it, or name another") from None
        except OSError as error:
            raise output_error(error, path) from None

    def write(self, line: str) -> None:
        """Add a line, given without its end. Raises OutputError."""
        left = os.fsencode(line) + b"\n"
        try:
            while left:
                left = left[self._file.write(left) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise output_error(error, self.path) from None

    def clear(self) -> None:
        """Remove all lines. Raises OutputError."""
        try:
            self._file.truncate(0)
        except OSError as error:
            raise output_error(error, self.path) from None

    def close(self) -> None:
        """Close the file and release its lock. Raises OutputError."""
        try:
            self._file.close()
        except OSError as error:
            raise output_error(error, self.path) from None


def whole_lines(path: str) -> bytes:
    """The whole lines of a file, without a torn last one. Raises OSError."""
    with open(path, "rb") as file:
        data = file.read()
    return data[: data.rfind(b"\n") + 1]
