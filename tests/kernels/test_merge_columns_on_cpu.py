"""Merges of keys with narrow values in arrays of their own, on the CPU under sanitizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_shim import Common
from test_columns_on_cpu import notices, run

from gpumerge_cli.backends.gpu.policy import columns_shared_bytes
from gpumerge_cli.backends.gpu.source import flatten, order_macros
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.kinds import Order

SHAPES = [
    # dtype, descending, bytes of a value, threads a block, items a thread
    ("int32", False, 4, 4, 3), ("uint64", False, 1, 4, 3), ("int64", True, 4, 8, 2), ("float32", False, 8, 4, 3),
    ("float64", True, 2, 3, 5), ("float32", True, 4, 40, 1),
]  # fmt: skip
_DERIVED = ("NARROW", "WIDE_FLOATS", "SIGNED_IMAGES", "FROM_COLUMNS", "TO_COLUMNS", "BATCHED", "WALK", "PARTITION_SIZE")

CHECK = """
// Items at a place that is `offset` of them behind the start of a vector. vectors: the memory is whole vectors, which
// may be read; otherwise no byte behind the items may be touched.
template <typename Word>
struct Array {
    shim::Bytes memory;
    Word* items;
    int offset, count;

    Array(int count, int offset, bool vectors) : offset(offset), count(count)
    {
        const size_t bytes = (count + offset) * sizeof(Word);
        const size_t room = vectors ? (bytes + 15) / 16 * 16 : bytes;
        memory = shim::allocate(room);
        memset(memory.get(), 0xEE, room);
        items = reinterpret_cast<Word*>(memory.get()) + offset;
    }
    bool untouched_ahead() const
    {
        for (size_t at = 0; at < offset * sizeof(Word); ++at)
            if (memory[at] != 0xEE) return false;
        return true;
    }
};

static_assert(apart::STAGED_BYTES == SHARED, "the host asks for other memory");

