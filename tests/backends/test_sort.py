"""One suite for every backend: every algorithm and shape gives the stable sort."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.cpu import workspace as cpu_workspace
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import ALGORITHMS, LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order, TextOrder
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests import needs
from tests.linekeys import item_key, key_of
from tests.oracles import first_keys, first_records, merged_keys, same_bits, sorted_lines
from tests.strategies import Records, as_text, key_runs, line_runs, record_runs, special_values

_REQUESTS = [
    SortRequest(),
    *(SortRequest(algorithm) for algorithm in ALGORITHMS),
    *(SortRequest(algorithm, LaunchRequest(kernel)) for algorithm in ("merge", "bottom-up") for kernel in KERNELS),  # type: ignore[arg-type]
]
_FAST = [request for request in _REQUESTS if request.algorithm in ("auto", "merge", "radix")]
_SHARED = [request for request in _REQUESTS if request.algorithm != "recursive"]
_KEYED = {
    "-k2,2n -t,": LineOrder((LineKey("numeric", 1, end_field=1),), separator=b","),
    "-k1,1 -k3,3nr": LineOrder(
        (LineKey("bytes", 0, end_field=0), LineKey("numeric", 2, end_field=2, reverse=True)), separator=b","
    ),
    "-V": LineOrder((LineKey("version"),)),
    "-s -k2,2nr": LineOrder((LineKey("numeric", 1, end_field=1, reverse=True),), separator=b",", stable=True),
    "-f": LineOrder((LineKey("bytes", fold=True),)),
}


def name_of(request: SortRequest) -> str:
    return f"{request.algorithm}-{request.launch.kernel}"


def takes(backend: Backend, order: Order, request: SortRequest) -> bool:
    """The library's radix sort on the GPU takes keys of up to 8 bytes; that it says so is tested with its policy."""
    return (
        backend.name != "gpu" or request.algorithm != "radix" or (not isinstance(order, TextOrder) and order.width <= 8)
    )


def sorted_by(
    backend: Backend, order: Order, data: bytes, request: SortRequest, equals: Equals = Equals.ALL, threads: int = 3
) -> bytes:
    """The items through a workspace, as two runs, into an output that held something else before."""
    # Rows that are far more than there was room asked for come out by parts.
    workspace = backend.workspace(order, 1 if len(data) % 2 else len(data), threads=threads)
    try:
        workspace.staging(len(data))[:] = np.frombuffer(data, np.uint8)
        middle = (
            len(data) // 2 if isinstance(order, TextOrder) else len(data) // order.item_bytes // 2 * order.item_bytes
        )
        if isinstance(order, TextOrder):
            middle = data.rfind(bytes([order.text.terminator]), 0, middle) + 1 if order.text else 0
        workspace.upload([middle, len(data) - middle])
        workspace.poison()
        workspace.sort(backend.resolve_sort(request, order, len(data)), equals)
        return workspace.download().tobytes()
    finally:
        workspace.close()


def sorted_by_parts(backend: Backend, order: Order, data: bytes, part: int, equals: Equals = Equals.ALL) -> bytes:
    """The items through a workspace, in and out by parts from several threads."""
    items = np.frombuffer(data, np.uint8)
    workspace = backend.workspace(order, max(1, len(items)), threads=2)

    def bring(at: int) -> None:
        nbytes = min(part, len(items) - at)
        workspace.part(at, nbytes)[:] = items[at : at + nbytes]
        workspace.send(at, nbytes)

    def fetch(at: int) -> bytes:
        return workspace.receive(at, min(part, workspace.merged_bytes - at)).tobytes()

    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(bring, range(0, len(items), part)))
            workspace.adopt([len(items)])
            workspace.sort(backend.resolve_sort(SortRequest(), order, len(items)), equals)
            workspace.synchronize()
            return b"".join(pool.map(fetch, range(0, workspace.merged_bytes, part)))
    finally:
        workspace.close()


