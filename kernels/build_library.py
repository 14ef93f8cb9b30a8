"""Compiles kernels/cpu into one shared library for each level of the processor, by the ziglang wheel.

An installation has the command compiled, too, from launcher.cpp.

By hand: python kernels/build_library.py [--levels x86-64-v3,x86-64-v4] [--out DIR] [--objects DIR]

CXX names another compiler, whose own C++ library is then linked; CXXFLAGS are added to every call.
GPUMERGE_BUILD_MACHINE names another machine to build for: x86_64 or aarch64.

Unchanged units are not compiled again: an object's name holds the digest of all that goes into it.

A kernel needs no registration. It is a function `merge_NAME(Pair pair, const LaunchSpec& launch, Item* scratch)` in a
file kernels/cpu/merge_*.hpp. The build lists these functions, and the kinds of keys, in kernels/cpu/kernels.hpp.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

KERNELS = Path(__file__).resolve().parent
ROOT = KERNELS.parent
LIBRARIES = ROOT / "gpumerge_cli" / "lib"
OBJECTS = ROOT / "build" / "cpu" / "objects"
LAUNCHER = ROOT / "build" / "launcher" / "gpumerge"
GLIBC = "2.17"
_STALE = 24 * 3600.0  # seconds

SHARED_HEADERS = ("cpu/entries.h", "equals.h", "fields.cuh")  # as in gpumerge_cli/native/library.py

_LEVELS = {"x86_64": ("x86-64-v2", "x86-64-v3", "x86-64-v4")}
_MACHINE = "GPUMERGE_BUILD_MACHINE"
_MACHINES = ("x86_64", "aarch64")
# The units that x86-64-v4 makes faster: merges of keys of 64 bits by 20 to 30 percent, as x86-64-v3 has no minimum of
# such lanes, and their sorts by 2 to 8 percent on a Xeon. Keys with values merge by its vectors alone. Keys of 32 bits
# merge as fast by vectors of 32 bytes. The index of lines of up to 18 bytes takes 0.6 to 0.9 of the time; other units
# that read lines gain nothing as a whole. The library of x86-64-v4 takes all other units as they are compiled for
# x86-64-v3. `about` names the level.
_OWN_OF_V4 = ("about", "keys_radix", "line_index", "keys-64-", "pairs")
# The units that gain nothing from a level, or next to nothing: they wait for files, share work out, or search. A diff,
# a join, a dedupe, a head of a sort and a merge of lines out of order took as long at every level. They are compiled
# once, for the least level.
_OF_ALL_LEVELS = (
    "array_calls", "chunk", "collation", "compare", "counted_lines", "cuts", "entries", "entries_rows", "gather",
    "heads", "join", "json_join", "keys_merge", "keys_sort", "keys_table", "keys_workspace", "launches", "mapping",
    "records", "seen", "sieve", "sieve_lines", "sieve_records", "sink", "source", "sums", "team", "workspace",
)  # fmt: skip
# The standard headers of later versions of C++ hold far more, and the units need none of it. REMOVE_TRANSITIVE_INCLUDES
# keeps the headers of libc++ from including what they once included, which would be half of all text.
_FLAGS = (
    "-std=c++17", "-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES", "-O3", "-fPIC", "-pthread", "-ffunction-sections",
    "-fdata-sections", "-Wall", "-Wextra",
)  # fmt: skip
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
_INCLUDE = re.compile(r'^#include "([\w./]+)"', re.MULTILINE)
_KERNEL = re.compile(r"^inline void merge_(\w+)\(Pair \w+, const LaunchSpec& *\w*, Item\* *\w*\)", re.MULTILINE)
# The parts of the C++ library that the units call, from the ziglang wheel's sources: all of it takes longer than all
# else together. Of these the linker keeps what is called.
_RUNTIME = {
    "libcxx": ("new_helpers", "stdexcept", "verbose_abort"),
    "libcxxabi": ("abort_message", "cxa_aux_runtime", "cxa_default_handlers", "cxa_exception", "cxa_exception_storage",
                  "cxa_handlers", "cxa_personality", "cxa_virtual", "fallback_malloc", "private_typeinfo",
                  "stdlib_exception", "stdlib_new_delete", "stdlib_stdexcept", "stdlib_typeinfo"),
}  # fmt: skip
_RUNTIME_MACROS = (
    "_LIBCPP_BUILDING_LIBRARY",
    "_LIBCXXABI_BUILDING_LIBRARY",
    "LIBCXX_BUILDING_LIBCXXABI",
    "LIBCXXABI_NON_DEMANGLING_TERMINATE",
)


class BuildError(Exception):
    """The library cannot be built: why, and the way out, in a line; then what the compiler said."""


def machine() -> str:
    """The machine that the libraries are for, as `uname -m` names it. Raises BuildError."""
    named = os.environ.get(_MACHINE)
    if named and named not in _MACHINES:
        raise BuildError(f"{_MACHINE}: {named} is not a machine to build for; use {' or '.join(_MACHINES)}")
    return named or platform.machine()


def levels() -> tuple[str, ...]:
    """The levels that are built for this machine, the least first. Raises BuildError."""
    return _LEVELS.get(machine(), (machine(),))


def version() -> str:
    """The text that `gm_version` gives: the package's version, and a checksum of the headers that Python knows."""
    stated = _VERSION.search((ROOT / "gpumerge_cli" / "__init__.py").read_text("utf-8"))
    assert stated
    headers = b"".join((KERNELS / name).read_bytes() for name in SHARED_HEADERS)
    return f"{stated[1]}-{zlib.crc32(headers):08x}"


