"""Sorts and merges by rank, of keys and of columns, on the CPU under sanitizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from kernel_shim import Common
from test_columns_on_cpu import notices, run

from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.source import flatten, kernel_directory, order_macros
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.kinds import Order

NUMBERS = None
"""The value bytes of columns whose numbers come out."""
SORT, MERGE = "sort_by_rank.cu", "merge_by_rank.cu"


class Shape(NamedTuple):
    """Both kernels for one order.

    native: the keys in C++. sorting, merging: threads a block. value_bytes: of a row of values; -1 without columns.
    """

    dtype: str
    native: str
    sorting: int
    merging: int
    descending: bool = False
    value_bytes: int | None = -1


SHAPES = [
    Shape("int32", "int", 32, 16),
    Shape("uint8", "unsigned char", 32, 24),
    Shape("int64", "long long", 32, 16, descending=True),
    Shape("float32", "float", 96, 16),
    Shape("uint8", "unsigned char", 64, 16, value_bytes=2),
    Shape("float32", "float", 32, 24, descending=True, value_bytes=8),
    Shape("int64", "long long", 32, 16, value_bytes=NUMBERS),
    Shape("int32", "int", 64, 16, value_bytes=12),
]
OF_ALL_BARRIERS = SHAPES[-1:]
"""Only rows of values are gathered by other threads than those that have their keys."""
KERNELS = {"alone": (SORT, True, True), "tiles": (SORT, True, False), "level": (MERGE, False, False),
           "last": (MERGE, False, True)}  # fmt: skip
"""The file of each kernel, and whether it reads and writes columns."""
_OTHERS = ("RECORD_SIZE", "SIGNED_IMAGES", "FROM_COLUMNS", "TO_COLUMNS", "COLUMNS", "VALUE_SIZE", "VALUE_UNIT")
"""Macros that another shape may have left."""

CHECK = """
// An array that ends where its items end.
template <typename Word>
struct Array {
    shim::Bytes memory;
    Word* items;

    explicit Array(size_t count) : memory(shim::allocate(count * sizeof(Word)))
    {
        memset(memory.get(), 0xEE, count * sizeof(Word));
        items = reinterpret_cast<Word*>(memory.get());
    }
};

typedef std::conditional<sizeof(Native) == 8, unsigned long long,
    std::conditional<sizeof(Native) == 4, unsigned, unsigned char>::type>::type Bits;

bool before(Native y, Native x)
{
    if (DESCENDING) std::swap(y, x);
    return y < x || (y == y && x != x);
}

struct Case {
    int count;
    Array<Bits> keys;
    Array<unsigned char> values;
    std::vector<int> order;

    // Keys with many equal ones, of which `tile` neighbours are sorted at a time.
    Case(std::mt19937_64& random, int count, int tile) : count(count), keys(count), values(count * ROW), order(count)
    {
        const Bits sign = Bits(1) << (8 * sizeof(Bits) - 1), nan = 0x7fc00000;
        const Bits odd[] = {0, sign, Bits(~0ull), Bits(sign - 1), Bits(nan + 1), Bits(sign | nan)};
        const int kinds = random() % 3;
        for (int at = 0; at < count; ++at) {
            const int turn = random() % (kinds == 0 ? 2 : 12);
            keys.items[at] = turn < 6 ? odd[turn] : kinds == 1 ? Bits(random()) : Bits(random() % 5);
        }
        for (int at = 0; at < count * ROW; ++at) values.items[at] = random();
        for (int at = 0; at < count; ++at) order[at] = at;
        const auto native = [&](int at) { return reinterpret_cast<const Native*>(keys.items)[at]; };
        for (int first = 0; first < count; first += tile)
            std::stable_sort(order.begin() + first, order.begin() + std::min(first + tile, count),
                [&](int y, int x) { return before(native(y), native(x)); });
    }
    void judge_keys(const Bits* out) const
    {
        for (int at = 0; at < count; ++at)
            if (out[at] != keys.items[order[at]]) exit(3);
    }
};

