"""Time merges, sorts and checks of objects in a store, and count the requests that they make; to a Markdown table.

python data/bench/measure_stores.py OUT.md [--bucket NAME] [--megabytes 512] [--repeat 3]

Without --bucket it starts moto's server on this machine, which stands in for a store: it is written in Python, so its
rates say what the program costs, and not what a store gives. With it, the store and the credentials are those of the
environment (AWS_ENDPOINT_URL and so on), and objects under measure-stores/ are written and removed. The bytes are those
of both inputs together. Start-up is not counted; the median of the repeats is.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_MOTO = """
import sys, time
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""
_WEB = """
import os, re, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        with open(os.path.basename(self.path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            low, high = re.fullmatch("bytes=([0-9]+)-([0-9]+)", self.headers["Range"]).groups()
            data = os.pread(file.fileno(), int(high) + 1 - int(low), int(low))
        self.send_response_only(206)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Range", f"bytes {low}-{int(low) + len(data) - 1}/{size}")
        self.end_headers()
        self.wfile.write(data)
        print("GET", file=sys.stderr, flush=True)
    def log_message(self, *args): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/", flush=True)
server.serve_forever()
"""
_PREFIX = "measure-stores/"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--bucket")
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    out = arguments.out.absolute()
    with tempfile.TemporaryDirectory() as folder, store(arguments.bucket) as bucket:
        os.chdir(folder)
        rows = measured(bucket, arguments.megabytes * 10**6, arguments.repeat)
    where = f"bucket {arguments.bucket}" if arguments.bucket else "moto's server on the same machine"
    about = f"{arguments.megabytes} MB of inputs in {where}; median of {arguments.repeat}. Machine: {processor()}.\n"
    head = "| command | s | MB/s | GET | HEAD | PUT | POST | DELETE |\n|---|---|---|---|---|---|---|---|\n"
    text = f"{about}\n{head}" + "".join(rows)
    out.write_text(text)
    print(text)


@contextlib.contextmanager
def store(bucket: str | None) -> Iterator[str]:
    """The bucket to use; of a store that is started for it, if none is named."""
    if bucket is not None:
        yield bucket
        return
    command = [sys.executable, "-c", _MOTO]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        os.environ |= {
            "AWS_ENDPOINT_URL": server.stdout.readline().strip(),
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "something",
            "AWS_REGION": "us-east-1",
        }
        client().create_bucket(Bucket="measured")
        try:
            yield "measured"
        finally:
            server.kill()


def client() -> Any:
    """The client that the program itself uses."""
    from gpumerge_cli.formats.stores import s3_client

    return s3_client.client()


def measured(bucket: str, nbytes: int, repeat: int) -> list[str]:
    counts: Counter[str] = Counter()
    client().meta.events.register("before-send.s3", lambda request, **_: counts.update([request.method]))
    rng = np.random.default_rng(1)
    local: dict[str, list[str]] = {"i64": [], "txt": []}
    for name in "ab":
        keys = np.sort(rng.integers(-(2**63), 2**63, nbytes // 16, np.int64))
        keys.tofile(f"{name}.i64")
        lines = np.char.mod("%019d some text", np.sort(rng.integers(0, 2**63, nbytes // 60, np.int64)))
        Path(f"{name}.txt").write_text("\n".join(lines.tolist()) + "\n")
        for suffix, names in local.items():
            names.append(f"{name}.{suffix}")
            put(bucket, names[-1])
    rows = []
    for suffix, files in local.items():
        urls = [f"s3://{bucket}/{_PREFIX}{name}" for name in files]
        out = f"s3://{bucket}/{_PREFIX}out.{suffix}"
        total = sum(Path(name).stat().st_size for name in files)
        for name, words in (
            ("merge files to a file", ["merge", "-q", *files, "-o", f"out.{suffix}"]),
            ("merge objects to a file", ["merge", "-q", *urls, "-o", f"out.{suffix}"]),
            ("merge files to an object", ["merge", "-q", *files, "-o", out]),
            ("merge objects to an object", ["merge", "-q", *urls, "-o", out]),
            ("sort objects to an object", ["sort", *urls, "-o", out]),
            ("check objects", ["check", *urls]),
        ):
            rows.append(row(f"{name}, {suffix}", words, total, repeat, counts))
    rows += from_the_web(local, repeat)
    for key in ("a.i64", "b.i64", "out.i64", "a.txt", "b.txt", "out.txt"):
        client().delete_object(Bucket=bucket, Key=_PREFIX + key)
    return rows


def from_the_web(local: dict[str, list[str]], repeat: int) -> list[str]:
    """Rows of inputs from a plain web server on this machine, which is faster than moto's."""
    with (
        open("requests", "wb") as requests,
        subprocess.Popen([sys.executable, "-c", _WEB], stdout=subprocess.PIPE, stderr=requests, text=True) as server,
    ):
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        rows = []
        for suffix, files in local.items():
            urls = [address + name for name in files]
            total = sum(Path(name).stat().st_size for name in files)
            for name, words in (
                ("merge web to a file", ["merge", "-q", *urls, "-o", f"out.{suffix}"]),
                ("sort web to a file", ["sort", *urls, "-o", f"out.{suffix}"]),
                ("check web", ["check", *urls]),
            ):
                before = Path("requests").stat().st_size
                line = row(f"{name}, {suffix}", words, total, repeat, Counter())
                gets = (Path("requests").stat().st_size - before) // 4 // repeat
                rows.append(line.replace("| 0 | 0 | 0 | 0 | 0 |", f"| {gets} | 0 | 0 | 0 | 0 |"))
        server.kill()
    return rows


def put(bucket: str, name: str) -> None:
    """Upload a file in one request."""
    with open(name, "rb") as file:
        client().put_object(Bucket=bucket, Key=_PREFIX + name, Body=file)


def row(name: str, words: list[str], nbytes: int, repeat: int, counts: Counter[str]) -> str:
    """A row of the table: the times of a command, and the requests of one run of it."""
    from gpumerge_cli.cli.app import invoke

    times = []
    for _ in range(repeat):
        counts.clear()
        start = time.perf_counter()
        code = invoke(words)
        times.append(time.perf_counter() - start)
        assert code == 0, words
    seconds = statistics.median(times)
    made = " | ".join(str(counts[method]) for method in ("GET", "HEAD", "PUT", "POST", "DELETE"))
    line = f"| {name} | {seconds:.2f} | {nbytes / seconds / 1e6:.0f} | {made} |\n"
    print(line, end="", file=sys.stderr, flush=True)
    return line


def processor() -> str:
    """The processor and the number of cores, as lscpu tells them."""
    listing = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    found = dict(line.split(":", 1) for line in listing.splitlines() if ":" in line)
    return f"{found['Model name'].strip()}, {found['CPU(s)'].strip()} cores, {platform.system()}"


if __name__ == "__main__":
    main()
