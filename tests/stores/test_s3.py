"""Merges, sorts and checks over S3: the bytes are those of the same command over files."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.cluster.shipment import Shipment
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.stores.base import StoreError
from gpumerge_cli.formats.stores.s3_multipart import Multipart
from tests.bgzf import blocks_of, in_blocks
from tests.jobs_of import merge_job
from tests.seeds import given_or_random_seed
from tests.stores.conftest import PART, SECRET, Bucket

SEED = given_or_random_seed()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _lines(rng: np.random.Generator, count: int) -> list[bytes]:
    return [f"{number:06},{number % 7},name {number}".encode() for number in rng.integers(0, 10**6, count).tolist()]


def _file(kind: str, rng: np.random.Generator) -> bytes:
    """Sorted items of a kind, of a few parts in all."""
    count = int(rng.integers(0, 3000))
    if kind == "txt":
        return b"".join(line + b"\n" for line in sorted(_lines(rng, count))).removesuffix(b"\n")
    if kind == "csv":
        rows = sorted(b'"%s","two\nlines"\n' % line for line in _lines(rng, count))
        return b"a,b\n" + b"".join(rows)
    if kind == "jsonl":
        return b"".join(b'{"a":{"id":%d}}\n' % number for number in np.sort(rng.integers(0, 10**6, count)).tolist())
    if kind == "parquet":
        out = io.BytesIO()
        pq.write_table(pa.table({"id": np.sort(rng.integers(0, 10**6, count))}), out, row_group_size=500)
        return out.getvalue()
    if kind == "gz":
        return gzip.compress(_file("txt", rng))
    if kind == "rec":
        return np.sort(rng.integers(0, 256, (count, 12), np.uint8).reshape(-1).view("S12")).tobytes()
    keys = np.sort(rng.integers(-(2**31), 2**31, count).astype(np.int32))
    if kind == "npy":
        np.save("made.npy", keys)
        return Path("made.npy").read_bytes()
    return keys.astype(">i4" if kind == "be" else "<i4").tobytes()


OPTIONS = {
    "txt": [],
    "csv": ["--csv", "--header=1"],
    "jsonl": ["--field=a.id"],
    "parquet": ["--field=id"],
    "gz": [],
    "rec": ["--record-size=12"],
    "npy": [],
    "i32": [],
    "be": ["--dtype=>i4"],
}
NAMES = {"gz": "txt.gz", "rec": "bin", "be": "bin"}


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", list(OPTIONS))
@pytest.mark.parametrize("unique", [False, True])
def test_bytes_are_those_of_files(bucket: Bucket, kind: str, unique: bool) -> None:
    print(f"seed {SEED}")
    rng = np.random.default_rng(SEED)
    suffix = NAMES.get(kind, kind)
    files, urls = [f"{name}.{suffix}" for name in "abc"], []
    for name in files:
        Path(name).write_bytes(_file(kind, rng))
        urls.append(bucket.put(f"in/{name}", Path(name).read_bytes()))
    options = OPTIONS[kind] + (["--unique"] if unique else [])
    out = f"out.{suffix}"
    for words in (["merge", "-q"], ["sort", "--compressed"] if kind == "gz" else ["sort"]):
        assert invoke([*words, *options, *files, "-o", out]) == 0
        assert invoke([*words, *options, *urls, "-o", bucket.url(out)]) == 0
        assert _content(bucket.get(out), suffix) == _content(Path(out).read_bytes(), suffix)
    assert invoke(["check", *OPTIONS[kind], *urls, bucket.url(out)]) == 0
    assert not bucket.uploads


def _content(data: bytes, suffix: str) -> bytes:
    return gzip.decompress(data) if suffix.endswith("gz") else data


def test_an_empty_output_is_an_empty_object(bucket: Bucket) -> None:
    url = bucket.put("a.txt", b"")
    assert invoke(["merge", "-q", url, "-o", bucket.url("out.txt")]) == 0
    assert bucket.get("out.txt") == b""
    assert not bucket.uploads


def test_large_reads_take_several_requests(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.formats import stored_input

    monkeypatch.setattr(stored_input, "_DIRECT", 1 << 12)
    monkeypatch.setattr(stored_input, "_REQUEST", 1 << 14)
    rng = np.random.default_rng(SEED)
    print(f"seed {SEED}")
    keys = rng.integers(0, 2**32, 100_000, np.uint32)
    url = bucket.put("a.u32", keys.tobytes())
    assert invoke(["sort", url, "-o", bucket.url("out.u32")]) == 0
    assert bucket.get("out.u32") == np.sort(keys).tobytes()


def test_a_sort_beyond_memory_keeps_runs_here(bucket: Bucket, folder: Path) -> None:
    rng = np.random.default_rng(SEED)
    print(f"seed {SEED}")
    lines = [line + b"\n" for line in _lines(rng, 20_000)]
    url = bucket.put("a.txt", b"".join(lines))
    assert invoke(["sort", "-S", "200K", "-T", str(folder), url, "-o", bucket.url("out.txt")]) == 0
    assert bucket.get("out.txt") == b"".join(sorted(lines))
    assert os.listdir(folder) == []


def test_parts_are_an_object_each(bucket: Bucket) -> None:
    lines = [f"{number:05}\n" for number in range(9000)]
    urls = [bucket.put(f"{one}.txt", "".join(lines[one::2]).encode()) for one in range(2)]
    assert invoke(["merge", *urls, "--parts", "3", "-o", bucket.url("p{part}.txt"), "--report", "r.json", "-q"]) == 0
    parts = [bucket.get(f"p{number}.txt") for number in range(3)]
    assert b"".join(parts).decode() == "".join(lines)
    assert [one["name"] for one in json.loads(Path("r.json").read_text())["parts"]] == [
        bucket.url(f"p{number}.txt") for number in range(3)
    ]
    assert not bucket.uploads


def test_an_input_may_be_replaced(bucket: Bucket) -> None:
    url = bucket.put("a.txt", b"b\na\n" * PART)
    assert invoke(["sort", url, "-o", url]) == 0
    assert bucket.get("a.txt") == b"a\n" * PART + b"b\n" * PART


def test_batches_take_urls(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = bucket.put("a.txt", b"a\nc\n"), bucket.put("b.txt", b"b\n")
    Path("jobs.toml").write_text(f"""
        [[job]]
        operation = "merge"
        inputs = ["{a}", "{b}"]
        output = "{bucket.url("ab.txt")}"
        [[job]]
        operation = "merge"
        inputs = ["{bucket.url("ab.txt")}"]
        output = "{{stem}}-2.txt"
        """)
    assert invoke(["batch", "jobs.toml", "--joblog", "log", "-q"]) == 0, capsys.readouterr().err
    assert Path("ab-2.txt").read_bytes() == bucket.get("ab.txt") == b"a\nb\nc\n"
    assert SECRET not in Path("log").read_text()


def test_any_process_can_send_a_part(bucket: Bucket) -> None:
    """An upload is plain data: parts come in any order, and twice."""
    begun = Multipart.begun(bucket.name, "out")
    elsewhere = Multipart(begun.bucket, begun.key, begun.upload_id)
    tags = {2: elsewhere.send(2, b"z")}
    for number in (1, 0, 1):
        tags[number] = elsewhere.send(number, bytes([65 + number]) * PART)
    begun.complete(tags)
    assert bucket.get("out") == b"A" * PART + b"B" * PART + b"z"


@pytest.mark.thorough
def test_the_end_of_an_upload_may_be_asked_for_twice(bucket: Bucket) -> None:
    begun = Multipart.begun(bucket.name, "out")
    tags = {0: begun.send(0, b"A" * PART)}
    begun.complete(tags)
    begun.complete(tags)
    begun.abort()
    assert bucket.get("out") == b"A" * PART


def test_shipments_name_urls_as_they_are_opened(bucket: Bucket) -> None:
    """A worker elsewhere opens inputs by the names in its shipment, which pickles."""
    urls = tuple(bucket.put(f"{name}.txt", f"{name}\n".encode()) for name in "ba")
    job = merge_job(urls, "out.txt")
    with open_inputs(urls, Items()) as inputs:
        work = Pass.of(job, "merge", inputs, NullWriter())
        team = Cluster(None).team(job, inputs, Clock())  # type: ignore[arg-type]
        packed = team.shipment(work).packed()
    sent: Shipment = pickle.loads(packed.data)
    assert sent.work.job.inputs == urls
    with open_inputs(sent.work.job.inputs, sent.work.job.items) as again:
        assert [source.item_at(0) for source in again.sources] == [b"b", b"a"]


@pytest.mark.thorough
def test_an_upload_that_cannot_be_dropped_is_told(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: Multipart) -> None:
        raise StoreError("it is off")

    monkeypatch.setattr(Multipart, "abort", refuse)
    assert invoke(["merge", bucket.url("none.txt"), "-o", bucket.url("out.txt")]) == 2
    warning = f"{bucket.url('out.txt')}: warning: its unfinished upload stays (it is off); remove it by the store's own"
    assert warning in caplog.text


def test_blocks_of_bgzf_come_and_go(bucket: Bucket) -> None:
    lines = [b"%06d\n" % number for number in range(50_000)]
    urls = [bucket.put(f"{part}.txt.gz", in_blocks(b"".join(lines[part::2]))) for part in range(2)]
    assert invoke(["merge", "-q", *urls, "-o", bucket.url("out.txt.gz")]) == 0
    contents = [content for _, content in blocks_of(bucket.get("out.txt.gz"))]
    assert contents.pop() == b""
    assert b"".join(contents) == b"".join(lines)
    assert not bucket.uploads


def test_the_example_of_the_manual(bucket: Bucket) -> None:
    text = (Path(__file__).parents[2] / "data" / "manual" / "stores.md").read_text()
    commands = text.partition("```sh\n")[2].partition("```")[0].splitlines()
    for name, data in (("monday", b"a\nc\n"), ("tuesday", b"b\n"), ("unsorted", b"e\nd\n")):
        bucket.put(f"{name}.txt", data)
    bucket.put("a.txt.gz", gzip.compress(b"a\n"))
    Path("b.txt").write_text("b\n")
    for command in commands:
        said = command.replace("s3://logs/", bucket.url("")).replace("https://example.org/", bucket.url(""))
        assert invoke(shlex.split(said.replace("/local/disk", "."))[1:]) == 0, command
    assert b"".join(bucket.get(f"all.{part}.txt") for part in range(4)) == b"a\nb\nc\nd\ne\n"
    assert Path("ab.txt").read_text() == "a\nb\n"


def _counted(bucket: Bucket, words: list[str]) -> None:
    """Compare counts written to the store with those written to files."""
    assert invoke([*words, "-q", "-o", "out.txt", "--count-to", "counts.npy"]) == 0
    assert invoke([*words, "-q", "-o", bucket.url("out.txt"), "--count-to", bucket.url("counts.npy")]) == 0
    assert bucket.get("out.txt") == Path("out.txt").read_bytes()
    assert bucket.get("counts.npy") == Path("counts.npy").read_bytes()
    assert not bucket.uploads


def test_counts_go_to_stores(bucket: Bucket) -> None:
    rng = np.random.default_rng(SEED)
    for name in "ab":
        Path(name).write_bytes(_file("txt", rng) + b"\nzz\nzz\n")
    urls = [bucket.put(name, Path(name).read_bytes()) for name in "ab"]
    for command in (["merge"], ["union"], ["sort", "-S", "20000b"]):
        _counted(bucket, [*command, *urls])
        for option in ("--count", "--count=after"):
            assert invoke([*command, "-q", option, *urls, "-o", "out"]) == 0
            assert invoke([*command, "-q", option, *urls, "-o", bucket.url("out")]) == 0
            assert bucket.get("out") == Path("out").read_bytes()


def test_disorder_leaves_neither_output_nor_counts(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    url = bucket.put("a.txt", b"".join(b"%06d\n" % number for number in [*range(3000), 7]))
    for option in (["--count"], ["--count-to", bucket.url("counts")]):
        assert invoke(["merge", *option, url, "-o", bucket.url("out.txt")]) == 2
        assert "a.txt:3001: disorder" in capsys.readouterr().err
        assert bucket.keys == ["a.txt"]
        assert not bucket.uploads


def test_text_beside_lines_counts_for_the_size_of_parts(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object has a limited number of parts, and counts make an output many times as long as its inputs."""
    sent: list[int] = []
    send = Multipart.send

    def counting(self: Multipart, number: int, data: bytes) -> str:
        sent.append(number)
        return send(self, number, data)

    monkeypatch.setattr(Multipart, "send", counting)
    monkeypatch.setattr("gpumerge_cli.formats.stored_output._PARTS", 4)
    Path("a.txt").write_text("".join(f"{number:04}\n" for number in range(4000)))
    Path("b.txt").write_text("")
    for words in (["merge", "--count", "a.txt"], ["compare", f"--output-delimiter={'x' * 20}", "b.txt", "a.txt"]):
        sent.clear()
        assert invoke([*words, "-q", "-o", bucket.url("out.txt")]) == 0
        assert 1 < len(sent) <= 4, (words, len(bucket.get("out.txt")))


def test_a_file_is_taken_back_where_its_object_cannot_be_written(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise StoreError("it does not want to", "try later")

    monkeypatch.setattr(Multipart, "complete", fails)
    Path("a.txt").write_text("a\n")
    for output, counts in ((bucket.url("out.txt"), "counts"), ("out.txt", bucket.url("counts"))):
        assert invoke(["merge", "a.txt", "-o", output, "--count-to", counts]) == 2
        assert "it does not want to; all files are as they were" in capsys.readouterr().err
        assert os.listdir() == ["a.txt"]
        assert not bucket.keys
        assert not bucket.uploads