#undef TOLD
#undef ITEMS
#if HAS_COLUMNS
#define TOLD(out) , out.columns
#define ITEMS nullptr

template <typename Columns>
struct Output {
    Array<Bits> keys;
    Array<unsigned char> moved;
    Columns columns{};

    Output(const Case& in, bool with_keys) : keys(in.count), moved(in.count * (ROW ? ROW : 8))
    {
        columns.values[0] = in.values.items;
        columns.counts[0] = in.count;
        columns.keys = with_keys ? keys.items : nullptr;
        columns.moved = moved.items;
        columns.units = UNITS;
    }
    void judge(const Case& in) const
    {
        if (columns.keys != nullptr) in.judge_keys(keys.items);
        for (int at = 0; at < in.count; ++at) {
            const int from = in.order[at];
            if (ROW && memcmp(moved.items + at * ROW, in.values.items + from * ROW, ROW)) exit(4);
            if (!ROW && reinterpret_cast<const long long*>(moved.items)[at] != from) exit(5);
        }
    }
};

typedef Output<alone::Columns> Alone;
typedef Output<tiles::Columns> Tiles;
typedef Output<last::Columns> Last;
#else
#define TOLD(out)
#define ITEMS out.keys.items
namespace tiles = alone;
namespace last = level;

struct Output {
    Array<Bits> keys;

    Output(const Case& in, bool) : keys(in.count) {}
    void judge(const Case& in) const { in.judge_keys(keys.items); }
};

typedef Output Alone;
typedef Output Tiles;
typedef Output Last;
#endif

unsigned blocks_of(int count, int tile) { return (count + tile - 1) / tile * ((tile + 31) / 32); }

void check_sort(std::mt19937_64& random, int count, int tile)
{
    const Case in(random, count, tile);
    Alone out(in, ROW || random() % 2);
    shim::launch(blocks_of(count, tile), SORTING, 0,
        [&] { alone::sort_by_rank(in.keys.items, count, tile, ITEMS, nullptr, nullptr TOLD(out)); });
    out.judge(in);
}

// Sorts tiles, and merges `fan_in` runs at a time until each has `whole` items.
void check_merge(std::mt19937_64& random, int count, int tile, int fan_in, int whole)
{
    const Case in(random, count, whole);
    Last out(in, ROW || random() % 2);
    Array<level::Item> rooms[2]{Array<level::Item>(count), Array<level::Item>(count)};
    int here = 0;
    Tiles from(in, false);
    auto* const sorted = reinterpret_cast<tiles::Item*>(rooms[0].items);
    shim::launch(blocks_of(count, tile), SORTING, 0,
        [&] { tiles::sort_by_rank(in.keys.items, count, tile, sorted, nullptr, nullptr TOLD(from)); });
    const unsigned blocks = (count + MERGING - 1) / MERGING;
    long long length = tile;
    for (; fan_in * length < whole; length *= fan_in, here ^= 1)
        shim::launch(blocks, MERGING, 0,
            [&] { level::merge_by_rank(rooms[here].items, length, count, rooms[here ^ 1].items, fan_in); });
    const auto* items = reinterpret_cast<const last::Item*>(rooms[here].items);
    shim::launch(blocks, MERGING, 0, [&] { last::merge_by_rank(items, length, count, ITEMS, fan_in TOLD(out)); });
    out.judge(in);
}

