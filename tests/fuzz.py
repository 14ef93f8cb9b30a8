"""Random merges and sets on one backend, each held against a plain stable sort, or the plain rule of sets.

python3 -m tests.fuzz --cases 20000 --seed 1 --backend gpu --workers 8 -o fuzz.txt
python3 -m tests.fuzz --seed 1 --backend gpu --only 1234

The seed and the number decide a case. Cases of one order run one after the other, so that its kernels stay compiled.
Path is compiled for each launch shape, so it gets few shapes. A third of the cases are sets. In a quarter of the cases
the runs are not in order and not checked: then the output must hold the same items, or on a GPU as many items, and a
set must hold nothing but items of the runs. A quarter of the cases go through files, in chunks within a random budget
of memory, and the others through a workspace. Some of those through files count equal items. Cases run in processes of
their own, so a crash is reported as wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.select import select
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.kinds import TextOrder
from tests.apart import each
from tests.fuzz_cases import ORDERS, Case, Runs, drawn, end_of, key_by, place_of, sorted_lines, sorted_records
from tests.jobs_of import merge_job
from tests.linekeys import key_of
from tests.oracles import first_keys, first_records, merged_keys
from tests.reference import set_of
from tests.strategies import as_text

_SHOWN = 10
_BATCH = 500


def expected(case: Case, runs: Runs) -> bytes:
    """The bytes of the right output, and of its counts behind it if they lie apart."""
    if case.count:
        all_items = replace(case, count="", equals=case.equals if case.is_set else Equals.ALL)
        return _with_counts(case, expected(all_items, runs))
    if case.is_set:
        return _expected_set(case, runs, case.equals)
    keeps_all, skipped = case.equals.keeps_all, int(case.equals is Equals.FIRST_CONTINUED)
    if case.order.record:
        records = sorted_records([record for run in runs for record in run], case.order)
        if not keeps_all and records:
            records = first_records(records, *place_of(case.order))[skipped:]
        return b"".join(records)
    if not isinstance(case.order, TextOrder):
        keys: NDArray[Any] = merged_keys(runs, descending=case.order.descending)  # type: ignore[arg-type]
        if not keeps_all:
            keys = first_keys(keys)[skipped:]
        return keys.tobytes()
    lines = sorted_lines([line for run in runs for line in run], case.order)
    if not keeps_all:
        same = key_by(case.order)
        firsts = [line for at, line in enumerate(lines) if at == 0 or same(line) != same(lines[at - 1])]
        lines = firsts[skipped:]
    return as_text(lines, end_of(case.order))


def _with_counts(case: Case, text: bytes) -> bytes:
    """The first of equal neighbours among sorted items, which are given as bytes, and their numbers."""
    order, end = case.order, b""
    if isinstance(order, TextOrder):
        end = end_of(order)
        items = text.split(end)[:-1]
    else:
        size = order.item_bytes
        items = [text[at : at + size] for at in range(0, len(text), size)]
    firsts, numbers = [], []
    for _, group in groupby(items, key_of(order)):
        first, *others = group
        firsts.append(first + end)
        numbers.append(1 + len(others))
    if case.count == "apart":
        return b"".join(firsts) + np.array(numbers, "<u8").tobytes()
    both = zip(firsts, numbers, strict=True)
    if case.count == "ahead":
        return b"".join(b"%7d " % number + line for line, number in both)
    return b"".join(line[:-1] + b"\t%d" % number + end for line, number in both)


def _expected_set(case: Case, runs: Runs, equals: Equals) -> bytes:
    if case.order.record or isinstance(case.order, TextOrder):
        end = b"" if case.order.record else end_of(case.order)
        items: list[list[bytes]] = runs  # type: ignore[assignment]
        return b"".join(item + end for item in set_of(items, key_of(case.order), equals))
    size = case.order.item_bytes
    numbered = []
    for run in map(np.asarray, runs):
        keys, images = run.tobytes(), case.order.image(run).tolist()
        numbered.append([(image, keys[at * size : (at + 1) * size]) for at, image in enumerate(images)])
    return b"".join(key for _, key in set_of(numbered, itemgetter(0), equals))


def _data(case: Case, runs: Runs) -> list[bytes]:
    """The runs as bytes of files."""
    end = end_of(case.order) if isinstance(case.order, TextOrder) else b""
    return [as_text(run, end) if isinstance(run, list) else run.tobytes() for run in runs]


def _text(case: Case, runs: Runs) -> bytes:
    return b"".join(_data(case, runs))


def _items(case: Case, data: bytes) -> list[bytes]:
    """The items of a file, sorted in some fixed order, to compare them with other items."""
    if isinstance(case.order, TextOrder):
        return sorted(data.split(end_of(case.order)))
    size = case.order.item_bytes
    return sorted(data[at : at + size] for at in range(0, len(data), size))


def merged(case: Case, runs: Runs, backend: Backend) -> bytes:
    """The backend's output, into memory that held something else. Raises AssertionError for a false disorder."""
    data = _data(case, runs)
    total = sum(map(len, data))
    workspace = backend.workspace(case.order, max(1, total), threads=case.threads)
    try:
        workspace.staging(total)[:] = np.frombuffer(b"".join(data), np.uint8)
        workspace.upload(list(map(len, data)))
        if not case.disorder:
            assert workspace.disorder() is None, "sorted runs are said to be out of order"
        workspace.poison()
        workspace.merge(case.policy, case.equals)
        return workspace.download().tobytes()
    finally:
        workspace.close()


