"""The layers hold: a room imports only from rooms below it. Reads the imports; runs nothing."""

from __future__ import annotations

import ast
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gpumerge_cli"

# 0 words, 1 things, 2 motion, 3 uses, 4 door.
LAYERS = {
    "buffers": 0, "cache": 0, "compiling": 0, "corank": 0, "costs": 0, "dataclass": 0, "errors": 0, "extents": 0,
    "json_text": 0, "launch": 0, "line_file": 0, "measure": 0, "order": 0, "patterns": 0, "replacement": 0,
    "secret_values": 0, "shell_words": 0, "suggestions": 0, "temporary_files": 0, "trust": 0, "units": 0, "urls": 0,
    "native": 1, "backends": 1, "formats": 1, "results": 1,
    "plan": 2, "engine": 2, "cluster": 2,
    "arrays": 3, "batch": 3, "compare": 3, "explain": 3, "learn": 3, "report": 3,
    "cli": 4, "__main__": 4,
}  # fmt: skip
# These rooms see no more than this of others beside or below them, but for words.
ONLY = {
    "order": {"dataclass", "errors"},
    "order.rules": {"dataclass", "order.key_kinds"},
    "order.key_kinds": {"dataclass"},
    "order.key_types": {"dataclass"},
    "native": set(),
    "formats": {"native"},
    "results": set(),
    "backends": {"native"},
    "backends.cpu": {
        "native", "backends.base", "backends.ladder", "backends.limits", "backends.splits", "backends.variants",
    },
    "plan": {"native", "formats.base", "formats.ranges"},
    "report": {"results"},
}  # fmt: skip
# The only modules that enter a room.
ENTERED = {
    "backends.cpu": {"backends.select"},
    "backends.gpu": {
        "backends.select", "explain.shape", "learn.on_gpu", "cli.batch_jobs", "cli.batch_processes", "cli.info",
        "arrays.column_array", "arrays.column_images", "arrays.counting", "arrays.device", "arrays.device_images",
        "arrays.device_text_items", "arrays.device_selection", "arrays.interchange", "arrays.multi_gpu",
        "arrays.payload", "arrays.prepared_calls",
    },
}  # fmt: skip
# Names of the package itself that modules may import. Its other names come from rooms above most modules.
OF_THE_PACKAGE = {"__version__", "BEGUN"}
# Rooms that load all their files by their names.
REGISTRIES = {"backends.variants.lookup", "formats.kinds.lookup"}
# Modules with a program as a text that starts the command line, in a process of its own.
STARTING = {"compare.costs"}
# Outside libraries and the only rooms that may import them.
LIBRARIES = {
    "typer": {"cli.application"},
    "click": set(),
    "rich": {"cli", "report.terminal", "report.terminal_learn", "report.terminal_path"},
    "cupy": {"backends.gpu", "arrays"},
    "pyarrow": {"arrays", "formats.tables"},
    "botocore": {f"formats.stores.s3_{name}" for name in ("answers", "client", "content", "errors")},
    "obstore": {"formats.stores.other_objects"},
    "polars": {"backends.cpu.baselines"},
    "distributed": {"cluster"},
    "dask": {"cluster"},
    "matplotlib": {"report.drawing"},
}


@cache
def modules() -> list[str]:
    return sorted(
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "__init__.py"
    )


def within(module: str, rooms: set[str]) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


@cache
def layer(module: str) -> int:
    rooms = [room for room in LAYERS if within(module, {room})]
    assert rooms, f"{module} is in no layer"
    return LAYERS[max(rooms, key=len)]


def words(room: str) -> set[str]:
    """The rooms of words that a room may see: all, but for what has its own place among them."""
    return set() if LAYERS.get(room.split(".")[0]) == 0 else {name for name, number in LAYERS.items() if number == 0}


def path_of(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def nodes(text: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(text)))


@cache
def imports(module: str) -> list[str]:
    return imports_of(path_of(module).read_text(), module)