@dataclass(frozen=True)
class Compiler:
    """command: what is called. zig: it is the ziglang wheel's; then the folder of its sources, else None."""

    command: tuple[str, ...]
    zig: Path | None

    @cached_property
    def identity(self) -> str:
        """A text that tells this compiler from others, in whatever folder it lies."""
        first_line = self.run(["--version"], f"{self.command[0]} does not run").partition("\n")[0]
        return f"zig {first_line}" if self.zig else f"{self.command} {first_line}"

    def anywhere(self, flag: str | Path) -> str:
        """A flag without the place of the compiler, which pip puts anew for each build."""
        return str(flag).replace(str(self.zig), "ZIG") if self.zig else str(flag)

    def flags(self, level: str) -> list[str]:
        """The arguments of every call for `level`, ahead of the files."""
        march = [f"-march={level}"] if level in _LEVELS.get(machine(), ()) else []
        if self.zig:
            march = [flag.replace("x86-64-", "x86_64_") for flag in march]
            march += ["-target", f"{machine()}-linux-gnu.{GLIBC}", "-fno-sanitize=undefined"]
            # Zig's own choices take a tenth of the build for what is stripped, and a register from every loop.
            march += ["-g0", "-fomit-frame-pointer"]
        return [*march, *_FLAGS, *shlex.split(os.environ.get("CXXFLAGS", ""))]

    def runtime(self) -> list[Path]:
        """Sources of the C++ library to be compiled with the units; none where the compiler brings its own.

        Raises BuildError where this ziglang lacks one.
        """
        if self.zig is None:
            return []
        named = [Path(library, "src", f"{name}.cpp") for library, names in _RUNTIME.items() for name in names]
        lacking = [str(file) for file in named if not (self.zig / file).exists()]
        if lacking:
            raise BuildError(
                f"{self.identity} has no {', '.join(lacking)}; "
                "install the ziglang that pyproject.toml names, or set CXX to a C++17 compiler"
            )
        return [self.zig / file for file in named]

    def run(self, arguments: Iterable[str | Path], failure: str) -> str:
        """The output of the compiler. Raises BuildError that begins with `failure`."""
        try:
            done = subprocess.run(
                [*self.command, *map(str, arguments)], capture_output=True, text=True, env=self._environment()
            )
        except OSError as error:
            raise BuildError(f"{failure}: {error.strerror}; set CXX to a C++17 compiler") from None
        if done.returncode:
            output = (done.stderr + done.stdout).strip()
            raise BuildError(
                f"{failure} (exit {done.returncode}); set CXX to another C++17 compiler, or report this\n{output}"
            )
        return done.stdout

    def _environment(self) -> dict[str, str]:
        keep = str(self.zig_cache)
        return {"ZIG_GLOBAL_CACHE_DIR": keep, "ZIG_LOCAL_CACHE_DIR": keep, **os.environ}

    @property
    def zig_cache(self) -> Path:
        """The folder in which zig keeps its results.

        Zig takes its headers for the same wherever they lie, but what it keeps names them by their places. So a zig at
        another place, as pip puts it for each build, must not find it.
        """
        return ROOT / "build" / "cpu" / f"zig-{zlib.crc32(str(self.zig).encode()):08x}"


