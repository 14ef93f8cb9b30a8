"""Docstrings are sentences, or noun phrases that are understood at once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = sorted(
    path for folder in ("gpumerge_cli", "kernels", "data/bench") for path in (ROOT / folder).rglob("*.py")
)  # fmt: skip
FRAGMENT = re.compile(r"(What|Of|Whose|Which|How|Where|When)\s")


def beginnings(path: Path) -> list[str]:
    """The first lines of docstrings, also of those below constants."""
    return [
        node.value.value.lstrip().split("\n")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def test_no_docstring_begins_with_a_loose_clause() -> None:
    assert [(path.name, text) for path in FILES for text in beginnings(path) if FRAGMENT.match(text)] == []


def test_no_help_begins_with_a_loose_clause() -> None:
    from gpumerge_cli.cli.options.commands import COMMANDS

    texts = [option.help for command in COMMANDS for option in command.options]
    texts += [about for command in COMMANDS for _, about in command.examples]
    assert [text for text in texts if FRAGMENT.match(text)] == []
