"""The steps of operations give kernels as many arguments as these declare, as NVRTC has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu import module
from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.grouping import Grouping
from gpumerge_cli.backends.gpu.launching import Step, copy, zeros
from gpumerge_cli.backends.gpu.many_runs import MergeOfMany
from gpumerge_cli.backends.gpu.merging import Merge
from gpumerge_cli.backends.gpu.policy import for_columns, resolve
from gpumerge_cli.backends.gpu.radix import SortByDigits
from gpumerge_cli.backends.gpu.rank_sort import RankSort
from gpumerge_cli.backends.gpu.ranking import DeviceRanks
from gpumerge_cli.backends.gpu.selecting import DeviceSelection
from gpumerge_cli.backends.gpu.sort_policy import pair_order, resolve_sort
from gpumerge_cli.backends.gpu.sorting import Sort
from gpumerge_cli.backends.gpu.source import compiler_options, flatten
from gpumerge_cli.backends.gpu.strings import DeviceStrings
from gpumerge_cli.backends.gpu.text_kernels import TextKernels
from gpumerge_cli.backends.gpu.tree import NO_TEXT
from gpumerge_cli.backends.gpu.walks import Walk
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.dataclass import replace
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

FEW, SOME, MANY = 1000, 50_000, 1 << 27
KEYS = Order.of("int32")
Unit = tuple[str, tuple[str, ...]]


def room(nbytes: int) -> Any:
    return SimpleNamespace(ptr=1 << 40)


def kernels(order: Order) -> module.Kernels:
    return module.Kernels(0, order, TUNED_ON)


def merges() -> Iterator[Iterable[Step]]:
    """Launches of merges: of keys by every kernel, of narrow keys, of many runs, and of keys with values."""
    runs = [(0, MANY // 2)] * 2
    for request in (*(LaunchRequest(name) for name in ("basic", "circular", "path")), LaunchRequest(fan_in=4)):
        yield Merge(kernels(KEYS), resolve(request, KEYS, TUNED_ON)).table(runs, 0, room)
    for load in ("full", "exact"):
        yield Merge(kernels(KEYS), resolve(LaunchRequest("tiled", tile_load=load), KEYS, TUNED_ON)).table(runs, 0, room)
    narrow = Order.of("uint8")
    yield Merge(kernels(narrow), resolve(LaunchRequest(), narrow, TUNED_ON)).table(runs, 0, room)
    many = replace(resolve(LaunchRequest(), KEYS, TUNED_ON, 900), runs=900)
    yield MergeOfMany(kernels(KEYS), many).steps([(1024 * run, 7) for run in range(900)], 1 << 30, room)
    for value_bytes in (None, 4, 100):
        columns = Columns(KEYS, 2, value_bytes)
        order, policy = columns.order, resolve(LaunchRequest(), columns.order, TUNED_ON)
        if columns.stay_apart(policy):
            order, policy = KEYS, for_columns(policy, KEYS.width, columns.narrow)
        merge = Merge(kernels(order), policy, columns)
        yield merge.array_steps([0, 0], [MANY, MANY], 2 * MANY, 0, [] if value_bytes is None else [0, 0], 1, room)


def sorts() -> Iterator[Iterable[Step]]:
    """By every algorithm, by rank, and of keys with values."""
    for algorithm in ("merge", "bottom-up", "iterative", "radix"):
        policy = resolve_sort(SortRequest(algorithm), KEYS, TUNED_ON, 4 * SOME)  # type: ignore[arg-type]
        yield Sort(kernels(KEYS), policy).steps((0, SOME), 1 << 30, room)
    for columns in (None, Columns(KEYS, 1, None), Columns(KEYS, 1, 4)):
        for count in (FEW, 10 * FEW, SOME):
            by_rank = RankSort(kernels(KEYS if columns is None else columns.order), columns, MANY)
            yield by_rank.array_steps([0], [count], count, 1 << 30, [0], 1, room)
    pairs = SortByDigits(kernels(pair_order(KEYS, 4)), pairs=True)
    yield pairs.array_steps([0], [MANY], MANY, 1 << 30, [0], 1, room)


def others() -> Iterator[Iterable[Step]]:
    """Sets, checks, and the kernels for text."""
    for columns in (None, Columns(KEYS, 2, 4)):
        walk = Walk(kernels(KEYS if columns is None else columns.order), Equals.UNION, columns)
        yield walk.steps([(0, SOME)] * 2, (0, MANY), ([0, 0], 1), room, NO_TEXT, 0)
    checks = Checks(kernels(KEYS))
    yield from (
        checks.order((0, SOME), 0, 0),
        checks.any_disorder(0, SOME, 0),
        checks.places((0, SOME), Equals.LAST, 0),
    )
    yield Grouping(kernels(KEYS)).steps((0, SOME), 0, 0, room, 0)
    ranks = DeviceRanks(kernels(KEYS))
    yield ranks.steps([(0, SOME)] * 2, (0, FEW), True, 0)
    yield ranks.ordered_steps([(0, SOME)] * 2, (0, FEW), True, 0, 0)
    found = DeviceSelection(_Keys(), kernels(KEYS))
    yield found.sample_step(0, FEW), found.select_step(5, SOME, 3, (0, FEW), 0)
    strings, keys = DeviceStrings(kernels(Order.lines())), _Keys()
    yield strings.words_step((keys, keys), (keys, keys), (keys, keys))
    yield strings.compare_step((keys, keys), (keys, keys, keys), SOME, keys)
    for order in (Order.lines(), Order.records(100, 0, 10)):
        yield TextKernels(kernels(order)).steps(10**6, room)


class _Keys:
    """A CuPy array, as far as launches ask for it."""

    data = SimpleNamespace(ptr=1 << 40)

    def __len__(self) -> int:
        return SOME


def declared(unit: Unit) -> dict[str, int]:
    """The bytes of the arguments of each kernel of a compiled file."""
    from cupy.cuda import nvrtc

    file, options = unit
    quick = ("--Ofast-compile=max",) if nvrtc.getVersion() >= (13, 0) else ()
    program = nvrtc.createProgram(flatten(file), file, (), ())
    nvrtc.compileProgram(program, ("-std=c++17", "-arch=compute_90", *quick, *options))
    text = bytes(nvrtc.getPTX(program)).decode()
    nvrtc.destroyProgram(program)
    found = {}
    for name, parameters in re.findall(r"\.entry (\w+)\((.*?)\)", text, re.DOTALL):
        arrays = re.findall(r"\.b8 \w+\[(\d+)\]", parameters)
        found[name] = sum(map(int, arrays)) + 8 * len(re.findall(r"\.[ubsf]64\b", parameters))
        assert len(re.findall(r"\.param ", parameters)) == len(arrays) + len(re.findall(r"\.[ubsf]64\b", parameters))
    return found


@pytest.mark.parametrize("operations", [merges, sorts, others])
def test_arguments_are_those_that_kernels_declare(operations: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from cupy.cuda import nvrtc

    try:
        nvrtc.getVersion()
    except RuntimeError as error:
        pytest.skip(needs.nvrtc(error))
    given: dict[Unit, dict[str, int]] = {}

    def launch(find: Any, threads: int, shared: int) -> Any:
        _, file, name, macros, _ = find.args

        def queue(blocks: int, stream: int, words: Any, dependent: bool) -> None:
            unit = given.setdefault((file, compiler_options(macros)), {})
            assert unit.setdefault(name, 8 * len(words)) == 8 * len(words), name

        return queue

    monkeypatch.setattr(module, "begin_compiling", lambda *unit: None)
    monkeypatch.setattr(module, "Launch", launch)
    for steps in operations():
        for do, size, words, dependent in steps:
            if do not in (zeros, copy):
                do(size, 0, words, dependent)
    with ThreadPoolExecutor(2) as pool:
        for unit, found in zip(given, pool.map(declared, given), strict=True):
            assert {name: found[name] for name in given[unit]} == given[unit], unit
