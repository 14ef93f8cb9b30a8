"""The accesses that the page of a merge path shows are those of the kernels' own source, which records each of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends.gpu.source import flatten, order_macros
from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.corank import co_rank
from gpumerge_cli.explain.accesses import Access, block_accesses
from gpumerge_cli.explain.path_accesses import path_block_accesses
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
    ("loaded[turn] = staged->sources", "loaded[turn] = seen(staged->sources", None),
    ("[at - staged->window[run]];", "[at - staged->window[run]]);", None),
    ("if (at < vectors) to[at] = loaded[turn];", "if (at < vectors) stored(to[at]) = loaded[turn];", None),
    (
        "const Item x = a[middle], y = b[k - 1 - middle];",
        "const Item x = seen(a[middle]), y = seen(b[k - 1 - middle]);",
        None,
    ),
    (
        "*reinterpret_cast<const Item*>(shared_bytes + byte)",
        "seen(*reinterpret_cast<const Item*>(shared_bytes + byte))",
        None,
    ),
    ("to[turn] = share.get(turn);", "stored(to[turn]) = share.get(turn);", None),
    (
        "reinterpret_cast<uint4*>(to + head)[at] = reinterpret_cast<const uint4*>(from + head)[at];",
        "stored(reinterpret_cast<uint4*>(to + head)[at]) = seen(reinterpret_cast<const uint4*>(from + head)[at]);",
        None,
    ),
    ("words[at] = staged[at];", "stored(words[at]) = seen(staged[at]);", None),
)
"""Accesses in the source, the same with a record of them, and their number; None: not in every kernel."""
RECORD = """
struct Array { const char* name; const Item* begin; long long count; };
inline std::vector<Array> arrays;
inline std::vector<std::string> records;

inline void record(const void* at, int bytes, bool store)
{
    std::string& mine = records[blockIdx.x * blockDim.x + threadIdx.x];
    const char* const from = static_cast<const char*>(at);
    const auto add = [&](const char* name, const void* begin, long long count) {
        const long long byte = from - static_cast<const char*>(begin);
        // Whole vectors are read, which may begin ahead of an array and end behind it.
        if (byte >= 0 && byte < count * static_cast<long long>(sizeof(Item)))
            mine += std::string(store ? " >" : " <") + name + std::to_string(byte) + "+" + std::to_string(bytes);
    };
    for (const Array& one : arrays) add(one.name, one.begin, one.count);
    add("shared", shim::shared_bytes, shared_count);
}

