"""The error tree. Every error says what is wrong, where, and the way out, in one line.

GpumergeError            exit 2
|-- UsageError           options that are invalid, contradict each other, or exceed the device
|-- InputError           a file that cannot be read as the options say
|   `-- DisorderError    an input that is not in the order of the options
|-- OutputError          an output that cannot be written
|-- DeviceError          a GPU, or the CPU's library, that is missing or failed
|   `-- DeviceMemoryError    out of memory; a smaller chunk may fit
`-- ClusterError         a cluster that does not answer, or whose workers cannot do the work

Interrupted              Ctrl-C or SIGTERM; exits as the shell expects (128 + signal)
"""

from __future__ import annotations

import errno
import os

from gpumerge_cli.urls import redacted


class GpumergeError(Exception):
    """Base of all errors that a user can resolve.

    what: the problem, without a full stop. where: "FILE", "FILE:LINE" or "FILE@ITEM", or "" if the error has no place.
    way_out: how to resolve it, or "".
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", way_out: str = "") -> None:
        super().__init__(redacted(what))
        self.what = redacted(what)
        self.where = redacted(where)
        self.way_out = redacted(way_out)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}; {self.way_out}" if self.way_out else line


class UsageError(GpumergeError):
    """Invalid options or arrays, or ones that contradict each other."""


class InputError(GpumergeError):
    """An input that cannot be read as the options say."""


class DisorderError(InputError):
    """An input that is not in the order of the options."""

    item: bytes | None = None
    """The first line that is out of order; None for other items."""


class OutputError(GpumergeError):
    """An output that cannot be written."""


class DeviceError(GpumergeError):
    """A GPU is missing, too small, or failed; or the CPU's library is missing, or belongs to another version."""


class DeviceMemoryError(DeviceError):
    """The device has no memory for a chunk, or the host has none to pin. A smaller chunk may fit."""


class ClusterError(GpumergeError):
    """A cluster does not answer, belongs to another version, or has lost its workers."""


class Interrupted(BaseException):
    """A signal told the program to stop. way_out: which results remain, apart from output files.

    It is not an Exception: it may be raised anywhere, and a handler of expected errors must not catch it.
    """

    def __init__(self, signal_number: int, *, way_out: str = "") -> None:
        super().__init__("interrupted")
        self.way_out = way_out
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number

    def __str__(self) -> str:
        return f"interrupted; {self.way_out}" if self.way_out else "interrupted"


_WAY_OUT = {
    errno.ENOENT: "check the name",
    errno.EISDIR: "name a file",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.ENOSPC: "free some space or write elsewhere",
    errno.EDQUOT: "free some space or write elsewhere",
    errno.EFBIG: "raise the file-size limit (ulimit -f) or write elsewhere",
    errno.EROFS: "write elsewhere",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "close other programs, or raise the system's limit on open files (sysctl fs.file-max)",
}


def input_error(error: OSError, name: str) -> InputError:
    """The InputError for an OSError met while reading `name`."""
    return InputError(_reason(error), where=name, way_out=_WAY_OUT.get(error.errno or 0, ""))


def output_error(error: OSError, name: str) -> OutputError:
    """The OutputError for an OSError met while writing `name`."""
    way_out = getattr(error, "way_out", "") or _WAY_OUT.get(error.errno or 0, "")
    return OutputError(_reason(error), where=name, way_out=way_out)


def lost_output(name: str) -> OutputError:
    """The OutputError for the output `name` if bytes that were written to it are gone."""
    way_out = "look for errors of the disk in the system's log, or write elsewhere"
    return OutputError("the file system lost the file's bytes", where=name, way_out=way_out)


def as_os_error(error: Exception) -> OSError:
    """`error` as an OSError. Python raises ValueError for a closed standard stream; that becomes EBADF."""
    return error if isinstance(error, OSError) else OSError(errno.EBADF, os.strerror(errno.EBADF))


def lack_of_descriptors(error: BaseException | None) -> GpumergeError | None:
    """The error to report in place of one that a lack of file descriptors caused; None for other errors.

    The file that the original error names is not at fault.
    """
    seen: set[int] = set()  # an error may be its own cause
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        for number in (errno.EMFILE, errno.ENFILE):
            # The system's loader, and libraries that are not Python's, report it in words only.
            if (isinstance(error, OSError) and error.errno == number) or _says(error, number):
                return GpumergeError(_reason(OSError(number, "")), way_out=_WAY_OUT[number])
        error = error.__cause__ or error.__context__
    return None


def _says(error: BaseException, number: int) -> bool:
    return not isinstance(error, GpumergeError) and os.strerror(number) in str(error)


NO_ROOM_TO_LOAD = "not enough memory to load a library", "close other programs, or raise a limit (ulimit -v)"
"""The problem, and the way out, where `lacks_memory`."""
_NO_ROOM = ("failed to map segment", "annot allocate memory", "cannot map", "cannot create", "cannot change memory")


def lacks_memory(error: BaseException) -> bool:
    """Whether a library could not be loaded because the system's loader got no memory, as its message says."""
    return any(one in str(error) for one in _NO_ROOM)


def _reason(error: OSError) -> str:
    text = os.strerror(error.errno) if error.errno else str(error)
    return text[:1].lower() + text[1:]