@pytest.mark.parametrize("equals", [Equals.ALL, Equals.FIRST])
@settings(max_examples=15)
@given(case=key_runs(most_runs=3), part=st.integers(1, 100))
def test_keys_by_parts(backend: Backend, equals: Equals, case: Any, part: int) -> None:
    runs, descending = case
    keys = np.concatenate(runs)
    order = Order.of(keys.dtype, descending=descending)
    expected = sorted_by(backend, order, keys.tobytes(), SortRequest(), equals)
    assert sorted_by_parts(backend, order, keys.tobytes(), part, equals) == expected


@settings(max_examples=15)
@given(case=line_runs(most_runs=3), part=st.integers(1, 100))
def test_lines_by_parts(backend: Backend, case: Any, part: int) -> None:
    runs, numeric, descending = case
    lines = [line for run in runs for line in run]
    order = Order.lines(numeric=numeric, descending=descending)
    expected = as_text(sorted_lines(lines, numeric=numeric, descending=descending))
    assert sorted_by_parts(backend, order, as_text(lines), part) == expected


def _outputs_by_parts(
    backend: Backend, order: Order, texts: list[bytes], equals: Equals, part: int, long: bool
) -> list[tuple[bytes, bytes]]:
    """Each text sorted plainly, and for `outputs` alone, in one workspace. long: it expects far smaller chunks."""
    found = []
    workspace = backend.workspace(order, 1 if long else max(1, *map(len, texts)), threads=2)
    try:
        for text in texts:
            plain = []
            for by_parts in (False, True):
                workspace.staging(len(text))[:] = np.frombuffer(text, np.uint8)
                workspace.upload([len(text)])
                workspace.sort(backend.resolve_sort(SortRequest(), order, len(text)), equals, by_parts=by_parts)
                with pytest.MonkeyPatch.context() as patches:
                    patches.setattr(cpu_workspace, "RECEIVED_BYTES", part)
                    out = b"".join(one.tobytes() for one in workspace.outputs())
                plain.append((out, workspace.merged_bytes, workspace.dropped))
            assert plain[0] == plain[1]
            found.append((text, plain[1][0]))
    finally:
        workspace.close()
    return found


@pytest.mark.parametrize("equals", [Equals.ALL, Equals.FIRST])
@settings(max_examples=15)
@given(cases=st.lists(line_runs(most_runs=3), min_size=1, max_size=3), part=st.integers(1, 50), long=st.booleans())
def test_outputs_by_parts_are_those_of_a_plain_sort(
    backend: Backend, equals: Equals, cases: list[Any], part: int, long: bool
) -> None:
    texts = [as_text([line for run in runs for line in run]) for runs, _, _ in cases]
    for text, out in _outputs_by_parts(backend, Order.lines(), texts, equals, part, long):
        lines = text.split(b"\n")[:-1]
        assert out == as_text(sorted(lines if equals.keeps_all else set(lines)))


@pytest.mark.parametrize("equals", [Equals.ALL, Equals.FIRST])
def test_records_by_parts_are_those_of_a_plain_sort(backend: Backend, rng: np.random.Generator, equals: Equals) -> None:
    texts = [rng.integers(0, 4, 13 * count, np.uint8).tobytes() for count in (5000, 0, 77)]
    assert _outputs_by_parts(backend, Order.records(13, 2, np.dtype("S3")), texts, equals, 997, False)


@pytest.mark.parametrize("equals", [Equals.ALL, Equals.FIRST])
def test_many_rows_by_parts(backend: Backend, rng: np.random.Generator, equals: Equals) -> None:
    """More rows than are counted together on their way out, and more than the share of one thread."""
    lines = [b"%d" % number * int(times) for number, times in rng.integers(0, 40, (70_000, 2))]
    expected = sorted(lines if equals.keeps_all else set(lines))
    assert sorted_by_parts(backend, Order.lines(), as_text(lines), 77_777, equals) == as_text(expected)
    records = rng.integers(0, 3000, (70_000, 3), np.int32)
    order = Order.records(12, 4, np.dtype(np.int32))
    by_key = records[np.argsort(records[:, 1], kind="stable")]
    first = np.append(True, by_key[1:, 1] != by_key[:-1, 1])
    kept = by_key if equals.keeps_all else by_key[first]
    assert sorted_by_parts(backend, order, records.tobytes(), 60_000, equals) == kept.tobytes()


