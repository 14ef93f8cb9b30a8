"""Formats that are recognised by suffix or first bytes, but not supported. FOREIGN_FORMATS lists them all."""

from __future__ import annotations

import os
from itertools import count

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.patterns import pattern
from gpumerge_cli.urls import is_url


@dataclass(frozen=True)
class Foreign:
    """A format of other programs."""

    name: str
    """As in "its suffix means NAME"."""
    suffixes: tuple[str, ...]
    """The suffixes of its files."""
    begins: bytes = b""
    """A regular expression for how its files begin; b"" if nothing identifies them."""
    way_out: str = ""
    """The way, or another one, to read a file here or to convert it; by default as text, or by any program."""
    text: bool = False
    """Whether its files are lines of text, which can be read as such."""
    reader: str = ""
    """DuckDB's function that reads its files, to convert one; "" if that is not proposed."""

    def way_out_for(self, name: str) -> str:
        """The way out for the file `name`, quoted for a shell. If a command names the file, a pipe is saved first."""
        if not self.reader:
            return self.way_out or ("use --format text" if self.text else "convert it first")
        from gpumerge_cli.shell_words import quoted  # only for messages: it loads more

        saved = _unused(self.suffixes[0]) if _is_pipe(name) else ""
        first = f"save it to a file first, with cat > {saved}; then " if saved else ""
        file = (saved or name).replace("'", "''")
        copy = quoted(f"copy (from {self.reader}('{file}')) to '{file}.csv'")
        return f"{first}convert it, for example with duckdb -c {copy}" + (f"; {self.way_out}" if self.way_out else "")


def _is_pipe(name: str) -> bool:
    return name == STDIO or (not is_url(name) and os.path.exists(name) and not os.path.isfile(name))


def _unused(suffix: str) -> str:
    """A name with a suffix that no file here has, so that a command that writes it replaces none."""
    return next(name for name in (f"x{number or ''}{suffix}" for number in count()) if not os.path.lexists(name))


_ARROW = "convert it first, for example with pyarrow's write_csv"
_NUMPY = "save its array with numpy.save first"

_CONTROL = rb"[\x00-\x08\x0b\x0c\x0e-\x1f]"
CONTROL = pattern(_CONTROL)
"""A byte that lines of text do not hold."""

JSON = Foreign(
    "JSON",
    (".json",),
    way_out="read it by --format jsonl, without --csv, if each line is a value; else write such lines first, "
    "for example with jq -c '.[]'",
    text=True,
)
"""Its lines are text like any other, so `begins` says nothing."""


def begins_json(start: bytes) -> bool:
    """Whether the first byte of a file that is not blank is one that JSON begins with. Other text may have it, too."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


FOREIGN_FORMATS: tuple[Foreign, ...] = (
    Foreign("Feather 1", (), rb"FEA1" + _CONTROL, "write it again as version 2, with pyarrow.feather.write_feather"),
    Foreign("ORC", (".orc",), rb"ORC[\x00-\x1f]" + _CONTROL, _ARROW),
    Foreign("Avro", (".avro",), rb"Obj\x01", reader="read_avro"),
    Foreign("HDF5", (".h5", ".hdf5"), rb"\x89HDF\r\n\x1a\n", _NUMPY),
    Foreign("an archive of arrays", (".npz",), way_out=_NUMPY),
    Foreign("ZIP", (".zip",), rb"PK\x03\x04", "unpack or convert it first, for example with unzip"),
    Foreign(
        "a tar archive",
        (".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"),
        rb".{257}ustar[\x00 ]",
        "unpack it first, for example with tar xf",
    ),
    Foreign("LZMA", (".lzma",), rb"\x5d\x00\x00..[\x00\xff]{2}", "decompress it first, for example with xz -d"),
    Foreign("LZ4", (".lz4",), rb"\x04\x22\x4d\x18", "decompress it first, for example with lz4 -d"),
    Foreign("Unix compress", (".z",), rb"\x1f\x9d", "decompress it first, for example with gzip -d"),
    Foreign("lzip", (".lz",), rb"LZIP[\x00\x01]", "decompress it first, for example with lzip -d"),
    Foreign("lzop", (".lzo",), rb"\x89LZO\x00\r\n\x1a\n", "decompress it first, for example with lzop -d"),
    Foreign("Brotli", (".br",), way_out="decompress it first, for example with brotli -d"),
    Foreign("a 7-Zip archive", (".7z",), rb"7z\xbc\xaf\x27\x1c", "unpack it first, for example with 7z x"),
    Foreign("a pickle", (".pkl", ".pickle"), way_out=_NUMPY),
    Foreign("a workbook", (".xlsx",), way_out="save its sheet as CSV first"),
    Foreign("MATLAB", (".mat",), rb"MATLAB 5\.0 MAT-file.{105}[\x00-\x02]{2}(?:IM|MI)", _NUMPY),
    Foreign("SQLite", (".sqlite",), rb"SQLite format 3\x00", "convert it first, for example with sqlite3 -csv"),
    Foreign("PDF", (".pdf",), rb"%PDF-\d\.\d\s{1,3}%[\x80-\xff]{2}", "extract its text first"),
    Foreign("PNG", (".png",), rb"\x89PNG\r\n\x1a\n"),
    JSON,
    Foreign("HTML", (".html",), text=True),
    Foreign("XML", (".xml",), text=True),
    Foreign("Markdown", (".md",), text=True),
    Foreign("YAML", (".yaml",), text=True),
    Foreign("TOML", (".toml",), text=True),
)


def foreign_of(suffix: str) -> Foreign | None:
    """The format that a suffix names."""
    return next((one for one in FOREIGN_FORMATS if suffix and suffix in one.suffixes), None)


def refuse_foreign(name: str, suffix: str) -> None:
    """Raise UsageError if the suffix of the file `name` means a format that is not read here, or only as lines."""
    foreign = foreign_of(suffix)
    if foreign is not None:
        means = "read only as lines" if foreign.text else "not read here"
        what = f"{name}: its suffix means {foreign.name}, which is {means}"
        raise UsageError(what, way_out=foreign.way_out_for(name))