def find_compiler() -> Compiler:
    """The compiler that CXX names, or the ziglang wheel's. Raises BuildError if there is none."""
    named = shlex.split(os.environ.get("CXX", ""))
    if named:
        return Compiler(tuple(named), None)
    found = find_spec("ziglang")
    if found is None or found.origin is None:
        raise BuildError("no compiler for the CPU's library; install ziglang with pip, or set CXX to a C++17 compiler")
    folder = Path(found.origin).parent
    return Compiler((str(folder / "zig"), "c++"), folder / "lib")


@dataclass(frozen=True)
class Unit:
    """A file to compile, and the macros that make it one of several."""

    source: Path
    macros: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "-".join([self.source.stem, *(macro.partition("=")[2] for macro in self.macros)])

    def compiled_for(self, level: str) -> str:
        """The level whose object of this unit goes into the library of `level`."""
        if level in _LEVELS["x86_64"] and self.name in _OF_ALL_LEVELS:
            return _LEVELS["x86_64"][0]
        return "x86-64-v3" if level == "x86-64-v4" and not self.name.startswith(_OWN_OF_V4) else level


@cache
def key_kinds() -> list[tuple[int, int, int]]:
    """(bits, KEY_KIND, DESCENDING) of all orders of keys, as the table in order/key_types.py has them."""
    tree = ast.parse((ROOT / "gpumerge_cli" / "order" / "key_types.py").read_text("utf-8"))
    tables = (each for each in tree.body if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "TYPES")
    types = ast.literal_eval(next(tables).value or ast.Dict())
    kinds = sorted({(kind, 8 * width) for _, widths, kind in types.values() for width in widths})
    return [(bits, kind, descending) for kind, bits in kinds for descending in (0, 1)]


def list_kernels(folder: Path = KERNELS / "cpu") -> None:
    """Write kernels.hpp: all files of kernels in `folder`, the names of the kernels, and the kinds of keys.

    Raises BuildError, OSError.
    """
    files = sorted(folder.glob("merge_*.hpp"))
    names = [(file, name) for file in files for name in _KERNEL.findall(file.read_text("utf-8"))]
    for file in files:
        if file not in {found for found, _ in names}:
            raise BuildError(f"{file.name} has no merge_NAME(Pair pair, const LaunchSpec& launch, Item* scratch)")
    text = "// Made by build_library.py.\n"
    text += "#ifdef KERNEL_BODIES\n" + "".join(f'#include "{file.name}"\n' for file in files) + "#endif\n"
    text += "#define KERNELS(KERNEL) " + " ".join(f"KERNEL({name})" for _, name in names) + "\n"
    text += "#define KEY_KINDS(DO) " + " ".join(f"DO{kind}" for kind in key_kinds()) + "\n"
    made = folder / "kernels.hpp"
    if not made.exists() or made.read_text("utf-8") != text:
        part = made.with_suffix(f".{os.getpid()}.part")
        part.write_text(text, "utf-8")
        os.replace(part, made)


def units() -> list[Unit]:
    """All that a level's library is made of: first the units with the most text, which take longest; keys last."""
    sources = set((KERNELS / "cpu").glob("*.cpp")) - {KERNELS / "cpu" / "keys.cpp"}
    found = [Unit(source) for source in sorted(sources, key=lambda source: (-len(_text(source)), source))]
    for bits, kind, descending in key_kinds():
        macros = (f"-DKEY_BITS={bits}", f"-DKEY_KIND={kind}", f"-DDESCENDING={descending}")
        found.append(Unit(KERNELS / "cpu" / "keys.cpp", macros))
    return found


@cache
def _text(file: Path) -> bytes:
    """A file and all of the project's that it includes, each once."""
    seen: dict[Path, str] = {}

    def add(path: Path) -> None:
        if path not in seen:
            seen[path] = path.read_text("utf-8")
            for name in _INCLUDE.findall(seen[path]):
                add((path.parent / name).resolve())

    add(file.resolve())
    return "\0".join(seen.values()).encode()


def _digest(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:20]


