"""The layers hold: a room imports only from rooms below it. Reads the imports; runs nothing."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gpumerge_cli"

# Longest prefix wins. 0 words, 1 things, 2 thought, 3 motion, 4 intent, 5 door.
LAYERS = {
    "buffers": 0, "dataclass": 0, "errors": 0, "urls": 0, "units": 0, "words": 0, "order": 0, "corank": 0, "measure": 0,
    "cache": 0, "trust": 0, "unshown": 0, "compiling": 0, "extents": 0, "replacement": 0, "line_file": 0,
    "json_text": 0,
    "formats": 1, "backends": 1, "report.model": 1, "report.compared": 1, "report.path_model": 1,
    "plan": 2,
    "engine": 3, "cluster": 3,
    "arrays": 4, "compare": 4, "jobs": 4, "report": 4, "trace": 4,
    "cli": 5, "__main__": 5,
}  # fmt: skip
# Below their own layer, these see no more than this.
ONLY = {
    "report": {"report", "dataclass", "units", "errors", "replacement", "json_text"},
    "backends": {
        "backends",
        "buffers",
        "dataclass",
        "errors",
        "units",
        "order",
        "measure",
        "cache",
        "compiling",
        "extents",
    },
    "formats": {
        "formats",
        "buffers",
        "dataclass",
        "errors",
        "urls",
        "units",
        "words",
        "order",
        "extents",
        "replacement",
        "backends.costs",
        "backends.cpu.mapping",
    },
    "plan": {"plan", "dataclass", "order", "backends.calls", "backends.cpu.cuts", "formats.base", "errors"},
    "backends.cpu": {
        "backends.base",
        "backends.calls",
        "backends.ladder",
        "backends.launch",
        "backends.limits",
        "backends.splits",
        "backends.variants",
        "backends.cpu",
        "buffers",
        "dataclass",
        "errors",
        "order",
        "measure",
        "extents",
    },
    "order": {"order", "dataclass", "errors"},
    "order.rules": {"dataclass"},
    "order.key_types": {"dataclass"},
}
# Most of the program sees a backend as base has it. These, and no others, go to rooms of the CPU's own: its library
# cuts, moves and compares what lies in files for every backend.
CPU_ONLY = {
    "backends.cpu": {"backends.select"},
    "backends.cpu.heads": {"engine.heads"},
    "backends.cpu.cuts": {"plan"},
    "backends.cpu.joins": {"engine.joining"},
    "backends.cpu.mapping": {"compare.writing", "formats.output", "formats.output_range"},
    "backends.cpu.comparison": {
        "engine.item_text", "engine.rank", "engine.ranks",
        "cli.gnu_debug", "compare.oracle", "compare.sets", "engine.disorder", "engine.doubts", "engine.heads",
        "engine.steps", "engine.ways_out", "trace.items",
    },
}  # fmt: skip
# Rooms that load all their files by their names.
REGISTRIES = {"backends.variants", "formats.kinds"}
# Outside libraries and the only rooms that may import them.
LIBRARIES = {
    "typer": {"cli", "__main__"},
    "click": {"cli", "__main__"},
    "rich": {"cli", "report.terminal", "report.terminal_path"},
    "cupy": {"backends.gpu", "arrays"},
    "pyarrow": {"arrays.taking"},
    "botocore": {f"formats.stores.s3_{name}" for name in ("answers", "client", "content", "errors")},
    "obstore": {"formats.stores.other_objects"},
    "polars": {"backends.cpu.baselines"},
    "distributed": {"cluster"},
    "dask": {"cluster"},
    "matplotlib": {"report.drawing"},
}


def modules() -> list[str]:
    return sorted(
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "__init__.py"
    )


def within(module: str, rooms: set[str]) -> bool:
    return any(module == room or module.startswith(room + ".") for room in rooms)


def layer(module: str) -> int:
    rooms = [room for room in LAYERS if within(module, {room})]
    assert rooms, f"{module} is in no layer"
    return LAYERS[max(rooms, key=len)]


def path_of(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imports(module: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path_of(module).read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            base = node.module or ""
            for alias in node.names:
                inner = PACKAGE.parent.joinpath(*base.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                found.append(f"{base}.{alias.name}" if is_module else base)
    return found


def test_there_are_modules() -> None:
    assert len(modules()) > 30


@pytest.mark.parametrize("module", modules())
def test_imports_go_down(module: str) -> None:
    for name in imports(module):
        if name == "gpumerge_cli":
            continue  # the version
        if name.startswith("gpumerge_cli."):
            other = name.removeprefix("gpumerge_cli.")
            assert layer(other) <= layer(module), f"{module} (layer {layer(module)}) imports {other} above it"
            for room, allowed in ONLY.items():
                if within(module, {room}) and module not in ("report.model", "report.compared"):
                    assert within(other, allowed), f"{module} imports {other}"
        else:
            library = name.split(".")[0]
            if library in LIBRARIES:
                assert within(module, LIBRARIES[library]), f"{module} imports {library}"


def called_names(module: str) -> list[ast.Call]:
    """The calls that import a module by a text."""
    return [
        node
        for node in ast.walk(ast.parse(path_of(module).read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
    ]


@pytest.mark.parametrize("module", modules())
def test_only_registries_import_by_text(module: str) -> None:
    """Other modules must not import by a name in a string, because these tests would not see such imports."""
    assert module in REGISTRIES or not called_names(module), f"{module} imports by a text"


def test_imports_by_text_are_found() -> None:
    assert all(map(called_names, REGISTRIES))


def test_who_enters_the_rooms_of_the_cpu() -> None:
    entered: dict[str, set[str]] = {}
    for module in modules():
        for room in inner(module):
            if within(room, {"backends.cpu"}) and not within(module, {"backends.cpu"}):
                entered.setdefault(room, set()).add(module)
    assert entered == CPU_ONLY


def inner(module: str) -> set[str]:
    """The package's modules that it imports, now or later."""
    return {name.removeprefix("gpumerge_cli.") for name in imports(module) if name.startswith("gpumerge_cli.")}


def parents(module: str) -> set[str]:
    """The rooms that a module is in, whose own files are loaded ahead of it; itself, too."""
    parts = module.split(".")
    return {".".join(parts[:number]) for number in range(1, len(parts) + 1)}


def loaded(module: str) -> set[str]:
    """The package's files that are loaded with a module, now or later, but for those of its own rooms."""
    named = inner(module)
    if module in REGISTRIES:
        named |= {other for other in modules() if other.startswith(f"{module}.")}
    found = {room for other in named for room in parents(other)}
    return (found & set(modules())) - parents(module)


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
        pytest.skip("no repository, which knows the project's own files")
    found = {name.partition("/")[0] for name in told.stdout.splitlines()}
    known = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md",
             "gpumerge_cli", "kernels", "tests", "data"}  # fmt: skip
    assert {name for name in found if not name.startswith(".")} == known
