"""Formats of files, and the register of them. Each format is one file in formats/kinds.

NumPy is imported neither here nor there until a file is opened, since help lists all suffixes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.extents import Copy
from gpumerge_cli.order.rules import NEWLINE

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.record_options import Key
    from gpumerge_cli.order.key_types import Dtype

Items = Literal["lines", "said", "told"]


@dataclass(frozen=True)
class Format:
    """A format of files.

    name: as --format has it. suffixes: what names of its files end in, each with the name of the dtype that it says, or
    "". items: lines, which take the options that say how lines compare; or else who says their dtype, options and the
    suffix ("said") or the file ("told"). begins: a regular expression for how its files begin, b"" if nothing tells.
    open: makes a source of a file and what is known of its content; raises InputError. header: the bytes ahead of so
    many items of a dtype, always of one length; None if there are none.
    about: what help says beside its suffixes.
    """

    name: str
    suffixes: Mapping[str, str]
    items: Items
    open: Callable[[SeekableInput, Content], Source]
    begins: bytes = b""
    header: Callable[[Dtype, int], bytes] | None = None
    about: str = ""


@dataclass(frozen=True)
class Content:
    """The content of a file, by options and its name: a format, and for keys and records the dtype with its byte order.

    name: of the format. dtype: None if the file says it. key: what of an item is its key, if anything was said of that.
    terminator: the byte that ends a line. header_lines: lines at the start that are not items. csv: lines are CSV's
    records, see csv_records. csv_implied: see engine.job.Items. plain: whatever their names say, no files are
    compressed. shown: makes of whole lines what is written. said: options say the format, so names need not.
    folder: for a copy, see SeekableInput. copy: the decompressed content, where others have made it.
    """

    name: str
    dtype: Dtype | None = None
    key: Key | None = None
    terminator: int = NEWLINE
    header_lines: int = 0
    csv: bool = False
    csv_implied: bool = field(default=False, compare=False)
    plain: bool = False
    shown: Callable[[bytes], bytes] | None = None
    said: bool = field(default=False, compare=False)
    folder: str | None = field(default=None, compare=False)
    copy: Copy | None = field(default=None, compare=False)

    @property
    def format(self) -> Format:
        return FORMATS[self.name]


FORMATS: dict[str, Format] = {}
"""By name. Import it from formats.kinds, which has all of them registered."""


def register(format: Format) -> None:
    """Make a format known. Its name and suffixes must be new."""
    taken = {suffix for other in FORMATS.values() for suffix in other.suffixes}
    assert format.name not in FORMATS, f"there is a format {format.name} already"
    assert not taken & set(format.suffixes), f"{taken & set(format.suffixes)} say another format already"
    FORMATS[format.name] = format