template <typename T>
inline T& seen(T& one) { record(&one, sizeof(one), false); return one; }
template <typename T>
inline T& stored(T& one) { record(&one, sizeof(one), true); return one; }

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
    // Arrays begin at vectors, as on a device.
    const auto array = [](long long count) {
        return reinterpret_cast<Item*>(shim::allocate((count + 8) * sizeof(Item)).release());
    };
    Item *const a = array(m), *const b = array(n), *const out = array(m + n);
    for (int i = 0; i < m; ++i) a[i] = std::atoi(argv[8 + i]);
    for (int j = 0; j < n; ++j) b[j] = std::atoi(argv[8 + m + j]);
    const Runs runs{{a, b}, {m, n}};
    arrays = {{"A", a, m}, {"B", b, n}, {"out", out, m + n}};
    shared_count = SHARED / static_cast<long long>(sizeof(Item));
    records.resize(blocks * block);
    std::vector<long long> cuts;
    for (int edge = 0; edge <= blocks; ++edge) {
        const int rank = smaller(edge * tile, m + n), i = std::atoi(argv[8 + m + n + edge]);
        cuts.push_back(i);
        cuts.push_back(rank - i);
    }
    shim::launch(blocks, block, SHARED, [&] { KERNELS });
    for (const std::string& one : records) std::printf("%s\\n", one.c_str());
}
"""
PATH = (8, 4)
"""Threads a block and items a thread of the path kernel, which are compiled in."""
KERNELS = {
    "basic": "merge_basic(runs, out, items, nullptr, nullptr);",
    "tiled": "(argv[7][0] == 'f' ? merge_tiled_full : merge_tiled_exact)(runs, out, items, tile, nullptr, nullptr);",
    "circular": "merge_circular(runs, out, items, tile, nullptr, nullptr);",
    "path": "merge_path(runs, out, cuts.data(), 0, nullptr, nullptr);",
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
    shape = {"RUNS": 2, "BLOCK_SIZE": PATH[0], "ITEMS_PER_THREAD": PATH[1], "BULK": 0} if kernel == "path" else {}
    macros = "\n".join(f"#define {name} {value}" for name, value in (*order_macros(ORDER), *shape.items()))
    shared = "STAGED_BYTES" if kernel == "path" else "2 * tile * sizeof(Item)"
    count = "inline long long shared_count = 0;"
    parts = [
        '#include "driver.hpp"',
        macros,
        text[:at],
        count,
        RECORD,
        text[at:],
        MAIN.replace("KERNELS", KERNELS[kernel]),
    ]
    parts[-1] = parts[-1].replace("SHARED", shared)
    (folder / "accesses.cpp").write_text("\n".join(parts), encoding="utf-8")
    command = [
        needs.program("g++"),
        "-std=c++20",
        "-O0",
        "-w",
        "-pthread",
        f"-I{HERE}",
        "accesses.cpp",
        "-o",
        "accesses",
    ]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    return folder / "accesses"


@pytest.fixture(scope="module", params=["circular", "basic", "tiled", "path"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, recording(request.param, tmp_path_factory.mktemp(request.param))


def cut_of(a: list[int], b: list[int], rank: int) -> int:
    return co_rank(rank, len(a), len(b), lambda j, i: b[j] < a[i])[0]


def shown(a: list[int], b: list[int], policy: LaunchPolicy) -> list[str]:
    """The accesses of the model, as the program prints them."""
    size = ORDER.item_bytes
    path = policy.kernel == "path"
    blocks = path_block_accesses(a, b, policy, size) if path else block_accesses(a, b, policy)

    def line(one: Access) -> str:
        unit = one.unit or size
        return f" {'>' if one.store else '<'}{one.memory}{one.at * unit}+{unit}"

    return ["".join(map(line, thread)) for block in blocks for thread in block]


@pytest.mark.one_in(4)
def test_accesses_are_those_of_the_kernel(recorded: tuple[str, Path], rng: np.random.Generator) -> None:
    kernel, program = recorded
    for turn in range(40):
        most = 25 if kernel != "path" else 90
        a, b = (np.sort(rng.integers(0, most, rng.integers(0, most))).tolist() for _ in range(2))
        tile, block, items, blocks = (int(rng.integers(1, most)) for most in (9, 5, 4, 4))
        load = ("full", "exact")[turn % 2] if kernel == "tiled" else None
        cuts: list[int] = []
        if kernel == "path":
            policy = LaunchPolicy(kernel, *PATH, PATH[0] * PATH[1], transfer="vector")
            tile, blocks = policy.tile_size, ceil_div(len(a) + len(b), policy.tile_size)
            block = policy.block_size
            cuts = [cut_of(a, b, min(edge * tile, len(a) + len(b))) for edge in range(blocks + 1)]
        elif kernel == "basic":
            policy = LaunchPolicy(kernel, block, items)
            blocks = max(1, ceil_div(len(a) + len(b), block * items))
        else:
            policy = LaunchPolicy(kernel, block, items, tile, load, blocks, staged=True)
        numbers = (len(a), len(b), tile, block, items, blocks, load or "-", *a, *b, *(cuts or [0] * (blocks + 1)))
        done = subprocess.run([program, *map(str, numbers)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        expected = done.stdout.split("\n")[:-1]
        found = shown(a, b, policy)
        # Blocks without outputs have no accesses.
        assert found == expected[: len(found)], (turn, policy, a, b)
        assert not re.search(r"\S", "".join(expected[len(found) :])), (turn, policy, a, b)
