"""The rounds that gpumerge path shows are those of the kernels' own source, which tells of each as it goes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends.gpu.source import flatten, order_macros
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.explain.items import TracedRun
from gpumerge_cli.explain.rounds import rounds_of
from gpumerge_cli.explain.shape import launch_shape
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.path import Buffer
from tests import needs

HERE = Path(__file__).parent
ORDER = Order.of("int32")
TOLD = {
    "circular": (
        "feed_a.consume(a_used);",
        "tell(feed_a.ring.items, size, feed_a.ring.head, feed_a.held, a_used);"
        "tell(feed_b.ring.items, size, feed_b.ring.head, feed_b.held, round - a_used);",
    ),
    "tiled": (
        "left.a += a_used;",
        "tell(tile_a, tile, 0, a_count, a_used); tell(tile_b, tile, 0, b_count, round - a_used);",
    ),
}
"""For each kernel: a place where a round is over and its buffers are unchanged, and the code that is put there."""
TELL = """
inline void tell(const int* items, int size, int head, int held, int used)
{
    if (threadIdx.x) return;
    std::printf("%u %d %d %d", blockIdx.x, head, held, used);
    for (int at = 0; at < held; ++at) std::printf(" %d", items[(head + at) % size]);
    std::printf("\\n");
}
"""
MAIN = """
int main(int, char** argv)
{
    const int m = std::atoi(argv[1]), n = std::atoi(argv[2]), tile = std::atoi(argv[3]);
    const int block = std::atoi(argv[4]), items = std::atoi(argv[5]), blocks = std::atoi(argv[6]);
    std::vector<int> a(m), b(n), out(m + n);
    for (int i = 0; i < m; ++i) a[i] = std::atoi(argv[7 + i]);
    for (int j = 0; j < n; ++j) b[j] = std::atoi(argv[7 + m + j]);
    const Runs runs{{reinterpret_cast<const Item*>(a.data()), reinterpret_cast<const Item*>(b.data())}, {m, n}};
    shim::launch(blocks, block, 2 * tile * sizeof(Item), [&] {
        KERNEL(runs, reinterpret_cast<Item*>(out.data()), items, tile, nullptr, nullptr);
    });
}
"""


@pytest.fixture(scope="module", params=["circular", "tiled"])
def telling(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A kernel's name, and the program that runs it and tells of every round."""
    compiler = needs.program("g++")
    kernel = request.param
    text = flatten(f"merge_{kernel}.cu").replace('extern "C"', "")
    text = text.replace("extern __shared__ __align__(16) unsigned char shared_bytes[];", "using shim::shared_bytes;")
    place, said = TOLD[kernel]
    assert text.count(place) == 1
    # With a barrier behind it: other threads are not to load the next round meanwhile.
    text = text.replace(place, said.replace("tell(", "tell((const int*)") + "__syncthreads();" + place)
    macros = "\n".join(f"#define {name} {value}" for name, value in order_macros(ORDER))
    name = "merge_circular" if kernel == "circular" else "merge_tiled_full"
    parts = ['#include "driver.hpp"', macros, TELL, text, MAIN.replace("KERNEL", name)]
    folder = tmp_path_factory.mktemp(kernel)
    (folder / "rounds.cpp").write_text("\n".join(parts), encoding="utf-8")
    command = [compiler, "-std=c++20", "-O0", "-w", "-pthread", f"-I{HERE}", "rounds.cpp", "-o", "rounds"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    return kernel, folder / "rounds"


def told(block: int, buffer: Buffer) -> list[int]:
    """The state of a buffer, as the kernel would print it."""
    unread = [buffer.places[(buffer.head + at) % len(buffer.places)] for at in range(len(buffer.places))]
    keys = [int(place.label) for place in unread if place is not None]
    return [block, buffer.head, len(keys), buffer.used, *keys]


@pytest.mark.one_in(2)
def test_rounds_are_those_of_the_kernel(telling: tuple[str, Path], rng: np.random.Generator) -> None:
    kernel, program = telling
    for turn in range(25):
        a, b = (np.sort(rng.integers(0, 9, rng.integers(0, 25))).astype(np.int32) for _ in range(2))
        tile, block, blocks = (int(rng.integers(1, most)) for most in (8, 4, 4))
        launch = LaunchRequest(kernel, block, tile_size=tile, blocks=blocks)  # type: ignore[arg-type]
        shape = launch_shape(Resources(), launch, ORDER, len(a) + len(b), 1)
        numbers = (len(a), len(b), tile, block, shape.policy.items_per_thread, blocks, *a, *b)
        done = subprocess.run([program, *map(str, numbers)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        expected = [list(map(int, line.split())) for line in done.stdout.splitlines()]
        runs = (TracedRun(keys.view(np.uint8), ORDER, "") for keys in (a, b))
        shown = [told(one.block, buffer) for one in rounds_of(*runs, shape) for buffer in (one.a, one.b)]
        assert shown == expected, (turn, launch, a, b)