def sort_keys(backend: Backend, items: NDArray[Any], request: SortRequest, *, descending: bool = False) -> NDArray[Any]:
    order = Order.of(items.dtype, descending=descending)
    return np.frombuffer(sorted_by(backend, order, items.tobytes(), request), items.dtype)


def by_key(order: Order, lines: list[bytes]) -> bytes:
    return as_text(sorted(lines, key=key_of(order)))


@pytest.mark.parametrize("request_", _REQUESTS, ids=name_of)
@settings(max_examples=12)
@given(case=key_runs(most_runs=3), seed=st.integers(0, 2**32 - 1))
def test_keys_equal_numpy_stable_sort(backend: Backend, request_: SortRequest, case: Any, seed: int) -> None:
    runs, descending = case
    items = np.random.default_rng(seed).permutation(np.concatenate(runs))
    result = sort_keys(backend, items, request_, descending=descending)
    assert same_bits(result, merged_keys([items], descending=descending))


@pytest.mark.parametrize("request_", _REQUESTS, ids=name_of)
@settings(max_examples=8)
@given(case=line_runs(most_runs=3), random=st.randoms(use_true_random=False))
def test_lines_equal_a_stable_sort(backend: Backend, request_: SortRequest, case: Any, random: Any) -> None:
    runs, numeric, descending = case
    lines = [line for run in runs for line in run]
    random.shuffle(lines)
    order = Order.lines(numeric=numeric, descending=descending)
    if not takes(backend, order, request_):
        pytest.skip("needs keys that the GPU's radix sort takes, which lines are not; the CPU runs this case")
    result = sorted_by(backend, order, as_text(lines), request_)
    assert result == as_text(sorted_lines(lines, numeric=numeric, descending=descending))


@pytest.mark.parametrize("request_", _REQUESTS, ids=name_of)
@settings(max_examples=8)
@given(case=record_runs(sizes=(1, 3, 12, 100)), seed=st.integers(0, 2**32 - 1))
def test_records_equal_a_stable_sort(backend: Backend, request_: SortRequest, case: Records, seed: int) -> None:
    records = case.all
    shuffled = [records[i] for i in np.random.default_rng(seed).permutation(len(records))]
    case = Records([shuffled], case.size, case.offset, case.key, case.descending)
    assume(takes(backend, case.order, request_))
    assert sorted_by(backend, case.order, b"".join(shuffled), request_) == b"".join(case.merged)


