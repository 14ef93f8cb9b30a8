"""Processes of --cluster local: who can reach them."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpumerge_cli.cluster.connect import Connection

LISTENING = "0A"


def addresses(process: int) -> Iterator[tuple[str, int]]:
    """The addresses and ports on which a process listens."""
    held = set()
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            held.add(os.readlink(descriptor))
        except FileNotFoundError:
            continue
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        path = Path(f"/proc/{process}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            words = line.split()
            if words[3] == LISTENING and f"socket:[{words[9]}]" in held:
                packed, port = words[1].split(":")
                raw = bytes.fromhex(packed)
                numbers = struct.unpack(f">{len(raw) // 4}I", raw)
                yield socket.inet_ntop(family, struct.pack(f"={len(numbers)}I", *numbers)), int(port, 16)


_RUN = """
import sys
from gpumerge_cli.cluster.connect import connected

with connected("local:2") as found:
    print(*(worker.pid for worker in found.workers.processes), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def found() -> Iterator[list[tuple[str, int]]]:
    """All addresses and ports of a run in a process of its own: tests have servers, too."""
    with subprocess.Popen(
        [sys.executable, "-c", _RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        workers = map(int, process.stdout.readline().split())
        yield [address for one in (process.pid, *workers) for address in addresses(one)]
        process.stdin.close()


def test_every_socket_listens_on_the_loopback_address(found: list[tuple[str, int]]) -> None:
    assert len(found) >= 3  # the scheduler and two workers
    assert {address for address, _ in found} <= {"127.0.0.1", "::1"}


def test_all_talk_tls(cluster: Connection) -> None:
    scheduler = cluster.client.scheduler_info()
    assert scheduler["address"].startswith("tls://127.0.0.1:")
    assert len(scheduler["workers"]) == 2
    assert all(address.startswith("tls://127.0.0.1:") for address in scheduler["workers"])


def greeted(place: str, **arguments: object) -> None:
    from distributed.comm import connect

    async def greet() -> None:
        (await connect(place, timeout=2, **arguments)).abort()

    asyncio.run(asyncio.wait_for(greet(), 10))


def test_a_foreign_client_is_refused(cluster: Connection) -> None:
    """With the run's certificate a client is greeted. Without it, or with another one of the same kind, it is not."""
    from distributed.security import Security

    places = [cluster.client.scheduler.address, *cluster.client.scheduler_info()["workers"]]
    own = cluster.client.security.get_connection_args("client")
    foreign = Security.temporary().get_connection_args("client")
    plain = Security().get_connection_args("client")
    for place in places:
        greeted(place, **own)
        with pytest.raises((OSError, asyncio.TimeoutError)):
            greeted(place, **foreign)
        with pytest.raises((OSError, asyncio.TimeoutError)):
            greeted(place.replace("tls://", "tcp://"), **plain)


def test_http_tells_nothing(found: list[tuple[str, int]]) -> None:
    """Only the empty list of pages is there."""
    for address, port in found:
        for path in ("", "info/main/workers.html", "metrics", "json/identity.json", "health"):
            with pytest.raises(OSError, match=r"404|reset|closed|disconnected"):
                urllib.request.urlopen(f"http://{address}:{port}/{path}", timeout=5)


def test_no_key_is_on_a_command_line_or_in_an_environment(cluster: Connection) -> None:
    assert cluster.workers is not None
    for worker in cluster.workers.processes:
        for what in ("cmdline", "environ"):
            assert b"PRIVATE KEY" not in Path(f"/proc/{worker.pid}/{what}").read_bytes()


def test_workers_import_nothing_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.cluster.connect import connected

    for name in ("distributed", "dask", "json", "click", "tornado"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    with connected("local:1"):
        assert not (tmp_path / "ran").exists()
