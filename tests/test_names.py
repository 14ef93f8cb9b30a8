"""Each class, alias of a type, public function and constant has a name of its own, which leads to one definition."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gpumerge_cli"
TWINS = {"backends.cpu", "backends.gpu"}
"""Rooms whose files of one name have functions of one name: those of two processors."""
REPEATED = {
    "job_of": "cli",  # the job of a command's options, in each command's module
    "open_object": "formats.stores",  # as SCHEMES name the modules
    "render": "report",  # a report in the form of the module, see CONTRIBUTING.md
}
"""Functions that several modules of a room define on purpose: whoever calls one has chosen the module by a name."""


@cache
def definitions(text: str) -> list[tuple[str, bool]]:
    """The public names that a module's text defines at its top: (name, whether it is a class or an alias of a type)."""
    return [*_definitions(ast.parse(text))]


def _definitions(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                yield name, True
            case ast.FunctionDef(name=name):
                yield name, False
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name, name[:1].isupper() and not name.isupper()


def shared_names(texts: dict[str, str]) -> dict[str, set[str]]:
    """The names that several modules define, each with these modules. texts: those of modules, by their names.

    Constants are shared only if the modules are of different rooms.
    """
    modules, types = defaultdict(set), set()
    for module, text in texts.items():
        for name, is_type in definitions(text):
            if not name.startswith("_") and name != "TYPE_CHECKING":
                modules[name].add(module)
                types |= {name} if is_type else set()
    return {
        name: homes
        for name, homes in modules.items()
        if len(homes) > 1 and (name in types or not _may_share(name, homes))
    }


def _may_share(name: str, modules: set[str]) -> bool:
    """Whether modules may have a function or constant of one name."""
    if name.isupper():
        return len({module.partition(".")[0] for module in modules}) == 1
    if {module.rpartition(".")[0] for module in modules} <= TWINS:
        return len({module.rpartition(".")[2] for module in modules}) == 1 or name.startswith("resolve")
    return name in REPEATED and all(module.startswith(f"{REPEATED[name]}.") for module in modules)


@cache
def package() -> dict[str, str]:
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path.read_text()
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def test_there_are_names() -> None:
    found = [name for text in package().values() for name, _ in definitions(text)]
    assert {"Job", "SortedRun", "Step", "KERNELS", "merge_job"} <= {*found}


def test_no_name_has_two_meanings() -> None:
    """Each has one name in the package, but for constants within a room: goal 0."""
    assert shared_names(package()) == {}, "give each of these definitions a name of its own"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("class Run: ...", "Run = tuple[int, int]"),
        ("Kind = str", "Kind: TypeAlias = int"),
        ("NAMES = ()", "NAMES: tuple[str, ...] = ()"),
        ("begun = []", "def begun(): ..."),
    ],
)
def test_it_sees_every_definition(first: str, second: str) -> None:
    assert len(shared_names({"cli.one": first, "formats.two": second})) == 1
    assert len(shared_names({"cli.one": first, "cli.two": second})) == (0 if "NAMES" in first else 1)