def imports_of(text: str, module: str) -> list[str]:
    """The modules that the text of a module imports. Names of the package itself, but for some, import all of it."""
    found = []
    for node in nodes(text):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            base = node.module or ""
            for alias in node.names:
                inner = PACKAGE.parent.joinpath(*base.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                if is_module:
                    found.append(f"{base}.{alias.name}")
                elif base != "gpumerge_cli" or alias.name not in OF_THE_PACKAGE:
                    found.append(base)
    return found


def programs(text: str) -> list[str]:
    """The programs that stand as texts in a module, such as one for python -c: those that import something."""
    found = []
    for node in nodes(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            with suppress(SyntaxError):
                if any(isinstance(one, ast.Import | ast.ImportFrom) for one in nodes(node.value)):
                    found.append(node.value)
    return found


def imports_of_programs(module: str) -> list[str]:
    """The modules that programs held as texts import. The command line does not count for modules that may start it."""
    found = [name for text in programs(path_of(module).read_text()) for name in imports_of(text, module)]
    return [name for name in found if name != "gpumerge_cli.__main__" or module not in STARTING]


def test_there_are_modules() -> None:
    assert len(modules()) > 30


def test_imports_go_down() -> None:
    for module, name in ((one, name) for one in modules() for name in (*imports(one), *imports_of_programs(one))):
        assert name != "gpumerge_cli", f"{module} imports the whole package, or names of it"
        if name.startswith("gpumerge_cli."):
            other = name.removeprefix("gpumerge_cli.")
            assert layer(other) <= layer(module), f"{module} (layer {layer(module)}) imports {other} above it"
            for room, allowed in ONLY.items():
                if within(module, {room}) and not within(other, {room}):
                    assert within(other, allowed | words(room)), f"{module} imports {other}"
        else:
            library = name.split(".")[0]
            if library in LIBRARIES:
                assert within(module, LIBRARIES[library]), f"{module} imports {library}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from gpumerge_cli import union", ["gpumerge_cli"]),
        ("import gpumerge_cli", ["gpumerge_cli"]),
        ("from gpumerge_cli import __version__, costs", ["gpumerge_cli.costs"]),
    ],
)
def test_names_of_the_package_are_not_passed_over(text: str, found: list[str]) -> None:
    assert imports_of(text, "order.base") == found


def test_programs_as_texts_are_seen() -> None:
    assert programs('run("import sys; from gpumerge_cli.cli import app")') == [
        "import sys; from gpumerge_cli.cli import app"
    ]
    assert programs('"""Modules import from here."""') == []
    assert {module for module in modules() if programs(path_of(module).read_text())} == STARTING | {"cluster.local"}


def called_names(module: str) -> list[ast.Call]:
    """The calls that import a module by a text."""
    return [
        node
        for node in nodes(path_of(module).read_text())
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
    ]


def test_only_registries_import_by_text() -> None:
    """Other modules must not import by a name in a string, because these tests would not see such imports."""
    assert {module for module in modules() if called_names(module)} == REGISTRIES


@pytest.mark.parametrize("room", ENTERED)
def test_who_enters_a_room(room: str) -> None:
    entered = {
        module
        for module in modules()
        if not within(module, {room}) and any(within(other, {room}) for other in inner(module))
    }
    assert entered == ENTERED[room]


def inner(module: str) -> set[str]:
    """The package's modules that it imports, now or later."""
    return {name.removeprefix("gpumerge_cli.") for name in imports(module) if name.startswith("gpumerge_cli.")}


def parents(module: str) -> set[str]:
    """The rooms that a module is in, whose own files are loaded ahead of it; itself, too."""
    parts = module.split(".")
    return {".".join(parts[:number]) for number in range(1, len(parts) + 1)}


def loaded(module: str) -> set[str]:
    """The package's files that are loaded with a module, now or later: those that it names, with all their rooms."""
    named = inner(module)
    if module in REGISTRIES:
        folder = module.rpartition(".")[0]
        named |= {other for other in modules() if other.startswith(f"{folder}.") and other != module}
    found = {room for other in {module, *named} for room in parents(other)}
    return (found & set(modules())) - {module}


def test_no_room_needs_one_that_needs_it() -> None:
    """Rooms form no circle either, the door's and the jobs' included."""
    rooms: dict[str, set[str]] = {}
    for module in modules():
        room = module.split(".")[0]
        rooms.setdefault(room, set()).update(other.split(".")[0] for other in inner(module))
        rooms[room].discard(room)
    while done := {room for room, others in rooms.items() if not others & rooms.keys()}:
        rooms = {room: others for room, others in rooms.items() if room not in done}
    assert not rooms, f"in circles, or need what is: {sorted(rooms)}"


def test_no_import_goes_round() -> None:
    """A module never comes to import itself, not by what is imported late or for types only either."""
    left = {module: loaded(module) for module in modules()}
    while done := {module for module, others in left.items() if not others & left.keys()}:
        left = {module: others for module, others in left.items() if module not in done}
    assert not left, f"in circles, or import what is: {sorted(left)}"


def test_the_top_level_holds_what_belongs_there() -> None:
    try:
        told = subprocess.run(["git", "ls-files"], cwd=PACKAGE.parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git and its repository, which knows the project's own files; clone it")
    found = {name.partition("/")[0] for name in told.stdout.splitlines()}
    known = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
             "gpumerge_cli", "kernels", "tests", "data"}  # fmt: skip
    assert {name for name in found if not name.startswith(".")} == known