class Build:
    """One run of the compiler over all levels asked for."""

    def __init__(self, compiler: Compiler, tell: Callable[[str], None], objects: Path) -> None:
        self._compiler = compiler
        self._objects = objects
        self._tell = tell
        self._used: set[Path] = set()
        self._headers: dict[str, Path] = {}
        self._locks = {level: Lock() for level in levels()}

    def libraries(self, wanted: Iterable[str], out: Path) -> list[Path]:
        """Libraries of these levels in `out`, where those of others, maybe of older sources, go. Raises BuildError."""
        wanted = list(wanted)
        try:
            out.mkdir(parents=True, exist_ok=True)
            self._objects.mkdir(parents=True, exist_ok=True)
            list_kernels()
            runtime = self._compiler.runtime()
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                try:
                    shared = [pool.submit(self._runtime, runtime)] if runtime else []
                    jobs = dict.fromkeys((unit.compiled_for(level), unit) for level in wanted for unit in units())
                    made = {job: pool.submit(self._object, *job) for job in jobs}
                    # This thread links a level while the pool compiles units of the next ones.
                    linked = [self._link(level, self._parts(level, made) + shared) for level in wanted]
                except BaseException:
                    pool.shutdown(cancel_futures=True)
                    raise
            done = [self._put(level, library, out) for level, library in zip(wanted, linked, strict=True)]
            for other in set(out.glob("gpumerge-*.so")) - set(done):
                other.unlink()
        except OSError as error:
            raise BuildError(f"{error.filename}: {error.strerror}") from None
        finally:
            for header in self._headers.values():
                header.unlink(missing_ok=True)
        self._forget()
        return done

    def launcher(self, target: Path) -> Path:
        """The program of launcher.cpp at `target`. Raises BuildError."""
        source = KERNELS / "launcher.cpp"
        # It needs nothing of the C++ library, whichever that is.
        flags: list[str | Path] = [*self._compiler.flags(""), "-fno-exceptions", "-fno-rtti", "-s", "-Wl,--as-needed"]
        flags += ["-nostdlib++", "-rtlib=none"] if self._compiler.zig else []
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._objects.mkdir(parents=True, exist_ok=True)
            self._copy(self._make("launcher", "", [*flags, source], source.read_bytes()), target)
        except OSError as error:
            raise BuildError(f"{error.filename}: {error.strerror}") from None
        self._forget()
        return target

    def _parts(self, level: str, made: dict[tuple[str, Unit], Future[Path]]) -> list[Future[Path]]:
        """The objects of a level's library, the best first: the linker keeps the first copy of an inline function."""
        ordered = sorted(units(), key=lambda unit: levels().index(unit.compiled_for(level)), reverse=True)
        return [made[unit.compiled_for(level), unit] for unit in ordered]

    def _header(self, level: str) -> list[str | Path]:
        """The flags by which a unit takes the standard headers as the compiler parsed them before."""
        with self._locks[level]:
            if level not in self._headers:
                # Other compilers than zig look for a parsed header beside the name that they include.
                suffix = "pch" if self._compiler.zig else "hpp.gch"
                made = self._objects / f"standard-{level}.{os.getpid()}.{suffix}"
                source = KERNELS / "cpu" / "standard.hpp"
                flags = [*self._compiler.flags(level), "-x", "c++-header", str(source), "-o", str(made)]
                self._compiler.run(flags, "the standard headers of the CPU's library cannot be built")
                self._headers[level] = made
        made = self._headers[level]
        return ["-include-pch", made] if self._compiler.zig else ["-include", made.with_suffix("")]

    def _object(self, level: str, unit: Unit) -> Path:
        macros = [*unit.macros, "-Wno-unused-function", "-Wno-unused-const-variable"]
        if unit.source.stem == "about":
            macros += [f'-DLEVEL="{level}"', f'-DVERSION="{version()}"']
        flags: list[str | Path] = [*self._compiler.flags(level), *macros, "-c", unit.source]
        return self._make(f"{unit.name}-{level}", ".o", flags, _text(unit.source), lambda: self._header(level))

    def _runtime(self, sources: list[Path]) -> Path:
        """The object of the C++ library's sources. They are one unit, as each would parse the same headers anew."""
        lib = self._compiler.zig
        assert lib is not None
        text = "".join(f'#include "{source.relative_to(lib)}"\n' for source in sources)
        whole = self._objects / f"runtime.{os.getpid()}.cpp"
        whole.write_text(text, "utf-8")
        places = [f"-I{lib / place}" for place in ("", "libcxxabi/include", "libcxxabi/src", "libcxx/src")]
        flags = [*self._compiler.flags(levels()[0]), "-std=c++23", "-w", *places]
        flags += [*(f"-D{name}" for name in _RUNTIME_MACROS), "-c"]
        try:
            return self._make("runtime", ".o", flags, text.encode(), lambda: [whole])
        finally:
            whole.unlink()

    def _link(self, level: str, objects: list[Future[Path]]) -> Path:
        # Nothing but the entries is seen outside, so another C++ library in the process is never mistaken for this one.
        flags: list[str | Path] = ["-shared", "-s", "-Wl,-z,defs", "-Wl,--gc-sections"]
        flags.append(f"-Wl,--version-script={KERNELS / 'cpu' / 'exports.map'}")
        if self._compiler.zig:
            # Not for the level: what the compiler adds is then the same for all.
            # No compiler-rt, which takes longer to build than to link all: nothing calls it, and -z defs would tell.
            flags += [*self._compiler.flags(""), "-nostdlib++", "-rtlib=none", "-lunwind"]
        else:
            flags += self._compiler.flags(level)
        return self._make(f"gpumerge-{level}", ".so", [*flags, *(each.result() for each in objects)], b"")

    def _put(self, level: str, made: Path, out: Path) -> Path:
        target = out / f"gpumerge-{level}.so"
        self._copy(made, target)
        os.utime(target)  # newer than its sources
        return target

    def _copy(self, made: Path, target: Path) -> None:
        if not target.exists() or target.read_bytes() != made.read_bytes():
            # Another process may have the old one mapped.
            part = target.with_suffix(f".{os.getpid()}.part")
            part.write_bytes(made.read_bytes())
            part.chmod(0o755)
            os.replace(part, target)

    def _make(
        self,
        name: str,
        suffix: str,
        flags: list[str | Path],
        text: bytes,
        more: Callable[[], list[str | Path]] = list,
    ) -> Path:
        """The compiler's output for `flags` and `more`, or the kept one. text: the content of the files named."""
        digest = _digest(self._compiler.identity, [self._compiler.anywhere(flag) for flag in flags], text)
        target = self._objects / f"{name}-{digest}{suffix}"
        self._used.add(target)
        if not target.exists():
            self._tell(f"{name}{suffix}")
            part = target.with_name(f"{name}-{digest}.{os.getpid()}.part{suffix}")
            self._compiler.run([*more(), *flags, "-o", part], f"{name}{suffix} of the CPU's library cannot be built")
            os.replace(part, target)
        return target

    def _forget(self) -> None:
        """Remove what only older sources made, and parts that a build left behind."""
        stems = {path.name[: path.name.rindex("-")] for path in self._used}
        for path in self._objects.iterdir():
            if path not in self._used and path.name.rpartition("-")[0] in stems:
                with contextlib.suppress(OSError):
                    # A young part is that of a build beside this one.
                    if ".part" not in path.name or time.time() - path.stat().st_mtime > _STALE:
                        path.unlink()
        cache = self._compiler.zig_cache
        for other in cache.parent.glob("zig*"):  # of compilers that pip has removed
            with contextlib.suppress(OSError):
                if other != cache and time.time() - other.stat().st_mtime > _STALE:
                    shutil.rmtree(other, ignore_errors=True)


