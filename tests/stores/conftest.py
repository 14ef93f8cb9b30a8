"""A store of S3's protocol behind a real HTTP endpoint, which these tests start."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from moto.s3 import models
from moto.server import ThreadedMotoServer

from gpumerge_cli.formats import stored_output
from gpumerge_cli.formats.stores import s3_client
from tests.stores.faults import Faults, Proxy
from tests.stores.lying_store import Lying, LyingServer

PART = 4096
"""Bytes of a part in these tests, instead of megabytes."""
SECRET = "hush-hush-secret-key"
LINES = "".join(f"{number:06} some words\n" for number in range(3000)).encode()
"""The object a.txt of a store that lies."""


@dataclass
class Bucket:
    """A bucket of the store. client: boto3's. endpoint: the store's, past any proxy."""

    name: str
    client: Any
    endpoint: str

    def url(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    def put(self, key: str, data: bytes) -> str:
        self.client.put_object(Bucket=self.name, Key=key, Body=data)
        return self.url(key)

    def get(self, key: str) -> bytes:
        data: bytes = self.client.get_object(Bucket=self.name, Key=key)["Body"].read()
        return data

    @property
    def keys(self) -> list[str]:
        return [one["Key"] for one in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])]

    @property
    def uploads(self) -> list[Any]:
        """Uploads that are neither completed nor aborted."""
        found: list[Any] = self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])
        return found


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def settings(endpoint: str) -> dict[str, str]:
    """The variables by which programs reach the store."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/nowhere",
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    }


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Bucket]:
    """A new bucket, to which this process's URLs lead."""
    import boto3

    for name, value in settings(endpoint).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(models, "S3_UPLOAD_PART_MIN_SIZE", PART)
    monkeypatch.setattr(stored_output, "LEAST_PART", PART)
    monkeypatch.setattr(stored_output, "_UNKNOWN", PART)
    s3_client._made.cache_clear()
    client = boto3.client("s3", region_name="us-east-1")
    name = f"bucket-{abs(hash(request.node.nodeid)) % 10**12}"
    client.create_bucket(Bucket=name)
    yield Bucket(name, client, endpoint)
    client.close()
    s3_client._made.cache_clear()


@pytest.fixture
def proxy(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy ahead of the store, through which this process's URLs lead. It has no faults until it is told."""
    with Proxy(bucket.endpoint, Faults()) as between:
        monkeypatch.setenv("AWS_ENDPOINT_URL", between.endpoint)
        s3_client._made.cache_clear()
        yield between


@pytest.fixture
def lying() -> Iterator[Lying]:
    """The bucket `bucket` of a store in memory, which has the object a.txt."""
    from tests import fuzz_stores  # which uses this file

    with LyingServer() as server, fuzz_stores.store_at(server):
        server.buckets["bucket"] = store = Lying(random.Random(1), 0.0)
        store.address = server.endpoint.partition("://")[2]
        store.put("a.txt", LINES)
        yield store


def url_of(store: Lying, scheme: str) -> str:
    """The URL of the object a.txt."""
    return f"http://{store.address}/bucket/a.txt" if scheme == "http" else f"{scheme}://bucket/a.txt"


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line on standard error."""
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    return err


@pytest.fixture
def two_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current folder; requests are sent twice, without a pause."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