void check(std::mt19937_64& random)
{
    using apart::Item;
    using apart::Value;
    const apart::Lines lines{};
    const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
    const unsigned long long one = 1;
    const auto key = [&]() -> Item {
        const unsigned long long sign = one << (8 * sizeof(Item) - 1);
        const unsigned long long nan = sizeof(Item) == 4 ? 0x7fc00001 : 0x7ff8000000000001;
        switch (below(9)) {
        case 0: return 0;
        case 1: return static_cast<Item>(sign);
        case 2: return static_cast<Item>(FLOATS && below(3) == 0 ? nan : 1);
        case 3: return static_cast<Item>(FLOATS && below(3) == 0 ? nan | sign : ~0ull >> 1);
        case 4: return static_cast<Item>(random());
        default: return static_cast<Item>(below(5));
        }
    };
    const auto value_of = [](Item item) { return static_cast<Value>((item * 0x9E3779B97F4A7C15ull) >> 40); };
    for (int turn = 0; turn < 60; ++turn) {
        const bool sorted = turn % 3 != 0, by_partition = turn % 2 == 0;
        const int most = turn % 10 == 0 ? 5 * apart::TILE + 3 : 40;
        int counts[2] = {below(most), below(turn % 7 == 0 ? 1 : most)};
        if (counts[0] + counts[1] == 0) counts[below(2)] = 1;
        const int total = counts[0] + counts[1];
        std::vector<Array<Item>> keys;
        std::vector<Array<Value>> values;
        std::vector<std::pair<Item, Value>> expected;
        apart::Columns columns{};
        apart::Runs runs{};
        cut::Runs ends{};
        for (int run = 0; run < 2; ++run) {
            keys.emplace_back(counts[run], below(4), true);
            values.emplace_back(counts[run], below(16), true);
            std::vector<Item> made(counts[run]);
            for (auto& item : made) item = key();
            const auto before = [&](Item y, Item x) { return apart::before(y, x, lines); };
            if (sorted) std::stable_sort(made.begin(), made.end(), before);
            for (int at = 0; at < counts[run]; ++at) {
                keys[run].items[at] = made[at];
                values[run].items[at] = sorted ? static_cast<Value>(100 * run + at) : value_of(made[at]);
                expected.emplace_back(made[at], values[run].items[at]);
            }
            columns.values[run] = values[run].items;
            runs.items[run] = ends.items[run] = keys[run].items;
            columns.counts[run] = runs.counts[run] = ends.counts[run] = counts[run];
        }
        std::stable_sort(expected.begin(), expected.end(),
            [&](const auto& y, const auto& x) { return apart::before(y.first, x.first, lines); });
        Array<Item> out(total, below(4), false);
        Array<Value> moved(total, below(16), false);
        columns.keys = out.items;
        columns.moved = moved.items;
        const long long tiles = (total + apart::TILE - 1) / apart::TILE, edges = tiles + 1;
        std::vector<long long> cuts(2 * edges, -1);
        if (by_partition)
            shim::launch((edges + 4) / 5, 64, 0,
                [&] { cut::partition(ends, cuts.data(), edges, 5, apart::TILE, nullptr, nullptr); });
        const long long own = by_partition ? below(tiles + 1) : tiles;
        shim::launch(tiles, BLOCK, apart::STAGED_BYTES,
            [&] { apart::merge_columns(runs, nullptr, cuts.data(), own, nullptr, nullptr, columns); });
        if (!out.untouched_ahead() || !moved.untouched_ahead()) exit(3);
        for (int at = 0; at < total; ++at) {
            const Item item = out.items[at];
            if (sorted && item != expected[at].first) exit(4);
            if (moved.items[at] != (sorted ? expected[at].second : value_of(item))) exit(5);
        }
    }
}
"""


def program(
    seed: int, change: Callable[[str], str] = lambda text: text, shapes: Sequence[tuple[Any, ...]] = SHAPES
) -> str:
    """The kernel in these shapes, and their checks."""
    parts = ["#include <algorithm>", "#include <cstdlib>", "#include <random>", '#include "shim.hpp"']
    for number, (dtype, descending, value, threads, items) in enumerate(shapes):
        order = Order.of(dtype, descending=descending)
        policy = LaunchPolicy("path", threads, items, threads * items, fan_in=2, transfer="bulk")
        shared = columns_shared_bytes(policy, order.width, value)
        said = {
            **dict(order_macros(order)), "RUNS": 2, "BULK": 1, "VALUE_SIZE": value, "BLOCK_SIZE": threads,
            "ITEMS_PER_THREAD": items, "BLOCK": threads, "FLOATS": int(dtype.startswith("float")), "SHARED": shared,
        }  # fmt: skip
        parts += [f"#undef {macro}" for macro in (*_DERIVED, "RECORD_SIZE")]
        parts += [f"#undef {macro}\n#define {macro} {what}" for macro, what in said.items()]
        common = Common(change)
        parts.append(f"namespace shape_{number} {{\n{common.text}")
        for name, file in (("apart", "merge_columns.cu"), ("cut", "partition.cu")):
            text = change(flatten(file)).replace('extern "C"', "")
            text = re.sub(r"extern __shared__ .*shared_bytes\[\];", "using shim::shared_bytes;", text)
            parts.append(f"namespace {name} {{\n{common.left_out_of(text)}\n}}")
        parts.append(f"{CHECK}\n}}")
    checks = " ".join(f"shape_{at}::check(random);" for at in range(len(shapes)))
    return "\n".join((*parts, f"int main() {{ std::mt19937_64 random({seed}); {checks} }}"))


def test_merges_of_a_shape(tmp_path: Path, seed: int, rng: np.random.Generator) -> None:
    """Each test run takes another: all of them take long to compile."""
    shapes = [SHAPES[rng.choice(len(SHAPES))]]
    done = run(program(seed, shapes=shapes), "address", tmp_path)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-6000:]}"


@pytest.mark.thorough
@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_merges(tmp_path: Path, seed: int, sanitizer: str) -> None:
    done = run(program(seed), sanitizer, tmp_path)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-6000:]}"


@pytest.mark.thorough
@pytest.mark.parametrize("protects", ["the layout is written", "every thread has read", "both are whole"])
def test_the_missing_barrier_is_noticed(tmp_path: Path, seed: int, protects: str) -> None:
    def change(text: str) -> str:
        return re.sub(rf"__syncthreads\(\);(  // {protects})", r"\1", text)

    assert change(flatten("merge_columns.cu")) != flatten("merge_columns.cu")
    done = run(program(seed, change), "thread", tmp_path)
    assert notices(done), done.stderr[-6000:]
