"""The content of objects of S3."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from botocore import exceptions as failures

from gpumerge_cli.formats.stores.base import Found, StoreError, WrongAnswerError, check_answer
from gpumerge_cli.formats.stores.s3_client import client
from gpumerge_cli.formats.stores.s3_errors import NO_ANSWER, field_of, store_errors

_LONGEST_PAUSE = 10.0


class S3Content:
    """An object as it is read. See StoredObject."""

    def __init__(self, bucket: str, key: str) -> None:
        self._named = {"Bucket": bucket, "Key": key}

    def stat(self) -> Found:
        with store_errors():
            answer = client().head_object(**self._named)
            size = int(field_of(answer, "ContentLength"))
            if size < 0:
                raise ValueError(size)
            return _found(answer, size)

    def read(self, start: int, stop: int, found: Found) -> bytes:
        attempts = int(client().meta.config.retries["total_max_attempts"])
        wrong: WrongAnswerError | None = None
        same = {} if found.dated or not found.tag else {"IfMatch": found.tag}
        for attempt in range(attempts):
            if attempt:
                time.sleep(min(0.1 * 2**attempt, _LONGEST_PAUSE))
            with store_errors():
                answer = client().get_object(**self._named, Range=f"bytes={start}-{stop - 1}", **same)
                body = answer["Body"]
                try:
                    data = _at_most(body, stop - start + 1)
                except (*NO_ANSWER, failures.IncompleteReadError, failures.FlexibleChecksumError):
                    # The library sends requests again, but answers that break off are the caller's.
                    continue
                finally:
                    body.close()
            given = _range_of(answer.get("ContentRange", ""))
            tag = _found(answer, 0).tag if found.dated else answer.get("ETag", "")
            try:
                check_answer((start, stop), found, given=given, tag=tag, length=len(data))
            except WrongAnswerError as error:
                wrong = error
                continue
            return data
        if wrong is not None:
            raise StoreError(f"{wrong.what}, {attempts} times", wrong.way_out)
        raise StoreError(f"the store's answers broke off {attempts} times", "try later, or raise AWS_MAX_ATTEMPTS")

    def blocks(self) -> Iterator[bytes]:
        found = self.stat()
        yield self.read(0, found.size, found)


def _found(answer: Mapping[str, Any], size: int) -> Found:
    """An object of so many bytes, by the headers of an answer. Some stores give no ETag: the date stands for it."""
    tag = answer.get("ETag", "")
    return Found(size, tag or str(answer.get("LastModified", "")), dated=not tag)


def _at_most(body: Any, limit: int) -> bytes:
    """The bytes of an answer's body; no more than so many, since a wrong answer may have no end.

    The library judges length and checksum when it finds the end.
    """
    blocks: list[bytes] = []
    while limit > 0 and (block := body.read(limit)):
        blocks.append(block)
        limit -= len(block)
    return b"".join(blocks)


def _range_of(header: str) -> tuple[int, int, int] | None:
    """Start, stop and size (-1 if unknown) of a Content-Range; None if it holds no range."""
    parts = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", header.strip())
    if parts is None:
        return None
    return int(parts[1]), int(parts[2]) + 1, -1 if parts[3] == "*" else int(parts[3])
