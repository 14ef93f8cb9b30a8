"""Each class and each public function has a name of its own, so that a name leads to one definition."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "gpumerge_cli"


def definitions() -> list[tuple[str, str, bool]]:
    """The public classes and functions at the top of each module: (name, module, whether it is a class)."""
    return [
        (node.name, ".".join(path.relative_to(PACKAGE).with_suffix("").parts), isinstance(node, ast.ClassDef))
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    ]


def shared_names() -> dict[str, set[str]]:
    """The classes that two modules define, and the functions that two rooms define, each with its rooms."""
    modules, classes = defaultdict(set), set()
    for name, module, is_class in definitions():
        modules[name].add(module)
        if is_class:
            classes.add(name)
    found = {}
    for name, homes in modules.items():
        rooms = {module.partition(".")[0] for module in homes}
        if len(rooms) > 1 or (name in classes and len(homes) > 1):
            found[name] = rooms
    return found


def test_there_are_names() -> None:
    assert len({name for name, _, _ in definitions()}) > 500


def test_no_name_has_two_meanings() -> None:
    """A class has one name in the package, a public function one in all rooms: goal 0."""
    assert shared_names() == {}, "give each of these definitions a name of its own"
