"""Objects of S3 and of stores that speak its protocol, by botocore."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

from gpumerge_cli.formats.stores.base import StoreError
from gpumerge_cli.formats.stores.s3_content import S3Content
from gpumerge_cli.formats.stores.s3_multipart import Multipart

_SENDING_SECONDS = 5.0
"""Seconds for which an upload that is dropped waits for parts that are under way."""
_UNDER_WAY_BYTES, _MOST_UNDER_WAY = 128 << 20, 8
_MOST_PARTS = 10_000


class S3Upload:
    """See Upload. Parts are sent by a few threads of its own."""

    any_order = True

    def __init__(self, parts: Multipart, part_bytes: int) -> None:
        at_once = max(2, min(_MOST_UNDER_WAY, _UNDER_WAY_BYTES // part_bytes))
        self.parts = parts
        self._pool = ThreadPoolExecutor(at_once, "gpumerge-upload")
        self._room = threading.BoundedSemaphore(at_once)
        self._sending: list[Future[None]] = []
        self._tags: dict[int, str] = {}
        self._sizes: dict[int, int] = {}
        self._failed: StoreError | None = None
        self._ended = self._stopped = self._lent = False

    def send(self, number: int, data: bytearray) -> None:
        if number >= _MOST_PARTS:
            raise StoreError(f"an object has at most {_MOST_PARTS} parts", "write it with --parts, or to a file")
        while not self._room.acquire(timeout=1.0):
            if self._stopped:
                return
        if self._stopped or self._failed is not None:
            self._room.release()
            self._raise_failed()
            return
        self._sending.append(self._pool.submit(self._send, number, data))

    def _send(self, number: int, data: bytearray) -> None:
        try:
            if not self._stopped and self._failed is None:
                self._sizes[number] = len(data)
                self._tags[number] = self.parts.send(number, data)
        except StoreError as error:
            self._failed = self._failed or error
        finally:
            self._room.release()

    def _raise_failed(self) -> None:
        if self._failed is not None:
            raise StoreError(self._failed.what, self._failed.way_out)

    def lend(self) -> Multipart:
        self._lent = True
        return self.parts

    def sent(self, number: int, tag: str) -> None:
        self._tags[number] = tag

    def stop(self) -> None:
        self._stopped = True

    def arrive(self) -> None:
        for sent in self._sending:
            sent.result()
        self._raise_failed()

    def complete(self) -> None:
        self.arrive()
        if self._tags:
            self.parts.complete(self._tags, -1 if self._lent else sum(self._sizes.values()))
            self._ended = True
        else:
            self.abort()
            self.parts.put_nothing()
        self._pool.shutdown()

    def abort(self) -> None:
        if self._ended:
            return
        self._ended = self._stopped = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        if wait(self._sending, _SENDING_SECONDS).not_done:
            self.parts.abort()  # the store may never answer them
        self._pool.shutdown()
        self.parts.abort()  # now, since a part that arrives after an abort stays
        if self._lent:
            self.parts.abort_again()


class S3Object(S3Content):
    """See StoredObject."""

    def upload(self, part_bytes: int) -> S3Upload:
        return S3Upload(Multipart.begun(self._named["Bucket"], self._named["Key"]), part_bytes)


def open_object(url: str) -> S3Object:
    """The object s3://BUCKET/KEY."""
    bucket, _, key = url.partition("://")[2].partition("/")
    return S3Object(bucket, key)