def patterns(dtype: str, count: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Inputs that have broken sorts."""
    kind = np.dtype(dtype)
    bits = rng.integers(0, 256, (count, kind.itemsize), np.uint8)
    random = bits.view(dtype).reshape(-1)
    order = Order.of(dtype)
    ordered = random[np.argsort(order.image(random), kind="stable")]
    # Images that share a long beginning, and those that differ at both ends alone.
    middle = bits.copy()
    middle[:, 1:] = 5
    ends = bits.copy()
    ends[:, 1:-1] = 0
    half = random.copy()
    half[rng.random(count) < 0.5] = 3
    return {
        "random": random,
        "sorted": ordered,
        "reversed": ordered[::-1],
        "all equal": np.full(count, 7).astype(dtype),
        "few values": rng.integers(0, 3, count).astype(dtype),
        "sawtooth": (np.arange(count) % 100).astype(dtype),
        "long common start": middle.view(dtype).reshape(-1),
        "both ends": ends.view(dtype).reshape(-1),
        "half equal": half,
        "specials": rng.choice(special_values(kind), count),
    }


@pytest.mark.one_of_each
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_adversarial_keys(backend: Backend, dtype: str, descending: bool, rng: np.random.Generator) -> None:
    requests = _FAST if dtype in ("uint8", "int32", "float64") else [SortRequest()]
    for count in (3_000, 100_003):
        for shape, items in patterns(dtype, count, rng).items():
            order = Order.of(dtype, descending=descending)
            expected = items[np.argsort(order.image(items), kind="stable")]
            for request in requests:
                result = sort_keys(backend, items, request, descending=descending)
                assert same_bits(result, expected), (shape, count, request)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "dtype",
    ["int16", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("int32", "uint64", "float32", "float64"))],
)
def test_more_keys_than_fit_caches(backend: Backend, dtype: str, rng: np.random.Generator) -> None:
    order = Order.of(dtype)
    for shape, items in patterns(dtype, 1_500_001, rng).items():
        expected = items[np.argsort(order.image(items), kind="stable")]
        assert same_bits(sort_keys(backend, items, SortRequest()), expected), shape


@pytest.mark.parametrize("request_", _REQUESTS, ids=name_of)
def test_sizes_at_the_edges_of_pieces(backend: Backend, request_: SortRequest, rng: np.random.Generator) -> None:
    order = Order.of("uint32")
    tile = backend.resolve_sort(request_, order, 4 << 10).tile
    edges = {1, 8, 16, 24, 25, 32, 64, 1024, 4096} | ({tile, 2 * tile, 3 * tile} if tile < 1 << 20 else set())
    for count in sorted({0} | {edge + d for edge in edges for d in (-1, 0, 1)}):
        if request_.algorithm == "recursive" and count > 5000:
            break
        items = rng.integers(0, 1 + count // 2, count).astype(np.uint32)
        assert same_bits(sort_keys(backend, items, request_), np.sort(items)), count


@pytest.mark.parametrize("request_", _SHARED, ids=name_of)
def test_arrays_and_their_ranks(backend: Backend, request_: SortRequest, rng: np.random.Generator) -> None:
    if backend.name == "gpu":
        cupy = needs.library("cupy")
        there, back, empty = cupy.asarray, cupy.asnumpy, cupy.empty_like
    else:
        there, back, empty = np.asarray, np.asarray, np.empty_like
    for dtype in DTYPES:
        for descending in (False, True):
            for count in (0, 1, 700, 70_001):
                items = rng.choice(special_values(np.dtype(dtype)), count)
                items[: count // 2] = rng.integers(0, 100, count // 2)
                order = Order.of(dtype, descending=descending)
                policy = backend.resolve_sort(request_, order, items.nbytes)
                ranks = np.argsort(order.image(items), kind="stable")
                resident = there(items)
                out = empty(resident)
                backend.sort_array(resident, order, policy, out, threads=3)
                assert same_bits(back(out), items[ranks])
                found = back(backend.sort_ranks(resident, order, policy, threads=3))
                assert found.dtype == np.int64
                assert np.array_equal(found, ranks)
                assert same_bits(back(resident), items)


def keyed_lines(rng: np.random.Generator, count: int) -> list[bytes]:
    names = [b"alpha", b"Alpha", b"beta", b"a-name-longer-than-a-word", b"", b"file1.10", b"file1.9"]
    picks = rng.integers(0, (len(names), 50, 3, 9), (count, 4))
    return [b"%s,%d,%s,%d" % (names[a], b - 25, b"12345678901234567.%d" % c if c else b"", d) for a, b, c, d in picks]


@pytest.mark.parametrize("options", _KEYED)
def test_lines_by_keys(backend: Backend, options: str, rng: np.random.Generator) -> None:
    order = Order.lines(_KEYED[options])
    lines = keyed_lines(rng, 2_000)
    for request in _REQUESTS:
        if takes(backend, order, request):
            assert sorted_by(backend, order, as_text(lines), request) == by_key(order, lines), request


@pytest.mark.one_in(5)
@pytest.mark.parametrize("options", _KEYED)
def test_many_lines_by_keys(backend: Backend, options: str, rng: np.random.Generator) -> None:
    order = Order.lines(_KEYED[options])
    lines = keyed_lines(rng, 70_000)
    assert sorted_by(backend, order, as_text(lines), SortRequest()) == by_key(order, lines)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shape", ["equal", "equal starts", "two groups", "sorted", "reversed", "long", "nuls"])
def test_adversarial_lines(backend: Backend, shape: str, rng: np.random.Generator) -> None:
    count = 140_000 if backend.name == "cpu" else 30_000  # more than the rows that a thread takes at a time
    numbers = rng.permutation(count)
    lines = {
        "equal": lambda: [b"the same line everywhere"] * count,
        # The first line keeps the others' common start from being left out.
        "equal starts": lambda: [b"x", *(b"a start much longer than eight bytes %d" % i for i in numbers)],
        "two groups": lambda: [b"%s start much longer than eight bytes %d" % (b"ab"[i % 2 :][:1], i) for i in numbers],
        "sorted": lambda: [b"%09d" % i for i in range(count)],
        "reversed": lambda: [b"%09d" % i for i in range(count)][::-1],
        "long": lambda: [b"z" * 1_000_000, b"z" * 999_999, b"", *(b"%d" % i for i in numbers)],
        "nuls": lambda: [b"a" + b"\0" * (i % 20) for i in numbers],
    }[shape]()
    text = as_text(lines)
    for descending in (False, True):
        order = Order.lines(descending=descending)
        expected = as_text(sorted(lines, reverse=descending))
        for request in (SortRequest(), SortRequest("merge")):
            assert sorted_by(backend, order, text, request) == expected


@pytest.mark.parametrize("stable", [False, True])
def test_numbers_that_are_written_in_many_ways(backend: Backend, stable: bool, rng: np.random.Generator) -> None:
    forms = (b"%d", b"0%d", b"00%d and what follows", b" %d", b"%d.0", b"%d.00000000000000000001")
    picks = rng.integers(0, (len(forms), 20), (60_000, 2))
    lines = [forms[a] % b for a, b in picks]
    for descending in (False, True):
        order = Order.lines(numeric=True, descending=descending, stable=stable)
        assert sorted_by(backend, order, as_text(lines), SortRequest()) == by_key(order, lines)


@pytest.mark.parametrize(
    ("size", "offset", "key"),
    [
        pytest.param(100, 0, 10, marks=pytest.mark.thorough),
        pytest.param(100, 90, 10, marks=pytest.mark.thorough),
        (16, 0, 8),
        (9, 1, np.dtype(">f8")),
    ],
)
def test_many_records(backend: Backend, size: int, offset: int, key: Any, rng: np.random.Generator) -> None:
    count = 200_003
    width = key if isinstance(key, int) else key.itemsize
    for shape in ("random", "equal prefixes", "all equal", "few"):
        for descending in (False, True):
            records = rng.integers(0, 256, (count, size), np.uint8)
            keys = records[:, offset : offset + width]
            if shape == "equal prefixes":
                keys[:, :8] = 1
            elif shape == "all equal":
                keys[:] = 65
            elif shape == "few":
                keys[:] = rng.integers(0, 2, keys.shape)
            order = Order.records(size, offset, key, descending=descending)
            # NumPy sorts bytes as they are, but for trailing zeros, which it does not see.
            images = order.image(order.keys(records.reshape(-1)))
            expected = records[np.argsort(images, kind="stable")].tobytes()
            assert sorted_by(backend, order, records.tobytes(), SortRequest()) == expected, shape


@settings(max_examples=12)
@given(case=key_runs(most_runs=3), seed=st.integers(0, 2**32 - 1))
def test_unique_keys(backend: Backend, case: Any, seed: int) -> None:
    runs, descending = case
    items = np.random.default_rng(seed).permutation(np.concatenate(runs))
    expected = first_keys(merged_keys([items], descending=descending))
    order = Order.of(items.dtype, descending=descending)
    for equals, there in ((Equals.FIRST, expected), (Equals.FIRST_CONTINUED, expected[1:])):
        result = sorted_by(backend, order, items.tobytes(), SortRequest(), equals)
        assert same_bits(np.frombuffer(result, items.dtype), there)


@pytest.mark.parametrize("options", _KEYED)
def test_unique_lines(backend: Backend, options: str, rng: np.random.Generator) -> None:
    """With -u, lines with equal keys are equal, whatever else they hold."""
    text = _KEYED[options]
    order = Order.lines(LineOrder(text.keys, text.separator, stable=True))
    lines = keyed_lines(rng, 5_000)
    first: dict[Any, bytes] = {}
    for line in lines:
        first.setdefault(item_key(order, line), line)
    expected = [first[key] for key in sorted(first)]
    for request in (SortRequest(), SortRequest("merge")):
        assert sorted_by(backend, order, as_text(lines), request, Equals.FIRST) == as_text(expected)
        assert sorted_by(backend, order, as_text(lines), request, Equals.FIRST_CONTINUED) == as_text(expected[1:])


@settings(max_examples=30)
@given(case=record_runs(sizes=(3, 12)), seed=st.integers(0, 2**32 - 1))
def test_unique_records(backend: Backend, case: Records, seed: int) -> None:
    records = case.all
    shuffled = [records[i] for i in np.random.default_rng(seed).permutation(len(records))]
    case = Records([shuffled], case.size, case.offset, case.key, case.descending)
    expected = first_records(case.merged, case.offset, case.key)
    assert sorted_by(backend, case.order, b"".join(shuffled), SortRequest(), Equals.FIRST) == b"".join(expected)


def test_a_sort_that_recurses_is_refused_above_a_size(backend: Backend) -> None:
    order = Order.of("int32")
    backend.resolve_sort(SortRequest("recursive"), order, 4 << 16)
    with pytest.raises(UsageError, match=r"recursive: 65537 items .* iterative"):
        backend.resolve_sort(SortRequest("recursive"), order, 4 * 65_537)
    lines = b"\n" * 65_537
    with pytest.raises(UsageError, match="recursive"):
        sorted_by(backend, Order.lines(), lines, SortRequest("recursive"))


@pytest.mark.parametrize("order", [Order.of("uint8"), Order.of("float32"), Order.records(4, 1, 2), Order.lines()])
def test_what_was_uploaded_stays(backend: Backend, order: Order, rng: np.random.Generator) -> None:
    """A comparison sorts the same resident items again and again."""
    data = rng.integers(65, 70, 40_000, np.uint8)
    data[3::4] = 10
    workspace = backend.workspace(order, 1, threads=2)
    workspace.staging(len(data))[:] = data
    workspace.upload([len(data)])
    results = []
    for request in filter(partial(takes, backend, order), _SHARED):
        workspace.poison()
        workspace.sort(backend.resolve_sort(request, order, len(data)))
        assert workspace.dropped == 0
        results.append(workspace.download().tobytes())
    assert len(set(results)) == 1
    assert "kernel" in {span.name for span in workspace.spans}
    workspace.close()


def test_wishes_that_do_not_go_together(backend: Backend) -> None:
    for algorithm in ("radix", "iterative", "recursive"):
        with pytest.raises(UsageError, match=f"--algorithm {algorithm}"):
            backend.resolve_sort(SortRequest(algorithm, LaunchRequest("tiled")), Order.of("int32"), 4)  # type: ignore[arg-type]


def test_a_policy_says_what_and_why(backend: Backend) -> None:
    for request in _REQUESTS:
        policy = backend.resolve_sort(request, Order.of("int32"), 1 << 10)
        assert policy.why
        assert policy.describe().startswith(policy.algorithm)
        assert request.algorithm in ("auto", policy.algorithm)
    with pytest.raises(UsageError, match="invalid algorithm"):
        SortRequest("quick")  # type: ignore[arg-type]
