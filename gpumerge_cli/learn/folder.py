"""The reader's folder: writes the files that are missing, and reads those that the reader has changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gpumerge_cli.errors import InputError, input_error, output_error

_MOST_BYTES = 1 << 20


def write_missing(folder: str, file: str, text: str) -> bool:
    """Write a file of the folder, unless there is something of this name. Returns whether it was written.

    Raises OutputError.
    """
    place = os.path.join(folder, file)
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except FileExistsError as error:
        if os.path.isdir(folder):
            return False
        raise output_error(error, folder) from error
    except OSError as error:
        raise output_error(error, place) from error
    try:
        with open(descriptor, "w", encoding="utf-8") as written:
            written.write(text)
    except OSError as error:
        Path(place).unlink(missing_ok=True)
        raise output_error(error, place) from error
    return True


def read_answer(folder: str, file: str) -> str | None:
    """The text of a file of the folder; None if there is none. Raises InputError for one that is no text file."""
    place = os.path.join(folder, file)
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait for a writer
        with open(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise InputError("is not a file", where=place, way_out="remove it, and gpumerge learn writes it again")
            data = opened.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise input_error(error, place) from error
    if len(data) > _MOST_BYTES:
        raise InputError("is larger than 1 MiB", where=place, way_out="this is no puzzle's file; move it away")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError("is not UTF-8", where=f"{place}:{line}", way_out="save it as UTF-8") from None
