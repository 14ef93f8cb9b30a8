"""Docstrings are sentences, or noun phrases that are understood at once; identifiers are standard terms."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = sorted(
    path for folder in ("gpumerge_cli", "kernels", "data/bench") for path in (ROOT / folder).rglob("*.py")
)  # fmt: skip
FRAGMENT = re.compile(r"(What|Of|Whose|Which|How|Where|When)\s")
QUOTED = re.compile(rf"[\"'][\s\\]*{FRAGMENT.pattern}")
"""A text that begins so. Files without any need not be parsed, which takes seconds."""


def beginnings(path: Path) -> list[str]:
    """The first lines of docstrings, also of those below constants."""
    text = path.read_text()
    return [
        node.value.value.lstrip().split("\n")[0]
        for node in (ast.walk(ast.parse(text)) if QUOTED.search(text) else ())
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


def test_no_docstring_begins_with_a_loose_clause() -> None:
    assert [(path.name, text) for path in FILES for text in beginnings(path) if FRAGMENT.match(text)] == []


def test_no_help_begins_with_a_loose_clause() -> None:
    from gpumerge_cli.cli.options.commands import COMMANDS

    texts = [option.help for command in COMMANDS for option in command.options]
    texts += [about for command in COMMANDS for _, about in command.examples]
    assert [text for text in texts if FRAGMENT.match(text)] == []


PRIVATE = frozenset(
    form
    for word in ("crew", "hand", "hire", "judge", "outlet", "said", "site", "station", "told")
    for form in (word, f"{word}s", f"{word}d", f"{word}ed")
)
"""Words that no identifier may have between its underscores. The glossary has the standard terms."""
RECORDED = {"judged_by"}
"""Columns of data/results, whose names stay."""


def identifiers(path: Path) -> set[str]:
    """The names that a module reads, assigns, defines, passes and imports."""
    attributes = ("id", "attr", "arg", "name", "asname")
    nodes = ast.walk(ast.parse(path.read_text()))
    return {name for node in nodes for key in attributes if isinstance(name := getattr(node, key, None), str)}


@cache
def words(name: str) -> set[str]:
    """The words of an identifier in small letters, whichever of snake_case and CamelCase it has."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def has_private_word(path: Path) -> bool:
    """Whether a module has one, in an identifier or elsewhere. Only such a module is parsed, which takes time."""
    return any(words(name) & PRIVATE for name in {*re.findall(r"\w+", path.read_text())})


def test_no_identifier_has_a_private_word() -> None:
    assert words("_MOST_TOLD") == {"most", "told"}
    assert words("HiredCrew") == {"hired", "crew"}
    package = [path for path in FILES if path.is_relative_to(ROOT / "gpumerge_cli") and has_private_word(path)]
    found = [(path.name, name) for path in package for name in identifiers(path) - RECORDED if words(name) & PRIVATE]
    assert found == []


def test_no_identifier_of_the_compiled_code_has_a_private_word() -> None:
    files = [path for ends in ("cpp", "cu", "cuh", "h", "hpp") for path in (ROOT / "kernels").rglob(f"*.{ends}")]
    assert len(files) > 100
    code = {path: re.sub(r"//.*|/\*.*?\*/", "", path.read_text()) for path in files}
    found = [
        (path.name, name) for path in files for name in set(re.findall(r"\w+", code[path])) if words(name) & PRIVATE
    ]
    assert found == []
