import itertools, sys, time
from dataclasses import replace
import cupy, numpy as np
import gpumerge_cli
from gpumerge_cli.backends.gpu import access, many_runs, merging, launching, streams
from gpumerge_cli.backends.gpu.many_runs import MergeOfMany
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.kinds import Order
T0 = time.time()
gpu = access.create()
limits = gpu._limits
rng = np.random.default_rng(8)
many_runs.pays = lambda *given: False

def merger(order, runs):
    return MergeOfMany(gpu._kernels(order), replace(resolve(LaunchRequest(), order, limits, runs), runs=runs))

def queue(steps):
    launching.queue(steps, streams.current_stream())

def timed(work, turns=5):
    work(); work()
    best = []
    for _ in range(turns):
        a, b = cupy.cuda.Event(), cupy.cuda.Event()
        a.record(); t = time.perf_counter(); work(); t = time.perf_counter() - t; b.record(); b.synchronize()
        best.append((cupy.cuda.get_elapsed_time(a, b), t * 1e3))
    best.sort()
    return f"{best[len(best) // 2][0]:.3f}({sorted(x[1] for x in best)[len(best) // 2]:.2f})"

def parts(steps):
    found, last = [], cupy.cuda.Event()
    stream = streams.current_stream()
    last.record()
    for do, size, words, dependent in steps:
        do(size, stream, words, dependent)
        event = cupy.cuda.Event(); event.record()
        found.append((len(words), size, last, event)); last = event
    last.synchronize()
    return " ".join(f"{n}w/{s}b:{cupy.cuda.get_elapsed_time(x, y) * 1e3:.0f}us" for n, s, x, y in found)

order, total = Order.of("int32"), 1 << 28
raw = cupy.random.randint(0, 2**32, total, dtype=np.uint32).view("int32")
out = cupy.empty_like(raw)
usual = merging.partition_stretch
for number in (1000, 64):
    keys = raw.copy()
    edges = [total * at // number for at in range(number + 1)]
    for a, b in itertools.pairwise(edges):
        keys[a:b] = gpumerge_cli.sort(keys[a:b])
    runs = [(keys.data.ptr + a * 4, b - a) for a, b in itertools.pairwise(edges)]
    row = []
    for stretch in (0, 16, 24, 32, 48, 64, 96):
        merging.partition_stretch = (lambda *given, s=stretch: s) if stretch else usual
        merge = merger(order, number)
        row.append(f"{stretch}: {timed(lambda: queue(merge.steps(runs, out.data.ptr, streams.scratch)))}")
    merging.partition_stretch = usual
    print("stretches", number, *row, parts(merger(order, number).steps(runs, out.data.ptr, streams.scratch)), flush=True)

wrong = tried = 0
for dtype in ("float64", "uint8", "int32"):
    for own in (0, 12):
        order = Order.of(dtype, descending=own == 0)
        merging.OWN_CUTS = own
        merging.merge_of.cache_clear()
        for number in (17, 100, 5000):
            for kind in (0, 1):
                total = 300_000
                edges = np.sort(rng.integers(0, total + 1, number - 1))
                if kind:
                    edges = np.sort(np.concatenate([rng.integers(0, total + 1, 3), rng.integers(0, 2000, number - 4)]))
                whole = rng.integers(0, 100, total).astype(dtype)
                stable = lambda keys: keys[np.argsort(order.image(keys), kind="stable")]
                held = np.concatenate([stable(run) for run in np.split(whole, edges)])
                flat = cupy.asarray(held)
                ends = [0, *edges.tolist(), total]
                given = [(flat.data.ptr + a * order.width, b - a) for a, b in itertools.pairwise(ends)]
                room = cupy.full(total + 64, 77, dtype)
                queue(merger(order, number).steps(given, room[19:].data.ptr, streams.scratch))
                found, tried = room.get(), tried + 1
                good = (found[19 : 19 + total].tobytes() == stable(held).tobytes() and (found[:19] == 77).all() and (found[19 + total :] == 77).all())
                wrong += not good
        if time.time() - T0 > 14:
            break
print(f"correct: {tried} tried, {wrong} wrong; {time.time() - T0:.1f} s")
