"""Each class and each public function has a name of its own, so that a name leads to one definition."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "gpumerge_cli"
SHARED: dict[str, set[str]] = {
    "Answer": {"backends", "cluster"},
    "Cut": {"engine", "results"},
    "Device": {"arrays", "backends"},
    "Ends": {"backends", "cluster"},
    "Keys": {"cli", "order"},
    "Layout": {"formats", "order"},
    "Memory": {"backends"},
    "Place": {"engine", "results"},
    "Prepared": {"backends", "formats"},
    "Search": {"engine", "results"},
    "SetOptions": {"arrays", "cli"},
    "Table": {"batch", "formats"},
    "Team": {"backends"},
    "as_line": {"arrays", "formats"},
    "begin": {"backends", "unshown"},
    "bench": {"cli", "compare"},
    "blocks_of": {"compare", "plan"},
    "check": {"cli", "engine"},
    "combined": {"backends", "report"},
    "compare": {"cli", "compare"},
    "contest": {"compare", "report"},
    "cuts": {"backends", "cluster"},
    "format_of": {"cli", "formats"},
    "info": {"backends", "cli"},
    "join": {"arrays", "cli"},
    "joined": {"arrays", "backends"},
    "judge": {"cli", "native"},
    "judge_count": {"arrays", "backends"},
    "levels_of": {"explain", "native"},
    "load": {"costs", "native"},
    "look_at": {"engine", "formats"},
    "main": {"__main__", "cli"},
    "merge": {"arrays", "cli"},
    "names_of": {"dataclass", "formats"},
    "notes": {"cli", "report"},
    "opened": {"engine", "formats"},
    "parse_size": {"cli", "units"},
    "perform": {"cli", "engine"},
    "pieces_of": {"cluster", "engine", "explain"},
    "rank": {"arrays", "cli"},
    "ranks_of": {"arrays", "engine"},
    "register": {"backends", "formats"},
    "remove_unfinished": {"formats", "replacement"},
    "run": {"cli", "engine"},
    "save": {"costs", "report"},
    "shape_of": {"explain", "formats"},
    "shared": {"backends", "cluster"},
    "shares": {"backends", "engine"},
    "show": {"cli", "report"},
    "sort": {"arrays", "cli"},
    "sweep": {"cluster", "replacement"},
    "text_of": {"engine", "order"},
    "view": {"backends", "buffers"},
    "within": {"backends", "cli"},
    "written": {"cli", "report"},
}
"""The names that are still defined twice, each with its rooms."""


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
    found = {name: rooms for name, rooms in shared_names().items() if not rooms <= SHARED.get(name, set())}
    assert found == {}, "give each of these definitions a name of its own"