void check(std::mt19937_64& random)
{
    const int warps = SORTING / 32, most = random() % 90;
    for (int count : {1, 31, 33, 100, 256 * warps + 1 + most}) check_sort(random, count, count);
    for (int tile : {7, 32, 45}) check_sort(random, 2 * tile + 1 + random() % tile, tile);
    check_merge(random, 1, MERGING, 2, 1);
    check_merge(random, 7 * MERGING + 5, MERGING, 2, 7 * MERGING + 5);
    for (int fan_in = 2; fan_in <= 8; ++fan_in) {
        const int tile = MERGING * (1 + random() % 2), group = fan_in * tile;
        const bool one_group = random() % 2;  // whose last run is short; otherwise the last group is
        const int count = one_group ? group - random() % tile : group + 1 + random() % group;
        check_merge(random, count, tile, fan_in, random() % 2 ? count : group);
    }
}
"""


def program(seed: int, change: Callable[[str], str] = lambda text: text, shapes: Sequence[Shape] = SHAPES) -> str:
    """The kernels of these shapes, and their checks."""
    parts = ["#include <algorithm>", "#include <cstdlib>", "#include <random>", '#include "shim.hpp"']
    for number, shape in enumerate(shapes):
        order, columns, row, units = Order.of(shape.dtype, descending=shape.descending), None, 0, 0
        if shape.value_bytes != -1:
            columns, row = Columns(order, 1, shape.value_bytes), shape.value_bytes or 0
            order, units = columns.order, row // columns.unit
        said = {"HAS_COLUMNS": int(columns is not None), "ROW": row, "UNITS": units, "Native": shape.native}
        said |= {"SORTING": shape.sorting, "MERGING": shape.merging, **dict(order_macros(order))}
        parts += [f"#undef {macro}" for macro in _OTHERS]
        parts += [f"#undef {macro}\n#define {macro} {what}" for macro, what in said.items()]
        common = Common(change)
        parts.append(f"namespace shape_{number} {{\n{common.text}")
        for name, (file, reads, writes) in KERNELS.items():
            macros: Macros = (("BLOCK_SIZE", shape.sorting if file == SORT else shape.merging),)
            if columns is not None:
                macros += columns.macros(reads=reads, writes=writes)
            elif name in ("tiles", "last"):
                continue
            parts += [f"#undef {macro}\n#define {macro} {what}" for macro, what in macros]
            text = change(flatten(file)).replace('extern "C"', "")
            parts.append(f"namespace {name} {{\n{common.left_out_of(text)}\n}}")
        parts.append(f"{CHECK}\n}}")
    checks = " ".join(f"shape_{at}::check(random);" for at in range(len(shapes)))
    return "\n".join((*parts, f"int main() {{ std::mt19937_64 random({seed}); {checks} }}"))


def test_sorts_and_merges_of_a_shape(tmp_path: Path, seed: int, rng: np.random.Generator) -> None:
    """Each test run takes another: all of them take long to compile."""
    shapes = [SHAPES[rng.choice(len(SHAPES))]]
    done = run(program(seed, shapes=shapes), "address", tmp_path)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-6000:]}"


@pytest.mark.thorough
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sorts_and_merges(tmp_path: Path, seed: int, sanitizer: str) -> None:
    done = run(program(seed), sanitizer, tmp_path)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-6000:]}"


def barriers(file: str) -> list[str]:
    """The comments of the barriers of a kernel file."""
    text = (kernel_directory() / "gpu" / file).read_text(encoding="utf-8")
    return re.findall(r"__sync(?:threads|warp)\(\);(.*)", text)


BARRIERS = [(file, said) for file in (SORT, MERGE) for said in barriers(file)]


def test_every_barrier_says_what_it_protects() -> None:
    assert len(set(BARRIERS)) == len(BARRIERS)
    assert all(said.startswith("  // ") for _, said in BARRIERS)


@pytest.mark.thorough
@pytest.mark.parametrize(("file", "said"), BARRIERS)
def test_the_missing_barrier_is_noticed(tmp_path: Path, seed: int, file: str, said: str) -> None:
    def change(text: str) -> str:
        return re.sub(rf"__sync(threads|warp)\(\);({said})", r"\2", text) if text == flatten(file) else text

    assert change(flatten(file)) != flatten(file)
    done = run(program(seed, change, OF_ALL_BARRIERS), "thread", tmp_path)
    assert notices(done), done.stderr[-6000:]
