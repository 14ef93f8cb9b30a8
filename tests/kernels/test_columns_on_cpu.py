"""Merges, sorts and sets of keys and values in columns, on the CPU under sanitizers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from kernel_shim import Common, compile_flags
from set_pairs import EVERY_SET

from gpumerge_cli.backends.gpu.source import column_macros, flatten, order_macros, walk_macros
from gpumerge_cli.order.kinds import Order
from tests import needs

SHAPES = [
    # dtype, bytes of a value or 0 for numbers, unit or 0 if numbers come out, units in a row
    ("int32", 4, 0, 0), ("uint8", 2, 0, 0), ("float64", 8, 0, 0), ("int64", 0, 0, 0), ("int16", 0, 0, 0),
    ("int32", 0, 16, 1), ("float32", 0, 1, 3), ("uint64", 0, 8, 5),
]  # fmt: skip
KERNELS = {
    # file, runs, reads, writes
    "pairs": ("merge_path.cu", 2, True, True),
    "fours": ("merge_path.cu", 4, True, True),
    "alone": ("sort_tile.cu", 2, True, True),
    "tiles": ("sort_tile.cu", 2, True, False),
    "level": ("merge_by_rank.cu", 2, False, True),
    "cut": ("partition.cu", 2, True, True),
    "walks": ("walk.cu", 2, True, True),
}
SHAPE = {"BLOCK_SIZE": 4, "ITEMS_PER_THREAD": 3}
OF_SETS = {"PARTITION_SIZE": 6, "STRETCH": 5, "STRIDE": 5, "WALK": 1, "BLOCK_SIZE": 32, "ITEMS_PER_THREAD": 2}
_DERIVED = ("NARROW", "WIDE", "WIDE_FLOATS", "SIGNED_IMAGES", "ALIKE_IF_EQUAL", "KEEPS_IMAGE")

CHECK = """
struct Input {
    std::vector<std::vector<unsigned char>> keys, values;
    std::vector<unsigned char> all_keys, all_values;
    std::vector<long long> order;  // the numbers of all items, in their order
    long long total = 0;
};

Input input(const std::vector<int>& counts, int key, int row, bool sorted)
{
    Input made;
    unsigned seed = 7;
    const auto next = [&] { return static_cast<unsigned char>((seed = seed * 1103515245 + 12345) >> 16); };
    for (int count : counts) {
        std::vector<unsigned> small;
        for (int at = 0; at < count; ++at) small.push_back(next() % 9);
        if (sorted) std::sort(small.begin(), small.end());
        std::vector<unsigned char> keys(count * key), values(count * row);
        // Keys of small numbers: integers in the lowest byte, floats by the exponents in the highest ones.
        for (int at = 0; at < count; ++at) keys[at * key + (FLOATS ? key - 1 : 0)] = small[at];
        for (auto& byte : values) byte = next();
        made.all_keys.insert(made.all_keys.end(), keys.begin(), keys.end());
        made.all_values.insert(made.all_values.end(), values.begin(), values.end());
        made.keys.push_back(keys);
        made.values.push_back(values);
        made.total += count;
    }
    for (long long at = 0; at < made.total; ++at) made.order.push_back(at);
    std::stable_sort(made.order.begin(), made.order.end(), [&](long long x, long long y) {
        const int byte = FLOATS ? key - 1 : 0;
        return made.all_keys[x * key + byte] < made.all_keys[y * key + byte];
    });
    return made;
}