def merged_files(case: Case, runs: Runs, backend: Backend) -> bytes:
    """The output file of a merge of files within the case's budget; checked if the runs are in order."""
    order = case.order
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, str(number)) for number in range(len(runs))]
        for name, data in zip(names, _data(case, runs), strict=True):
            with open(name, "wb") as file:
                file.write(data)
        if isinstance(order, TextOrder):
            items = Items("text", lines=order.text)
        elif order.record:
            offset, key = place_of(order)
            if isinstance(key, int):
                items = Items("raw", reverse=order.descending, records=RecordRequest(order.record, offset, key))
            else:
                ahead, behind = offset, order.record - offset - key.itemsize
                fields = [f"V{ahead}"] * bool(ahead) + [key.str] + [f"V{behind}"] * bool(behind)
                records = RecordRequest(fields=(f"f{int(ahead > 0)}",))
                items = Items("raw", ",".join(fields), reverse=order.descending, records=records)
        else:
            items = Items("raw", order.dtype.name, reverse=order.descending)
        output = os.path.join(folder, "out")
        counts = os.path.join(folder, "counts") if case.count == "apart" else None
        run_job(
            merge_job(
                names,
                output,
                items,
                Resources(backend.name, threads=case.threads),  # type: ignore[arg-type]
                launch=case.request,
                check=not case.disorder,
                equals=case.equals,
                memory=case.budget,
                margin=Margin(case.count, file=counts) if case.count else None,  # type: ignore[arg-type]
            )
        )
        found = b""
        for name in (output, *([counts] if counts else [])):
            with open(name, "rb") as file:
                found += file.read()
        return found


def problem(case: Case, runs: Runs, backend: Backend) -> str:
    """The error in the backend's output, or "" if it is right."""
    try:
        found = merged(case, runs, backend) if case.budget is None else merged_files(case, runs, backend)
    except Exception as error:  # whatever it is, it is this case's
        if isinstance(error, DisorderError) and case.disorder and backend.name == "gpu":
            return ""  # lines taken twice or not at all did not make up the output
        return f"{type(error).__name__}: {error}"
    if case.disorder and case.is_set:
        whole = _text(case, runs)
        strange = set(_items(case, found)) - set(_items(case, whole))
        return "the output holds other items" if strange or len(found) > len(whole) else ""
    if case.disorder and backend.name == "gpu":  # whose threads' shares may overlap then
        return "" if len(found) == len(_text(case, runs)) else "the output has another size"
    if case.disorder:
        return "" if _items(case, found) == _items(case, _text(case, runs)) else "the output holds other items"
    right = expected(case, runs)
    if found == right:
        return ""
    at = next((at for at, (a, b) in enumerate(zip(found, right, strict=False)) if a != b), min(len(found), len(right)))
    return f"wrong from byte {at} on: {len(found)} bytes, {len(right)} expected"


def run(
    backend: Backend, seed: int, numbers: Sequence[int], told: Callable[[str], None] = print
) -> tuple[Counter[str], int]:
    """Run these cases here, and print failures. Returns the number of cases of each kind, and of those that failed."""
    counts: Counter[str] = Counter()
    failures = 0
    for number in sorted(numbers, key=_by_order):
        case, runs = drawn(seed, number, backend)
        counts.update(case.kinds)
        wrong = problem(case, runs, backend)
        if wrong:
            failures += 1
            _tell(f"{case.describe()}: {wrong}", backend.name, seed, number, failures, told)
    return counts, failures


def _by_order(number: int) -> tuple[int, int]:
    return number % len(ORDERS), number


def _tell(wrong: str, backend: str, seed: int, number: int, failures: int, told: Callable[[str], None]) -> None:
    if failures <= _SHOWN:
        told(wrong)
        told(f"  again: python3 -m tests.fuzz --seed {seed} --backend {backend} --only {number}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a case failed."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.fuzz", description="Random merges and sets, held against plain ones."
    )
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="random if not said")
    parser.add_argument("--backend", choices=("gpu", "cpu"), default="cpu")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, help="end after so many, though cases are left")
    parser.add_argument("--only", type=int, metavar="N", help="run case N alone, and show it")
    parser.add_argument("-o", "--output", metavar="FILE", help="write what is printed to a file too")
    wish = parser.parse_args(arguments)
    seed = int.from_bytes(np.random.default_rng().bytes(4)) if wish.seed is None else wish.seed
    lines: list[str] = []

    def tell(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    @lru_cache(maxsize=1)
    def backend() -> Backend:  # never in this process: a GPU that is in use here can be used by no fork
        return select(wish.backend, wish.device, ORDERS[0], None).backend

    def case(number: int, say: Callable[[str], None]) -> tuple[Sequence[str], str]:
        if number < 0:
            return (backend().info().name,), ""
        drawn_case, runs = drawn(seed, number, backend())
        say(drawn_case.describe())
        return drawn_case.kinds, problem(drawn_case, runs, backend())

    numbers = range(wish.cases) if wish.only is None else [wish.only]
    (asked,) = each(case, [-1])
    tell(f"seed {seed}, {len(numbers)} cases on {wish.backend}: {asked.wrong or asked.kinds[0]}")
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    done = failures = 0
    for ended in each(case, sorted(numbers, key=_by_order), workers=wish.workers, batch=_BATCH):
        counts.update(ended.kinds)
        if ended.wrong:
            failures += 1
            _tell(ended.wrong, wish.backend, seed, ended.number, failures, tell)
        done += 1
        if wish.seconds and time.monotonic() - begun > wish.seconds:
            break
    for kind, count in sorted(counts.items()):
        tell(f"  {count:6} {kind}")
    left = f", {len(numbers) - done} not run" if done < len(numbers) else ""
    tell(f"{done - failures} of {len(numbers)} right{left}, in {time.monotonic() - begun:.0f} s")
    if wish.output:
        with open(wish.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
