"""TOML files, and where in them things stand, for errors that say FILE:LINE."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gpumerge_cli.errors import InputError, input_error

_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")


@dataclass(frozen=True)
class TomlFile:
    path: str
    text: str
    values: dict[str, Any]

    def place(self, *keys: str) -> str:
        """FILE:LINE of a key, or of a table's key; of the table where the key cannot be found."""
        table, line_of_table = "", 0
        *tables, key = keys
        wanted = re.compile(rf"""\s*(["']?){re.escape(key)}\1\s*[.=]""")
        header = re.compile(rf"""\s*(["']?){re.escape(".".join(tables))}\1\s*\.""") if tables else None
        for number, line in enumerate(self.text.splitlines(), 1):
            opened = _TABLE.fullmatch(line)
            if opened is not None:
                table = opened[1].strip("\"'")
                line_of_table = number if table == ".".join(tables or keys) else line_of_table
            elif (table == ".".join(tables) and wanted.match(line)) or (not table and header and header.match(line)):
                return f"{self.path}:{number}"
        return f"{self.path}:{line_of_table or 1}"


def read_toml(path: str) -> TomlFile | None:
    """The file's values; None if there is no such file. Raises InputError, at FILE:LINE, for what is no TOML."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise input_error(error, path) from error
    import tomllib

    from gpumerge_cli.jobs.document import TOO_DEEP, too_deep

    try:
        text = content.decode()
        values = tomllib.loads(text)
        if too_deep(values):
            raise RecursionError
        return TomlFile(path, text, values)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", where=f"{path}:{line}", way_out="save it as UTF-8") from error
    except RecursionError:
        raise InputError(TOO_DEEP, where=f"{path}:1", way_out="write plain values, and one table a command") from None
    except ValueError as error:  # TOMLDecodeError, and that of an integer of too many digits
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line_number = (found[2] if found else None) or str(len(content.splitlines()) or 1)
        what = found[1] if found else str(error)
        raise InputError(
            f"is no TOML: {what[:1].lower()}{what[1:]}",
            where=f"{path}:{line_number}",
            way_out='write for example threads = 4 or memory = "2G"',
        ) from error