template <typename Columns>
struct Output {
    std::vector<unsigned char> keys, moved;
    Output(const Input& in, int key, int row, Columns* columns, bool with_keys, int units)
        : keys(in.total * key), moved(in.total * (row == 0 ? 8 : row))
    {
        for (size_t run = 0; run < in.keys.size(); ++run) {
            columns->values[run] = in.values[run].data();
            columns->counts[run] = in.keys[run].size() / key;
        }
        columns->keys = with_keys ? reinterpret_cast<decltype(columns->keys)>(keys.data()) : nullptr;
        columns->moved = moved.data();
        columns->units = units;
    }
    void judge(const Input& in, int key, int row, bool with_keys)
    {
        for (long long at = 0; at < in.total; ++at) {
            const long long from = in.order[at];
            if (with_keys && memcmp(&keys[at * key], &in.all_keys[from * key], key)) exit(3);
            if (row == 0 && reinterpret_cast<long long*>(moved.data())[at] != from) exit(4);
            if (row != 0 && memcmp(&moved[at * row], &in.all_values[from * row], row)) exit(5);
        }
    }
};

template <int BYTES> struct Bare { alignas(16) unsigned char bytes[BYTES]; };

// The numbers of the items that go out of a set: a plain walk through both runs.
std::vector<long long> set_of(const Input& in, int m, int key)
{
    const auto small = [&](long long at) { return in.all_keys[at * key + (FLOATS ? key - 1 : 0)]; };
    std::vector<long long> kept;
    int last = -1;
    for (long long a = 0, b = m; a < m || b < in.total;) {
        const bool take_a = a < m && (b == in.total || small(a) <= small(b));
        const bool take_b = b < in.total && (a == m || small(b) <= small(a));
        const long long item = take_a ? a : b;
        const bool goes = (EQUALS & (take_a && take_b ? walks::EQUAL : take_a ? walks::ONLY_A : walks::ONLY_B)) != 0;
        if (goes && !((EQUALS & walks::DISTINCT) && small(item) == last)) kept.push_back(item);
        last = small(item);
        a += take_a;
        b += take_b;
    }
    return kept;
}

void check_sets(bool with_keys)
{
    for (const std::vector<int>& counts : {std::vector<int>{150, 97}, {0, 7}, {3, 0}, {64, 64}, {20, 300}}) {
        Input in = input(counts, KEY_SIZE, ROW, true);
        walks::Columns columns{};
        Output out(in, KEY_SIZE, ROW, &columns, with_keys, UNITS);
        cut::Runs ends{};
        walks::Runs runs{};
        for (int run = 0; run < 2; ++run) {
            ends.keys[run] = reinterpret_cast<const cut::Key*>(in.keys[run].data());
            runs.keys[run] = reinterpret_cast<const walks::Key*>(in.keys[run].data());
            ends.counts[run] = runs.counts[run] = counts[run];
        }
        const long long tiles = (in.total + walks::TILE - 1) / walks::TILE, edges = tiles + 1;
        std::vector<long long> cuts(2 * edges, -1);
        shim::launch((edges + STRETCH - 1) / STRETCH, PARTITION_SIZE, 0,
            [&] { cut::partition(ends, cuts.data(), edges, STRETCH, walks::TILE, nullptr, nullptr); });
        std::vector<walks::Descriptor> descriptors(1 + tiles + walks::GROUP_WORDS * ((tiles + 31) / 32), 0);
        long long count = -1;
        shim::launch(tiles, WALK_BLOCK, walks::STAGED_BYTES, [&] {
            walks::Descriptor* const all = descriptors.data();
            walks::walk(runs, nullptr, in.total, cuts.data(), all, all + 1, &count, nullptr, nullptr, columns);
        }, 2);
        in.order = set_of(in, counts[0], KEY_SIZE);
        in.total = in.order.size();
        if (count != in.total) exit(6);
        out.judge(in, KEY_SIZE, ROW, with_keys);
    }
}