def build(
    wanted: Iterable[str] | None = None,
    out: Path = LIBRARIES,
    tell: Callable[[str], None] = lambda what: None,
    objects: Path = OBJECTS,
) -> list[Path]:
    """The libraries of the levels `wanted` (all) in `out`. Raises BuildError.

    objects: where units are kept, of one compiler and its CXXFLAGS: those of others take their place.
    """
    return Build(find_compiler(), tell, objects).libraries(wanted or levels(), out)


def build_launcher(target: Path = LAUNCHER, objects: Path = OBJECTS) -> Path:
    """The program that becomes the command `gpumerge`, at `target`. Raises BuildError."""
    return Build(find_compiler(), lambda what: None, objects).launcher(target)


def _levels_of(text: str) -> Iterator[str]:
    for name in text.split(","):
        found = [level for level in levels() if name in (level, level.rpartition("-")[2])]
        if not found:
            raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(levels())}")
        yield found[0]


def main() -> int:
    """The command line."""
    try:
        return _run()
    except BuildError as error:
        print(f"gpumerge: {error}", file=sys.stderr)
        return 2


def _run() -> int:
    parser = argparse.ArgumentParser(description="Build the CPU's library.")
    parser.add_argument("--levels", type=lambda text: list(_levels_of(text)), help=f"some of {', '.join(levels())}")
    parser.add_argument("--out", type=Path, default=LIBRARIES, metavar="DIR")
    parser.add_argument("--objects", type=Path, default=OBJECTS, metavar="DIR", help="where compiled units are kept")
    parser.add_argument("--verbose", action="store_true", help="say what is compiled")
    given = parser.parse_args()
    for library in build(given.levels, given.out, print if given.verbose else lambda what: None, given.objects):
        print(library)
    return 0


if __name__ == "__main__":
    sys.exit(main())
