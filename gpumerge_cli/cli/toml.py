"""TOML files with the lines of their keys, for errors that say FILE:LINE."""

from __future__ import annotations

from gpumerge_cli.batch.document import KeyPath, Mistake, parse_toml
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError, input_error


@dataclass(frozen=True)
class TomlFile:
    path: str
    values: dict[str, object]
    lines: dict[KeyPath, int]

    def place(self, *keys: str) -> str:
        """FILE:LINE of a key or of a key in a table; that of the table if the key's line is not known."""
        return f"{self.path}:{self.lines.get(keys) or self.lines.get(keys[:1], 1)}"


def read_toml(path: str) -> TomlFile | None:
    """Read a file; None if there is no such file. Raises InputError with FILE:LINE if it is not TOML."""
    try:
        with open(path, "rb") as file:
            return TomlFile(path, *parse_toml(file.read()))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise input_error(error, path) from error
    except Mistake as mistake:
        way_out = 'write for example threads = 4 or memory = "2G"'
        raise InputError(mistake.what, where=f"{path}:{mistake.line}", way_out=way_out) from mistake
