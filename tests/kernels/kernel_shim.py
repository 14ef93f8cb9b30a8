"""Builds the kernels for the CPU, under a sanitizer, and runs cases on them. See shim.hpp.

One program holds many variants. A variant is the kernels for one order and one path shape, in a namespace of its own.
Its text may be changed, to see whether a test notices.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends.gpu.source import flatten, lines_order, moves_rows, order_macros
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import NO_KEYS, LineOrder
from tests import needs
from tests.rungs import GPU_KERNELS, GPU_LADDER, GPU_RUNGS

HERE = Path(__file__).parent
FILES = {
    "keys": "tile.cuh",
    "parts": "partition.cu",
    **{name: f"merge_{name}.cu" for name in GPU_KERNELS},
    "check": "check.cu",
    "sorts": "sort_tile.cu",
    "rows": "rows.cu",
    "text": "text.cu",
    "values": "merge_values.cu",
}
LEVELS = {
    "level_parts": "partition.cu",
    **{f"level_{name}": f"merge_{name}.cu" for name in GPU_KERNELS},
    "level_serial": "sort_serial.cu",
}
"""The same kernels on all runs of a level."""
MERGES = tuple(rung.replace(" ", "_") for rung in GPU_RUNGS)
WORKS = (
    "partition",
    *MERGES,
    "runs_merged",
    "check",
    "mark",
    "rows_merge",
    "rows_check",
    "rows_mark",
    "rows_prefixes",
    "rows_values",
    "rows_compare",
    "sort",
    "rows_sort",
    "serial",
    "level",
    "values",
)
SANITIZERS = {"address": "address,undefined", "thread": "thread"}
_LINE = re.compile(r'#line \d+ "(?:\.\./)?(.*)"')
_SHOWN = 3000  # characters of the beginning and of the end of a program's output
_NEVER_FOUND = "null,object-size,vptr"
"""Checks that find nothing here: the address sanitizer finds null pointers, and -O0 and plain types leave no others."""
EVERY_COMPARISON = (2 << NO_KEYS) - 1
"""The macro COMPARED of kernels that serve all orders of lines."""
_DEFAULTS = {
    "KEY_KIND": 0, "DESCENDING": 0, "ROWS": 0, "RECORD_SIZE": 0, "KEY_OFFSET": 0, "KEY_SIZE": 8, "KEY_BIG_ENDIAN": 0,
    "COMPARED": EVERY_COMPARISON, "KEY_FIELDS": "{KEY_OFFSET, KEY_SIZE, KEY_KIND, KEY_BIG_ENDIAN, DESCENDING}",
}  # fmt: skip
DERIVED = ("NARROW", "WIDE_FLOATS", "SIGNED_IMAGES", "ALIKE_IF_EQUAL", "KEEPS_IMAGE")
"""Macros that the kernels define themselves."""
ALIGNED_SHARED = "extern __shared__ __align__(16) unsigned char shared_bytes[];"


class Common:
    """The headers that all kernels of a variant include. They are compiled once, in a namespace that the kernels use.

    change: changes their text.
    """

    def __init__(self, change: Callable[[str], str] = str) -> None:
        text = change(flatten("../corank.cuh"))
        self.text = f"namespace common {{\n{text}\n}}"
        self._files = _by_file(text)

    def left_out_of(self, text: str) -> str:
        """A flattened text without them. The text as it is if it has them in another form."""
        files = _by_file(text)
        if any(files.get(name) != own for name, own in self._files.items() if own):
            return text
        kept, named = ["using namespace common;"], True
        for line in text.splitlines():
            found = _LINE.fullmatch(line)
            named = found[1] not in self._files if found else named
            kept += [line] * named
        return "\n".join(kept)


def _by_file(text: str) -> dict[str, list[str]]:
    """The lines of each file in a flattened text that are not empty."""
    files: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found:
            lines = files.setdefault(found[1], [])
        elif line:
            lines.append(line)
    return files


@dataclass(frozen=True)
class Variant:
    """The kernels for one order. Those for lines serve every order of lines, unless they are `narrow`.

    narrow: as on a device, they serve only orders whose keys compare in the same ways. partition: threads a block,
    edges a block and the stride of marks. sorts: the kernels of sorts are there, too. on_path: of the merges, those by
    path and by value alone, and no checks. change: takes the flattened text of every file, by its short name, and
    returns it changed.
    """

    order: Order
    path_block: int = 4
    path_items: int = 3
    runs: int = 2
    bulk: int = 0
    partition: tuple[int, int, int] = (6, 5, 2)
    narrow: bool = False
    sorts: bool = False
    on_path: bool = False
    change: Callable[[str, str], str] = field(default=lambda name, text: text)

    def _has(self, name: str) -> bool:
        needs = {"rows": moves_rows(self.order), "text": not self.order.item_bytes, "values": self.takes_values}
        needs |= dict.fromkeys(["sorts", *LEVELS], self.sorts)
        needs |= dict.fromkeys(["check", *(other for other in GPU_KERNELS if other != "path")], not self.on_path)
        return needs.get(name, True)

    @property
    def takes_values(self) -> bool:
        """Whether its items are integers of 8 or 16 bits, which merge_values.cu takes."""
        return self.order.kind in ("int", "uint") and not self.order.is_rows and self.order.width <= 2

    def of_file(self, name: str, changes: Mapping[str, str], undefined: Sequence[str] = ()) -> tuple[str, str]:
        """See source, for the kernels of the file name.cu alone, which name.inl launches.

        changes: texts of the file, which it must hold, and those in their place. undefined: macros of the file.
        """
        text = self.change(name, flatten(f"{name}.cu")).replace('extern "C"', "")
        for usual, here in changes.items():
            assert usual in text, usual
            text = text.replace(usual, here)
        head = "\n".join(f"#define {macro} {value}" for macro, value in order_macros(self.order))
        space = f"{name}_{digest([head, text])}"
        behind = "".join(f"#undef {macro}\n" for macro in undefined)
        return f'{head}\nnamespace {space} {{\n{text}\n#include "{name}.inl"\n}}\n{behind}', space

    def source(self) -> tuple[str, str]:
        """The C++ text of the kernels, and the name of its namespace, which equal texts share."""
        values = {**dict(order_macros(self.order)), "BLOCK_SIZE": self.path_block, "ITEMS_PER_THREAD": self.path_items}
        values |= {"RUNS": self.runs, "BULK": self.bulk, "SUMMED_PER_THREAD": 2}
        values |= {"MOST_VALUES": 3, "HAVE_VALUES": int(self.takes_values), "HAVE_SORTS": int(self.sorts)}
        values["HAVE_LADDER"] = int(not self.on_path)
        if not self.narrow:
            values["COMPARED"] = EVERY_COMPARISON
        values |= dict(zip(("PARTITION_SIZE", "STRETCH", "STRIDE"), self.partition, strict=True))
        lines = [f"#undef {name}" for name in DERIVED]
        lines += [f"#undef {name}\n#define {name} {value}" for name, value in {**_DEFAULTS, **values}.items()]
        head = len(lines)
        common = Common(partial(self.change, "common"))
        lines.append(common.text)
        for name, file in (FILES | LEVELS).items():
            if self._has(name):
                text = self.change(name, flatten(file)).replace('extern "C"', "")
                text = text.replace(ALIGNED_SHARED, "using shim::shared_bytes;")
                lines.append(f"#undef BATCHED\n#define BATCHED {int(name in LEVELS)}")
                lines.append(f"namespace {name} {{\n{common.left_out_of(text)}\n}}")
        lines.append('#include "variant.inl"\n}')
        name = f"variant_{digest(lines)}"
        return "\n".join([*lines[:head], f"namespace {name} {{", *lines[head:]]), name


@dataclass(frozen=True)
class Case:
    """One run of one kernel (`work`; for rows also the kernel `merge`), and the bytes of the right output.

    text: the order of lines. strict: equal neighbours are disorder. loose: the runs are not in order, and the output
    must only have the items of the input.
    """

    variant: int
    work: str
    a: bytes
    b: bytes
    expected: bytes
    m: int = 0
    n: int = 0
    merge: str = "basic"
    block: int = 2
    items: int = 2
    tile: int = 4
    blocks: int = 2
    skews: tuple[int, int, int] = (0, 0, 0)
    text: LineOrder | None = None
    strict: bool = False
    loose: bool = False

    def pack(self) -> bytes:
        order = b"" if self.text is None else lines_order(self.text.table()).tobytes()
        header = struct.pack(
            "18q",
            *(self.variant, WORKS.index(self.work), WORKS.index(self.merge)),
            *(self.block, self.items, self.tile, self.blocks, self.m, self.n, *self.skews),
            *(self.strict, self.loose, len(order), len(self.a), len(self.b), len(self.expected)),
        )
        return header + order + self.a + self.b + self.expected


def _works() -> str:
    """The enumeration and the list of kernels that driver.hpp needs."""
    sizes = {3: "h.items", 5: "h.tile"}
    merges = []
    for variant in GPU_LADDER:
        for load in variant.loads or (None,):
            policy = LaunchPolicy(variant.name, 1, 3, 5, load)
            if not variant.gpu.cut_ahead:
                rung, taken = policy.rung.replace(" ", "_"), [sizes[size] for size in variant.gpu.sizes(policy)]
                blocks = "blocks" if variant.rounds else "ceil_div(total, h.block * h.items)"
                staged = f"{variant.gpu.shared(policy, 1) // policy.tile_size} * h.tile"
                merges.append(
                    f"MERGE({', '.join((rung.upper(), variant.name, f'merge_{rung}', blocks, staged, *taken))})"
                )
    works = f"enum Work : long long {{ {', '.join(work.upper() for work in WORKS)} }};"
    return f"{works}\n#define MERGES_OF_PAIRS(MERGE) {' '.join(merges)}"


def a_sixth_of(cases: Sequence[Case], rng: np.random.Generator) -> list[Case]:
    """Any sixth of the cases, in their order: where all of them take long, each test run takes others."""
    return [cases[at] for at in np.sort(rng.choice(len(cases), -(-len(cases) // 6), replace=False))]


def digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def compile_flags(sanitizer: str) -> list[str]:
    """The arguments of g++ for code of the kernels under a sanitizer.

    Undefined behaviour ends a program without a text, and there is no -g: both would take half of the compiler's time.
    """
    flags = ["-std=c++20", "-O0", "-w", "-fno-strict-aliasing", "-pthread", "-fsanitize-undefined-trap-on-error"]
    return [*flags, f"-fsanitize={SANITIZERS[sanitizer]}", "-fno-sanitize-recover=all", f"-fno-sanitize={_NEVER_FOUND}"]


class Compiler:
    """g++ with a sanitizer. All programs and processes of a test run share its objects.

    directory: a folder that pytest made for this process.
    """

    def __init__(self, sanitizer: str, directory: Path) -> None:
        found = needs.program("g++")
        of_run = directory.parents[1 if "PYTEST_XDIST_WORKER" in os.environ else 0]
        self._folder = of_run / f"kernels-{sanitizer}"
        self._folder.mkdir(exist_ok=True)
        flags = [*compile_flags(sanitizer), f"-I{HERE}", f"-I{self._folder}"]
        self._command = [found, *flags]

    def object_of(self, text: str) -> Path:
        """The object of a C++ text that needs driver.hpp. It is compiled unless that was done before."""
        header = f'{_works()}\n#include "driver.hpp"\n'
        self._once("driver_parsed.hpp", header, ".gch", "-x", "c++-header")
        return self._once(f"{digest([text])}.cpp", f'#include "driver_parsed.hpp"\n{text}\n', ".o", "-c")

    def link(self, objects: Sequence[Path], program: Path) -> str:
        """The linker's errors, "" if there are none."""
        command = [*self._command, *map(str, dict.fromkeys(objects)), "-o", str(program)]
        built = subprocess.run(command, capture_output=True, text=True)
        return built.stderr if built.returncode else ""

    def _once(self, name: str, text: str, suffix: str, *flags: str) -> Path:
        source, target = self._folder / name, self._folder / f"{name}{suffix}"
        with open(self._folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                source.write_text(text, encoding="utf-8")
                part = self._folder / f"{name}.part{suffix}"
                command = [*self._command, *flags, str(source), "-o", str(part)]
                built = subprocess.run(command, capture_output=True, text=True)
                assert built.returncode == 0, built.stderr[-4000:]
                part.replace(target)
        return target


class Program:
    """A built program. `run` returns the exit status and the output, of which the middle may be left out."""

    def __init__(self, variants: Sequence[Variant], sanitizer: str, directory: Path) -> None:
        compiler = Compiler(sanitizer, directory)
        self.variants = list(variants)
        self.directory = directory
        sources = [variant.source() for variant in variants]
        names = [name for _, name in sources]
        declared = "\n".join(f"namespace {name} {{ std::string run(const Case&); }}" for name in dict.fromkeys(names))
        runners = ", ".join(f"{name}::run" for name in names)
        main = f"int main(int, char** argv)\n{{\n    const Runner runners[] = {{{runners}}};\n"
        main += "    return run_cases(argv[1], runners);\n}\n"
        # Files of their own, since a compiler takes more than its share of time and memory for all of them in one.
        texts = [text for text, _ in sources] + [f"{declared}\n\n{main}"]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            objects = list(pool.map(compiler.object_of, texts))
        errors = compiler.link(objects, directory / "program")
        if "cannot find -l" in errors:
            pytest.skip(needs.runtime_of(SANITIZERS[sanitizer]))
        assert not errors, errors[-4000:]
        self._runner = [str(directory / "program")]
        if sanitizer == "thread":
            self._runner = [needs.program("setarch"), "-R", *self._runner]

    def has_race(self, case: Case) -> bool:
        """Whether the thread sanitizer finds a race in one run."""
        status, output = self.run([case])
        return status != 0 and "data race" in output

    def run(self, cases: Sequence[Case], timeout: int = 240) -> tuple[int, str]:
        file = self.directory / "cases.bin"
        file.write_bytes(b"".join(case.pack() for case in cases))
        environment = {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66", "ASAN_OPTIONS": "detect_leaks=0"}
        try:
            done = subprocess.run(
                [*self._runner, str(file)],
                capture_output=True,
                text=True,
                timeout=timeout,
                env=environment,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return -1, f"no end within {timeout} seconds"
        text = done.stdout + done.stderr
        # A sanitizer names the error first, and ahead of its end the names of functions may be long.
        return done.returncode, text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]}\n...\n{text[-_SHOWN:]}"

    def variant_of(self, order: Order) -> int:
        """The number of the first variant for `order`."""
        return next(number for number, variant in enumerate(self.variants) if variant.order == order)


def without_barrier(name: str, which: int) -> Callable[[str, str], str]:
    """A change: file `name` without barrier number `which`, counted in the file and its headers."""

    def change(file: str, text: str) -> str:
        if file != name:
            return text
        place = list(re.finditer(r"__syncthreads\(\);", text))[which]
        return text[: place.start()] + text[place.end() :]

    return change


def barriers(name: str) -> int:
    """The number of barriers in file `name` and its headers."""
    return flatten(FILES[name]).count("__syncthreads();")


def function_around(name: str, which: int) -> str:
    """The name of the function in which barrier number `which` of file `name` stands."""
    text = flatten(FILES[name])
    place = list(re.finditer(r"__syncthreads\(\);", text))[which].start()
    plain = re.sub(r"//.*|__launch_bounds__\([^()]*\)", "", text[:place])
    return re.findall(r"(\w+)\([^;{}]*\)\s*\n\{", plain)[-1]


def merged(order: Order, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The result of a stable merge: both runs, one behind the other, stably sorted by key image."""
    both = np.concatenate([a, b])
    return both[np.argsort(order.image(both), kind="stable")]
