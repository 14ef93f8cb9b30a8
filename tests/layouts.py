"""Layouts of files whose names say nothing."""

from __future__ import annotations

from typing import Any

from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import format_named


def layout(format: str, dtype: Any = None) -> Layout:
    """The layout of a file of the format with that name, of which options say nothing. dtype: of its items."""
    return Layout(format_named(format), Items(), dtype=dtype)
