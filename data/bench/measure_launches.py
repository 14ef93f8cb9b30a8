"""Time path in other launch shapes. The table in backends/gpu/policy.py was chosen by these times.

python data/bench/measure_launches.py int32 8 384x39x3 512x25x3 320x31x4
python data/bench/measure_launches.py int64 2 384x15x3 256x19x4 --transfer vector --count 2^27

Shapes: threads a block, items a thread, blocks that a multiprocessor should hold at once. Every output is checked.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from statistics import median

from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.variants.rung4_path import path_tile
from gpumerge_cli.cli.parse import parse_count
from gpumerge_cli.compare.bench_cases import Case, items_named
from gpumerge_cli.compare.oracle import oracle
from gpumerge_cli.launch import LaunchRequest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", help="as in gpumerge bench: int32, float64, int32+4")
    parser.add_argument("runs", type=int)
    parser.add_argument(
        "shapes", nargs="*", help="threads x items x blocks, such as 384x39x3; the policy's own comes first"
    )
    parser.add_argument("--count", default="2^28", help="items of output in all")
    parser.add_argument("--shape", default="uniform", help="how the keys interleave")
    parser.add_argument("--transfer", choices=("bulk", "vector"))
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--threads", type=int, default=8, help="of the host, to make and judge")
    wish = parser.parse_args()

    backend = gpu.create()
    case = Case(items_named(wish.items), wish.shape, wish.runs, parse_count(wish.count, "--count"))
    order = case.items.order
    chosen = backend.resolve(LaunchRequest(transfer=wish.transfer), order, wish.runs)
    policies = [chosen]
    for shape in wish.shapes:
        block, items, resident = map(int, shape.split("x"))
        tile = path_tile(block, items, chosen.fan_in)
        policies.append(replace(chosen, block_size=block, items_per_thread=items, tile_size=tile, resident=resident))

    workspace = backend.workspace(order, case.nbytes)
    runs = case.fill(workspace.staging(case.nbytes), 1, wish.threads)
    truth = oracle(runs, order, threads=wish.threads)
    workspace.upload([run.size for run in runs])
    copy = median(workspace.time(workspace.copy) for _ in range(wish.repeat))
    print(f"{case.describe()}: copy {copy * 1e6:.0f} us")
    for policy in policies:
        workspace.poison()
        workspace.merge(policy)
        right = truth.exact(workspace.download())
        seconds = median(workspace.time(partial(workspace.merge, policy)) for _ in range(wish.repeat))
        verdict = "" if right else ", WRONG"
        print(f"{policy.describe()}: {seconds * 1e6:.0f} us, {copy / seconds:.3f} of copy{verdict}")
    workspace.close()


if __name__ == "__main__":
    main()
