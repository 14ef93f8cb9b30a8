"""The log of a sort by a cluster: a line for each finished run, from which the same sort can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from gpumerge_cli.cluster.shipment import FileState, FinishedRun
from gpumerge_cli.errors import InputError, input_error
from gpumerge_cli.json_text import dumps, restored
from gpumerge_cli.line_file import LineFile, whole_lines
from gpumerge_cli.plan import Chunk

_WHAT = "log of a gpumerge sort"
_BEGINS = dumps({"log": _WHAT}).removesuffix("}")


class RunLog:
    """The log at `path`, open to add lines. folder: of the runs. known: runs that the log has, by their numbers.

    sort: tells this sort from all others. piece: bytes of its pieces, about. resume: go on with the log that is there;
    otherwise it is replaced. Raises OutputError; InputError for a file that is no such log, or that of another sort.
    """

    def __init__(self, path: str, sort: str, piece: int, *, resume: bool) -> None:
        self.path = path
        self.known: dict[int, FinishedRun] = {}
        self.folder = ""
        lines = _lines(path)
        if resume and lines:
            if lines[0].get("sort") != sort:
                way_out = "leave --resume out, or give the command whose log it is"
                raise InputError("it is the log of another sort", where=path, way_out=way_out)
            self.folder = str(lines[0]["folder"])
            self.known = {int(one["run"]): _known(one) for one in lines[1:]}
        self._file = LineFile(path, keep=bool(self.folder), begins=_BEGINS, what=_WHAT)
        self._sort, self._piece = sort, piece
        self.earlier = str(lines[0]["folder"]) if lines and not self.folder else ""

    def begin(self, folder: str) -> None:
        """The runs go to `folder`. If it is another one than before, none of them is there yet."""
        if self.folder != folder:
            self._file.clear()
            self.known.clear()
            self.folder = folder
            self._write({"log": _WHAT, "sort": self._sort, "piece": self._piece, "folder": folder})

    def add(self, number: int, run: FinishedRun) -> None:
        """A run is finished. Raises OutputError."""
        if number not in self.known:
            self._write({"run": number, "size": run.size, "crc": run.crc, "counts": list(run.counts)})

    def close(self, *, done: bool) -> None:
        """Close the log. done: the sort is, so nobody will go on with it."""
        if done:
            os.unlink(self.path)
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(dumps(line))


def logged_piece_bytes(path: str) -> int:
    """Bytes of the pieces of the sort whose log is at `path`, about; 0 if there is none. Raises InputError."""
    lines = _lines(path)
    return int(lines[0].get("piece", 0)) if lines else 0


def sort_digest(inputs: Sequence[FileState], pieces: Sequence[Chunk], order: object) -> str:
    """A name that tells a sort from all others: by its inputs as they are now, its pieces and its order."""
    text = repr((tuple(inputs), [piece.ranges for piece in pieces], order))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _known(line: dict[str, Any]) -> FinishedRun:
    """The run of a line. Raises KeyError, TypeError or ValueError for a damaged line."""
    return FinishedRun(int(line["size"]), int(line["crc"]), tuple(int(count) for count in line["counts"]))


def _lines(path: str) -> list[dict[str, Any]]:
    """The whole lines of a log, without a torn last one; none if there is no file. Raises InputError."""
    try:
        data = whole_lines(path)
        torn = not data and os.path.getsize(path) > 0
    except FileNotFoundError:
        return []
    except OSError as error:
        raise input_error(error, path) from None
    try:
        found = [restored(json.loads(line)) for line in data.splitlines()]
        if torn:
            raise ValueError
        for first in found[:1]:
            if first["log"] != _WHAT or not {"sort", "folder"} <= set(first):
                raise ValueError
            int(first.get("piece", 0))
        for one in found[1:]:
            int(one["run"])
            _known(one)
    except (ValueError, TypeError, KeyError):
        way_out = "name another file, or delete it"
        raise InputError(f"is not a {_WHAT}", where=f"{path}:1", way_out=way_out) from None
    return found
