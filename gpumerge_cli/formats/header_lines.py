"""The lines at a file's start that are its header."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass

HeaderRule = Literal["identical", "first", "union"]
"""The header that several inputs have together: the one that all of them have, the first one's, or all lines of theirs,
each once."""


@dataclass(frozen=True)
class HeaderLines:
    """The lines at a file's start that are its header, as far as it has them."""

    count: int = 0
    """Lines behind those that begin with the prefix."""
    prefix: bytes = b""
    """The file's first lines that begin with it are header, however many; b"" for none."""

    def __bool__(self) -> bool:
        return self.count > 0 or self.prefix != b""