void check()
{
    const bool with_keys = ROW != 0;
    check_sets(with_keys);
    for (const std::vector<int>& counts : {std::vector<int>{40, 23}, {0, 7}, {1, 0}, {30, 64}}) {
        const Input in = input(counts, KEY_SIZE, ROW, true);
        pairs::Columns columns{};
        Output out(in, KEY_SIZE, ROW, &columns, with_keys, UNITS);
        pairs::Source source{};
        for (int run = 0; run < 2; ++run) {
            source.keys[run] = reinterpret_cast<const pairs::Key*>(in.keys[run].data());
            source.counts[run] = counts[run];
        }
        const unsigned blocks = (in.total + pairs::TILE - 1) / pairs::TILE;
        shim::launch(blocks, BLOCK_SIZE, pairs::STAGED_BYTES,
            [&] { pairs::merge_path(source, nullptr, nullptr, 1 << 30, nullptr, nullptr, columns); });
        out.judge(in, KEY_SIZE, ROW, with_keys);
    }
    {
        const std::vector<int> counts{9, 0, 30, 14};
        const Input in = input(counts, KEY_SIZE, ROW, true);
        fours::Columns columns{};
        Output out(in, KEY_SIZE, ROW, &columns, with_keys, UNITS);
        fours::Source source{};
        for (int run = 0; run < 4; ++run) {
            source.keys[run] = reinterpret_cast<const fours::Key*>(in.keys[run].data());
            source.counts[run] = counts[run];
        }
        const unsigned blocks = (in.total + fours::TILE - 1) / fours::TILE;
        shim::launch(blocks, BLOCK_SIZE, fours::STAGED_BYTES,
            [&] { fours::merge_path(source, nullptr, nullptr, 1 << 30, nullptr, nullptr, columns); });
        out.judge(in, KEY_SIZE, ROW, with_keys);
    }
    for (int count : {1, 5, alone::TILE - 1, alone::TILE}) {
        const Input in = input({count}, KEY_SIZE, ROW, false);
        alone::Columns columns{};
        Output out(in, KEY_SIZE, ROW, &columns, with_keys, UNITS);
        const auto keys = reinterpret_cast<const alone::Key*>(in.keys[0].data());
        shim::launch(1, BLOCK_SIZE, alone::STAGED_BYTES,
            [&] { alone::sort_tile(keys, count, alone::TILE, nullptr, nullptr, nullptr, columns); });
        out.judge(in, KEY_SIZE, ROW, with_keys);
    }
    for (int count : {tiles::TILE + 1, 2 * tiles::TILE - 3}) {
        const Input in = input({count}, KEY_SIZE, ROW, false);
        tiles::Columns columns{};
        level::Columns again{};
        Output ignored(in, KEY_SIZE, ROW, &columns, with_keys, UNITS);
        Output out(in, KEY_SIZE, ROW, &again, with_keys, UNITS);
        const shim::Bytes room = shim::allocate((count * sizeof(tiles::Item) + 15) / 16 * 16);
        const auto keys = reinterpret_cast<const tiles::Key*>(in.keys[0].data());
        const auto records = reinterpret_cast<tiles::Item*>(room.get());
        shim::launch(2, BLOCK_SIZE, tiles::STAGED_BYTES,
            [&] { tiles::sort_tile(keys, count, tiles::TILE, records, nullptr, nullptr, columns); });
        const auto sorted = reinterpret_cast<const level::Item*>(room.get());
        shim::launch((count + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE, 0,
            [&] { level::merge_by_rank(sorted, tiles::TILE, count, nullptr, 2, again); });
        out.judge(in, KEY_SIZE, ROW, with_keys);
    }
}
"""


ALL = range(len(SHAPES))


def program(change: Callable[[str], str] = lambda text: text, bulk: int = 0, numbers: Sequence[int] = ALL) -> str:
    """The kernels of these shapes and their checks. Every second has bulk copies, the first of all if `bulk` is 1."""
    parts = ["#include <algorithm>", "#include <cstdlib>", '#include "shim.hpp"']
    for number in numbers:
        dtype, value, unit, units = SHAPES[number]
        keys = Order.of(dtype)
        order = Order.records(max(4, keys.width) + max(4, value), 0, keys.dtype)
        equals = EVERY_SET[number]
        rule = walk_macros(equals, bulk=False)
        parts += [f"#undef {macro}" for macro in _DERIVED]
        parts += [f"#undef {macro}\n#define {macro} {said}" for macro, said in order_macros(order)]
        common = Common(change)
        parts.append(f"namespace shape_{number} {{\n{common.text}")
        for name, (file, runs, reads, writes) in KERNELS.items():
            columns = 1 if file in ("sort_tile.cu", "merge_by_rank.cu") else runs
            macros = {
                **dict(order_macros(order)),
                **dict(column_macros(columns, value, unit, reads=reads, writes=writes)),
                **dict(rule),
                **OF_SETS,
                **(SHAPE if file != "walk.cu" else {}),
                "RUNS": runs,
                "BULK": (bulk + number) % 2,
            }
            parts += [f"#undef {macro}\n#define {macro} {said}" for macro, said in macros.items()]
            text = change(flatten(file)).replace('extern "C"', "")
            text = re.sub(r"extern __shared__ .*shared_bytes\[\];", "using shim::shared_bytes;", text)
            parts.append(f"namespace {name} {{\n{common.left_out_of(text)}\n}}")
        row = value or unit * units
        said = {
            "ROW": row,
            "UNITS": units,
            "FLOATS": int(dtype.startswith("float")),
            "WALK_BLOCK": OF_SETS["BLOCK_SIZE"],
        }
        said |= SHAPE
        parts += [f"#undef {macro}\n#define {macro} {value}" for macro, value in said.items()]
        parts.append(f"{CHECK}\n}}")
    return "\n".join((*parts, f"int main() {{ {' '.join(f'shape_{at}::check();' for at in numbers)} }}"))


def run(text: str, sanitizer: str, folder: Path) -> subprocess.CompletedProcess[str]:
    compiler = needs.program("g++")
    source, built = folder / "columns.cpp", folder / "columns"
    source.write_text(text, encoding="utf-8")
    flags = [*compile_flags(sanitizer), f"-I{Path(__file__).parent}"]
    done = subprocess.run([compiler, *flags, str(source), "-o", str(built)], capture_output=True, text=True)
    if "cannot find -l" in done.stderr:
        pytest.skip(needs.runtime_of(sanitizer))
    assert done.returncode == 0, done.stderr[-4000:]
    command = [str(built)]
    if sanitizer == "thread":
        command = [needs.program("setarch"), "-R", *command]
    environment = {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66", "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, timeout=240)


def notices(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the thread sanitizer found a race, or the program a wrong byte, for which it exits with 3 to 6."""
    return 3 <= done.returncode <= 6 or (done.returncode != 0 and "data race" in done.stderr)


def test_columns_of_a_shape(tmp_path: Path, rng: np.random.Generator) -> None:
    """Each test run takes another: all of them take long to compile."""
    numbers = [int(rng.choice(len(SHAPES)))]
    done = run(program(bulk=int(rng.integers(2)), numbers=numbers), "address", tmp_path)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-6000:]}"


@pytest.mark.thorough
@pytest.mark.parametrize("bulk", [0, 1])
def test_columns(tmp_path: Path, bulk: int) -> None:
    done = run(program(bulk=bulk), "address", tmp_path)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-6000:]}"


@pytest.mark.thorough
def test_no_race(tmp_path: Path) -> None:
    done = run(program(), "thread", tmp_path)
    assert done.returncode == 0, done.stderr[-6000:]


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["sort_tile.cu", "merge_path.cu", "walk.cu"])
def test_the_missing_barrier_is_noticed(tmp_path: Path, file: str) -> None:
    def change(text: str) -> str:
        return re.sub(r"__syncthreads\(\);(  // the records are made)", r"\1", text) if text == flatten(file) else text

    assert change(flatten(file)) != flatten(file)
    done = run(program(change), "thread", tmp_path)
    assert notices(done), done.stderr[-6000:]
