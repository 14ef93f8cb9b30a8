"""The accesses that the page of a merge path shows are those of the kernels' own source, which records each of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends.gpu.source import flatten, order_macros
from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.explain.accesses import block_accesses
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.kinds import Order
from tests import needs

HERE = Path(__file__).parent
ORDER = Order.of("int32")
SEEN = (
    ("before(b[k - 1 - middle], a[middle], lines)", "probed(b[k - 1 - middle], a[middle], lines)", 1),
    ("x = a[i];", "x = seen(a[i]);", 2),
    ("y = b[j];", "y = seen(b[j]);", 2),
    ("out[k] = ", "stored(out[k]) = ", 2),
    ("to[at] = from[at];", "stored(to[at]) = seen(from[at]);", None),
    ("ring[held + at] = source[next + at];", "stored(ring[held + at]) = seen(source[next + at]);", None),
)
"""Accesses in the source, the same with a record of them, and their number; None: not in every kernel."""
RECORD = """
struct Array { const char* name; const Item* begin; long long count; };
inline std::vector<Array> arrays;
inline std::vector<std::string> records;

inline void record(const Item* item, bool store)
{
    std::string& mine = records[blockIdx.x * blockDim.x + threadIdx.x];
    for (const Array& one : arrays)
        if (item >= one.begin && item < one.begin + one.count)
            mine += std::string(" ") + (store ? ">" : "<") + one.name + std::to_string(item - one.begin);
    const Item* const shared = reinterpret_cast<const Item*>(shim::shared_bytes);
    if (item >= shared && item < shared + shared_count) mine += std::string(" ") + (store ? ">" : "<") + "shared" + std::to_string(item - shared);
}

inline const Item& seen(const Item& item) { record(&item, false); return item; }
inline Item& stored(Item& item) { record(&item, true); return item; }

// C++ leaves it open which of the two is read first. A warp reads both.
inline bool probed(const Item& y, const Item& x, Lines lines)
{
    seen(y);
    seen(x);
    return before(y, x, lines);
}
"""
MAIN = """
int main(int, char** argv)
{
    const int m = std::atoi(argv[1]), n = std::atoi(argv[2]), tile = std::atoi(argv[3]);
    const int block = std::atoi(argv[4]), items = std::atoi(argv[5]), blocks = std::atoi(argv[6]);
    std::vector<Item> a(m), b(n), out(m + n);
    for (int i = 0; i < m; ++i) a[i] = std::atoi(argv[8 + i]);
    for (int j = 0; j < n; ++j) b[j] = std::atoi(argv[8 + m + j]);
    const Runs runs{{a.data(), b.data()}, {m, n}};
    arrays = {{"A", a.data(), m}, {"B", b.data(), n}, {"out", out.data(), m + n}};
    shared_count = 2 * tile;
    records.resize(blocks * block);
    shim::launch(blocks, block, 2 * tile * sizeof(Item), [&] { KERNELS });
    for (const std::string& one : records) std::printf("%s\\n", one.c_str());
}
"""
KERNELS = {
    "basic": "merge_basic(runs, out.data(), items, nullptr, nullptr);",
    "tiled": "(argv[7][0] == 'f' ? merge_tiled_full : merge_tiled_exact)(runs, out.data(), items, tile, nullptr, nullptr);",
    "circular": "merge_circular(runs, out.data(), items, tile, nullptr, nullptr);",
}


def recording(kernel: str, folder: Path) -> Path:
    """The program that runs a kernel and prints the accesses of each thread."""
    text = flatten(f"merge_{kernel}.cu").replace('extern "C"', "")
    text = text.replace("extern __shared__ __align__(16) unsigned char shared_bytes[];", "using shim::shared_bytes;")
    for usual, here, times in SEEN:
        assert times is None or text.count(usual) == times, usual
        text = text.replace(usual, here)
    # The record needs items and their order, and comes ahead of the search.
    at = text.index("template <typename Index, typename SequenceA")
    macros = "\n".join(f"#define {name} {value}" for name, value in order_macros(ORDER))
    count = "inline long long shared_count = 0;"
    parts = ['#include "driver.hpp"', macros, text[:at], count, RECORD, text[at:], MAIN.replace("KERNELS", KERNELS[kernel])]
    (folder / "accesses.cpp").write_text("\n".join(parts), encoding="utf-8")
    command = [needs.program("g++"), "-std=c++20", "-O0", "-w", "-pthread", f"-I{HERE}", "accesses.cpp", "-o", "accesses"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    return folder / "accesses"


@pytest.fixture(scope="module", params=["circular", "basic", "tiled"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, recording(request.param, tmp_path_factory.mktemp(request.param))


def shown(a: list[int], b: list[int], policy: LaunchPolicy) -> list[str]:
    """The accesses of the model, as the program prints them."""
    return [
        "".join(f" {'>' if one.store else '<'}{one.memory}{one.at}" for one in thread)
        for block in block_accesses(a, b, policy)
        for thread in block
    ]


@pytest.mark.one_in(3)
def test_accesses_are_those_of_the_kernel(recorded: tuple[str, Path], rng: np.random.Generator) -> None:
    kernel, program = recorded
    for turn in range(40):
        a, b = (np.sort(rng.integers(0, 9, rng.integers(0, 25))).tolist() for _ in range(2))
        tile, block, items, blocks = (int(rng.integers(1, most)) for most in (9, 5, 4, 4))
        load = ("full", "exact")[turn % 2] if kernel == "tiled" else None
        if kernel == "basic":
            policy = LaunchPolicy(kernel, block, items)
            blocks = max(1, ceil_div(len(a) + len(b), block * items))
        else:
            policy = LaunchPolicy(kernel, block, items, tile, load, blocks, staged=True)
        numbers = (len(a), len(b), tile, block, items, blocks, load or "-", *a, *b)
        done = subprocess.run([program, *map(str, numbers)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        expected = done.stdout.split("\n")[:-1]
        found = shown(a, b, policy)
        # Blocks without outputs have no accesses.
        assert found == expected[: len(found)], (turn, policy, a, b)
        assert not re.search(r"\S", "".join(expected[len(found) :])), (turn, policy, a, b)
