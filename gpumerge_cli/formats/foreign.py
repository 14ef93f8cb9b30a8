"""Formats that are recognised by suffix or first bytes, but not supported. FOREIGN lists them all."""

from __future__ import annotations

from gpumerge_cli.dataclass import dataclass


@dataclass(frozen=True)
class Foreign:
    """A format of other programs."""

    name: str
    """As in "its suffix means NAME"."""
    suffixes: tuple[str, ...]
    """The suffixes of its files."""
    begins: bytes = b""
    """A regular expression for how its files begin; b"" if nothing identifies them."""
    way_out: str = "convert it first"
    """The way to convert the file FILE to a format that is read here."""
    text: bool = False
    """Whether its files are lines of text, which can be read as such."""

    def way_out_for(self, name: str) -> str:
        """The way out, about the file `name`."""
        return self.way_out.replace("FILE", name)


_DUCKDB = "convert it first, for example with duckdb -c \"copy 'FILE' to 'FILE.csv'\""
_ARROW = "convert it first, for example with pyarrow's write_csv"
_NUMPY = "save its array with numpy.save first"

_CONTROL = rb"[\x00-\x08\x0b\x0c\x0e-\x1f]"
"""A byte that lines of text do not hold."""

FOREIGN: tuple[Foreign, ...] = (
    Foreign("Parquet", (".parquet",), rb"PAR1" + _CONTROL, _DUCKDB),
    Foreign("Arrow", (".arrow",), rb"ARROW1\x00\x00", _ARROW),
    Foreign("Feather", (".feather",), rb"FEA1" + _CONTROL, _ARROW),
    Foreign("ORC", (".orc",), rb"ORC[\x00-\x1f]" + _CONTROL, _ARROW),
    Foreign("Avro", (".avro",), rb"Obj\x01", _DUCKDB),
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
    Foreign("a 7-Zip archive", (".7z",), rb"7z\xbc\xaf\x27\x1c", "unpack it first, for example with 7z x"),
    Foreign("a pickle", (".pkl", ".pickle"), way_out=_NUMPY),
    Foreign("a workbook", (".xlsx",), way_out="save its sheet as CSV first"),
    Foreign("MATLAB", (".mat",), rb"MATLAB 5\.0 MAT-file.{105}[\x00-\x02]{2}(?:IM|MI)", _NUMPY),
    Foreign("SQLite", (".sqlite",), rb"SQLite format 3\x00", "convert it first, for example with sqlite3 -csv"),
    Foreign("PDF", (".pdf",), rb"%PDF-\d\.\d\s{1,3}%[\x80-\xff]{2}", "extract its text first"),
    Foreign("PNG", (".png",), rb"\x89PNG\r\n\x1a\n"),
    Foreign("JSON", (".json", ".jsonl"), text=True),
    Foreign("HTML", (".html",), text=True),
    Foreign("XML", (".xml",), text=True),
    Foreign("Markdown", (".md",), text=True),
    Foreign("YAML", (".yaml",), text=True),
    Foreign("TOML", (".toml",), text=True),
)


def foreign_of(suffix: str) -> Foreign | None:
    """The format that a suffix names."""
    return next((one for one in FOREIGN if suffix and suffix in one.suffixes), None)
