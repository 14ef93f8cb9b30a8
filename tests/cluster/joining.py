"""Worker processes of a test that join the cluster of `--cluster local:N`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.local import _START, _configuration

ROOT = str(Path(__file__).parents[2])


def started_worker(cluster: Connection, *words: str, ahead: str = "") -> subprocess.Popen[bytes]:
    """A worker with the certificate of the cluster. words: options of Dask's worker. ahead: code that it runs first."""
    address = cluster.client.scheduler.address
    options = ["--no-nanny", "--no-dashboard", "--protocol", "tls", "--host", "127.0.0.1", *words]
    process = subprocess.Popen(
        [sys.executable, "-c", ahead + _START, ROOT, address, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": ROOT},
    )
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(json.dumps(_configuration(cluster.client.security)).encode())
    return process
