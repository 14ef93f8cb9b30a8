"""Outputs by --compression, and BGZF as other programs read it."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.formats.codecs import CODECS, COMPRESSIONS
from gpumerge_cli.formats.compressed import output_codec
from tests import needs
from tests.bgzf import EOF_BLOCK, blocks_of, in_blocks
from tests.formats.test_compressed import UNPACK, without_extra
from tests.jobs_of import job_of, merge_job, sort_job
from tests.oracles import items_of

Write = Callable[[str, Any], str]
ON = Resources("cpu", threads=2)


def content_of(data: bytes) -> bytes:
    """The content of BGZF, whose blocks are as the specification wants them."""
    assert data.endswith(EOF_BLOCK)
    contents = [content for _, content in blocks_of(data)]
    assert max(map(len, contents)) <= 65280
    assert contents.count(b"") == 1
    return b"".join(contents)


def begun_as(name: str, data: bytes) -> bool:
    return data.startswith(b"\x1f\x8b\x08\x04") == (name == "bgzf") and data.startswith(
        {"zstd": b"\x28\xb5\x2f\xfd", "bzip2": b"BZh", "xz": b"\xfd7zXZ", "none": b"1\n"}.get(name, b"\x1f\x8b")
    )


@pytest.mark.parametrize("extra", [True, False])
def test_blocks_of_any_content(
    write: Write, tmp_path: Path, extra: bool, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not extra:
        without_extra(monkeypatch)
    for data in (b"", b"1\n", os.urandom(300_000) + b"\n", b"1\n" * 200_000):
        name, output = write("x.bin", data), tmp_path / "y.bin.bgz"
        run(merge_job([name], str(output), items_of(format="text"), ON, check=False))
        assert content_of(output.read_bytes()) == data


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kind", ["merge", "sort"])
def test_every_compression(write: Write, tmp_path: Path, compression: str, kind: str) -> None:
    names = [write("a.txt", b"1\n3\n"), write("b.txt", b"2\n")]
    output = tmp_path / "out"
    make = merge_job if kind == "merge" else sort_job
    run(make(names, str(output), resources=ON, compression=compression))
    data = output.read_bytes()
    assert begun_as(compression, data)
    suffix = next((codec.suffix for codec in CODECS.values() if codec.option == compression), "")
    assert (UNPACK[suffix](data) if suffix else data) == b"1\n2\n3\n"
    assert not suffix or output_codec("-", compression) is CODECS[suffix]


def test_parts_and_head_are_files_of_their_own(write: Write, tmp_path: Path) -> None:
    lines = b"".join(b"%06d\n" % number for number in range(20_000))
    name = write("a.csv", b"id\n" + lines)
    words = ["merge", "-q", "--backend", "cpu", "--csv", "--header", "1", name, "--parts", "3"]
    assert door.invoke([*words, "-o", str(tmp_path / "o.{part}.csv.bgz")]) == 0
    parts = [content_of((tmp_path / f"o.{part}.csv.bgz").read_bytes()) for part in range(3)]
    assert all(part.startswith(b"id\n") for part in parts)
    assert b"".join(part.removeprefix(b"id\n") for part in parts) == lines


@pytest.mark.parametrize("command", ["merge", "union", "compare", "sort", "join", "rank"])
def test_every_command_takes_it(write: Write, tmp_path: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    one, other = write("a.txt", b"1 x\n2 y\n"), write("b.txt", b"1 x\n")
    words = ["gpumerge", command, "--compression", "bgzf", *(["--range", "0:2"] if command == "rank" else [])]
    plain = [word for word in words if word not in ("--compression", "bgzf")]
    made = [
        subprocess.run([sys.executable, "-m", "gpumerge_cli", *each[1:], one, other], capture_output=True, check=True)
        for each in (words, plain)
    ]
    assert content_of(made[0].stdout) == made[1].stdout != b""
    if command == "rank":
        assert door.invoke(["rank", "--at", "0", "--compression", "bgzf", one]) == 2
        assert "--compression is for the items of --range" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "compression", "plain", "says"),
    [
        ("x.gz", "xz", False, "its suffix means gzip data, --compression says xz; name it x.xz"),
        ("x.bgz", "gzip", False, "its suffix means BGZF data, --compression says gzip; name it x.gz"),
        ("x.gz", "none", False, "its suffix means gzip data, --compression says none; name it x"),
        ("x.gz", "zstd", True, "its suffix means gzip data, --compression says zstd; name it x.zst"),
    ],
)
def test_a_suffix_that_says_otherwise(name: str, compression: str, plain: bool, says: str) -> None:
    with pytest.raises(OutputError, match=says):
        output_codec(name, compression, plain=plain)


@pytest.mark.parametrize("batch", [True, False])
def test_that_is_told_before_an_input_is_read(
    tmp_path: Path, batch: bool, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt.gz").write_bytes(b"damaged")
    table = '[[job]]\noperation = "merge"\ninputs = ["a.txt.gz"]\noutput = "o.gz"\ncompression = "xz"\n'
    (tmp_path / "jobs.toml").write_text(table)
    words = ["batch", "jobs.toml"] if batch else ["merge", "a.txt.gz", "-o", "o.gz", "--compression", "xz"]
    assert door.invoke(words) == 2
    assert "o.gz: its suffix means gzip data, --compression says xz; name it o.xz" in capfd.readouterr().err


def test_suffixes_that_go_with_it() -> None:
    bgzf = CODECS[".bgz"]
    assert [output_codec(name, "bgzf") for name in ("x.gz", "x.bgz", "x", "-")] == [bgzf] * 4
    assert output_codec("x.gz", plain=True) is None
    assert output_codec("x.gz", "none", plain=True) is None
    assert output_codec("x.gz", "bgzf", plain=True) is bgzf
    with pytest.raises(UsageError, match="--compression lzma: no such compression; use bgzf, gzip, zstd"):
        output_codec("x", "lzma")


@pytest.mark.parametrize(
    ("inputs", "output", "blocks"),
    [
        (("a.gz", "b.bgz"), "o.gz", True),
        (("a.gz", "p.txt"), "o.gz", True),
        (("a.gz", "g.gz"), "o.gz", False),
        (("a.gz", "z.xz"), "o.gz", False),
        (("p.txt",), "o.gz", False),
        (("g.gz",), "o.bgz", True),
    ],
)
def test_an_output_of_gz_is_what_its_inputs_are(
    write: Write, tmp_path: Path, inputs: tuple[str, ...], output: str, blocks: bool
) -> None:
    import lzma

    for name, data in (
        ("a.gz", in_blocks(b"1\n")),
        ("b.bgz", in_blocks(b"2\n")),
        ("g.gz", gzip.compress(b"1\n")),
        ("z.xz", lzma.compress(b"1\n")),
        ("p.txt", b"1\n"),
    ):
        write(name, data)
    run(merge_job([str(tmp_path / name) for name in inputs], str(tmp_path / output), resources=ON))
    assert (tmp_path / output).read_bytes().endswith(EOF_BLOCK) == blocks


def test_sort_asks_for_it_by_an_option(write: Write, tmp_path: Path) -> None:
    name = write("a.txt", b"2\n1\n")
    for words, begin in (
        (["-o", "x.bgz"], b"1\n"),
        (["-o", "x.bgz", "--compressed"], b"\x1f\x8b"),
        (["-o", "x.txt", "--compression=bgzf"], b"\x1f\x8b"),
    ):
        subprocess.run([sys.executable, "-m", "gpumerge_cli", "sort", *words, name], cwd=tmp_path, check=True)
        assert (tmp_path / words[1]).read_bytes().startswith(begin)


def test_blocks_are_not_written_to_a_terminal(write: Write) -> None:
    import pty

    controller, terminal = pty.openpty()
    words = [sys.executable, "-m", "gpumerge_cli", "merge", "--compression", "bgzf", write("a.txt", b"1\n")]
    ran = subprocess.run(words, stdout=terminal, stderr=subprocess.PIPE)
    os.close(controller)
    os.close(terminal)
    assert ran.returncode == 2
    assert b"BGZF data are not written to a terminal; use --output FILE or a pipe" in ran.stderr


VCF = b"".join(b"chr%d\t%d\t.\tA\tC\t9\tPASS\t.\n" % (at // 3000 + 1, at % 3000 * 7 + 1) for at in range(9000))
HEADER = b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


@pytest.mark.parametrize("how", [["-o", "m.vcf.bgz"], ["-o", "m.vcf.gz", "--compression", "bgzf"]])
def test_tabix_and_bgzip_read_it(write: Write, tmp_path: Path, how: list[str], small_chunks: None) -> None:
    needs.program("tabix"), needs.program("bgzip")
    lines = VCF.splitlines(keepends=True)
    halves = [write(f"{at}.vcf", HEADER + b"".join(lines[at::2])) for at in range(2)]
    words = ["merge", "-q", "--backend", "cpu", "--header", "2", "-k", "1,1V", "-k", "2,2n", *halves]
    output = tmp_path / how[1]
    assert door.invoke([*words, *how[:1], str(output), *how[2:]]) == 0
    subprocess.run(["bgzip", "-t", output], check=True)
    assert subprocess.run(["bgzip", "-dc", output], capture_output=True, check=True).stdout == HEADER + VCF
    if output.suffix == ".bgz":
        output = output.rename(tmp_path / "m.vcf.gz")
    subprocess.run(["tabix", "-p", "vcf", output], check=True)
    found = subprocess.run(["tabix", output, "chr2:15-29"], capture_output=True, check=True)
    assert [line.split(b"\t")[1] for line in found.stdout.splitlines()] == [b"15", b"22", b"29"]
    assert not found.stderr


def test_samtools_reads_it(write: Write, tmp_path: Path) -> None:
    needs.program("samtools")
    header = b"@SQ\tSN:chr1\tLN:100000\n"
    reads = [b"r%d\t0\tchr1\t%d\t9\t4M\t*\t0\t0\tACGT\t*\n" % (at, at + 1) for at in range(2000)]
    names = [write(f"{at}.sam", header + b"".join(reads[at::2])) for at in range(2)]
    output = str(tmp_path / "m.sam.gz")
    words = ["--backend", "cpu", "--header", "1", "-k", "4,4n", "--compression", "bgzf"]
    assert door.invoke(["merge", "-q", *words, *names, "-o", output]) == 0
    found = subprocess.run(["samtools", "view", output], capture_output=True, check=True)
    assert found.stdout == b"".join(reads)
    assert not found.stderr


def test_a_write_that_fails_leaves_nothing(write: Write, tmp_path: Path) -> None:
    """The disk is full as the last block is written."""
    name = write("a.txt", b"1\n")
    words = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", "--compression", "bgzf", name, "-o", "/dev/full"]
    ran = subprocess.run(words, capture_output=True)
    assert ran.returncode == 2
    assert ran.stderr.count(b"\n") == 1
    assert b"no space" in ran.stderr.lower()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_kill_leaves_the_output_as_it_was(write: Write, tmp_path: Path, number: int, seed: int) -> None:
    lines = [b"%08d\n" % at for at in range(400_000)]
    names = [
        write(f"{part}.txt.bgz", in_blocks(b"".join(lines[part::2]), [*range(60_000, 1_800_000, 60_000)]))
        for part in range(2)
    ]
    earlier = in_blocks(b"earlier\n")
    output = tmp_path / "out.txt.bgz"
    chance = random.Random(seed)
    for _ in range(3):
        output.write_bytes(earlier)
        words = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", "--threads", "1", *names, "-o", str(output)]
        running = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.05, 0.4))
        running.send_signal(number)
        if running.wait():
            assert output.read_bytes() == earlier
            assert number == signal.SIGKILL or sorted(os.listdir(tmp_path)) == ["0.txt.bgz", "1.txt.bgz", "out.txt.bgz"]
        else:
            assert content_of(output.read_bytes()) == b"".join(lines)
    run(merge_job(names, str(output), resources=ON))
    assert sorted(os.listdir(tmp_path)) == ["0.txt.bgz", "1.txt.bgz", "out.txt.bgz"]


def test_counts_and_answers_stay_as_they_are(write: Write, tmp_path: Path) -> None:
    """Counts of equals go by the name of their own file."""
    name = write("a.txt", b"1\n1\n2\n")
    words = ["merge", "-q", "--backend", "cpu", name, "--count-to", str(tmp_path / "c.u64"), "--compression", "bgzf"]
    assert door.invoke([*words, "-o", str(tmp_path / "o.bgz")]) == 0
    assert content_of((tmp_path / "o.bgz").read_bytes()) == b"1\n2\n"
    assert (tmp_path / "c.u64").read_bytes() == b"\2" + bytes(7) + b"\1" + bytes(7)
    run(job_of("check", [str(tmp_path / "o.bgz")], resources=ON))
