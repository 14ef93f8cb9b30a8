"""Uploads to S3 by parts.

An upload is plain data, a `Multipart`: any process can send a part of it, given that and the part's number.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from logging import getLogger

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.formats.stores.base import State, StoreError, UncertainError, state_of
from gpumerge_cli.formats.stores.s3_client import client
from gpumerge_cli.formats.stores.s3_content import S3Content
from gpumerge_cli.formats.stores.s3_errors import DeniedError, GoneError, field_of, store_errors

_CLOCK_SLACK = 2.0
"""Seconds by which moments of the store are rounded."""
_MOST_PAGES = 1000
"""Pages of a list of uploads, after which it is one without an end."""
_LOOKS = 3
"""Looks for parts that arrive after an upload was aborted."""


@dataclass(frozen=True)
class Multipart:
    """A multipart upload under way. Any process may send parts of it."""

    bucket: str
    key: str
    upload_id: str
    """The store's name of it."""

    @classmethod
    def begun(cls, bucket: str, key: str) -> Multipart:
        """A new one. Raises StoreError, as all methods do."""
        start = time.monotonic()
        try:
            with store_errors():
                answer = client().create_multipart_upload(Bucket=bucket, Key=key)
                name = field_of(answer, "UploadId")
        except UncertainError:
            cls(bucket, key, "")._drop_lost(start)
            raise
        begun = cls(bucket, key, name)
        if answer["ResponseMetadata"].get("RetryAttempts"):
            begun._drop_lost(start)
        return begun

    def _drop_lost(self, start: float) -> None:
        """Drop the other uploads of this key that began since `start`, a monotonic moment; warn of what may stay.

        The requests whose answers were lost began them. By the store's clock: this upload's own beginning is the last
        moment, or the time of the answer where there is no upload.
        """
        seconds = time.monotonic() - start + _CLOCK_SLACK
        try:
            began, now = self._under_way()
            last = began.pop(self.upload_id, None)
            if last is None:
                last = parsedate_to_datetime(now) + timedelta(seconds=1)
            for other, moment in began.items():
                if 0 <= (last - moment).total_seconds() <= seconds:
                    replace(self, upload_id=other).abort()
        except (StoreError, ValueError, TypeError) as error:
            what = error.what if isinstance(error, StoreError) else "the store's answer has no time"
            message = f"s3://{self.bucket}/{self.key}: warning: unfinished uploads of it may stay ({what})"
            getLogger("gpumerge").warning("gpumerge: %s; remove them by the store's own tools", message)

    def _under_way(self) -> tuple[dict[str, datetime], str]:
        """The moments at which the uploads of this key began, by their names, and the store's time of now."""
        began: dict[str, datetime] = {}
        place: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            with store_errors():
                answer = client().list_multipart_uploads(Bucket=self.bucket, Prefix=self.key, **place)
            for one in answer.get("Uploads", []):
                if field_of(one, "Key") == self.key:
                    began[field_of(one, "UploadId")] = field_of(one, "Initiated")
            if not field_of(answer, "IsTruncated"):
                return began, answer["ResponseMetadata"]["HTTPHeaders"].get("date", "")
            last, place = place, {"KeyMarker": field_of(answer, "NextKeyMarker")}
            if answer.get("NextUploadIdMarker"):
                place["UploadIdMarker"] = answer["NextUploadIdMarker"]
            if place == last:
                break
        raise StoreError("the store's list of uploads has no end", "try later")

    def send(self, number: int, data: bytes | bytearray) -> str:
        """Send part `number`, counted from 0, in place of an earlier one of this number; its tag."""
        with store_errors():
            answer = client().upload_part(**self._named, PartNumber=number + 1, Body=data)
        return str(field_of(answer, "ETag"))

    def complete(self, tags: Mapping[int, str], size: int = -1) -> None:
        """Show the object. tags: of all its parts, by number. size: its bytes, -1 if unknown."""
        parts = [{"PartNumber": number + 1, "ETag": tags[number]} for number in sorted(tags)]
        try:
            with store_errors():
                client().complete_multipart_upload(**self._named, MultipartUpload={"Parts": parts})
        except GoneError as error:
            # A first answer may have been lost: then the request that was sent again finds no upload.
            there = self._state(tags, size)
            if not there.ours:
                what = f"the upload vanished before its end; {there.message}"
                raise StoreError(what, "write it again") from error
        except UncertainError as error:
            raise StoreError(f"{error.what}; {self._state(tags, size).message}", error.way_out) from None

    def _state(self, tags: Mapping[int, str], size: int) -> State:
        tag = _tag_of([tags[one] for one in sorted(tags)])
        return state_of(S3Content(self.bucket, self.key).stat, size=size, tag=tag)

    def check(self) -> None:
        """See Sendable. A store may deny to list parts, and still take them."""
        with suppress(DeniedError), store_errors():
            client().list_parts(**self._named, MaxParts=1)

    def abort(self) -> None:
        """Drop all parts."""
        with suppress(GoneError), store_errors():
            client().abort_multipart_upload(**self._named)

    def abort_again(self) -> None:
        """Drop the parts that others were sending while it was aborted: a store keeps these."""
        with suppress(GoneError, DeniedError), store_errors():
            for _ in range(_LOOKS):
                client().list_parts(**self._named, MaxParts=1)
                client().abort_multipart_upload(**self._named)

    def put_nothing(self) -> None:
        """Show an empty object, which has no parts."""
        try:
            with store_errors():
                client().put_object(Bucket=self.bucket, Key=self.key, Body=b"")
        except UncertainError as error:
            nothing = hashlib.md5(usedforsecurity=False).hexdigest()
            state = state_of(S3Content(self.bucket, self.key).stat, size=0, tag=nothing)
            raise StoreError(f"{error.what}; {state.message}", error.way_out) from None

    @property
    def _named(self) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self.key, "UploadId": self.upload_id}


def _tag_of(tags: list[str]) -> str:
    """The tag that S3 gives an object of parts with these tags; "" if they are not digests: so with some encryption."""
    try:
        digests = b"".join(bytes.fromhex(tag.strip('"')) for tag in tags)
    except ValueError:
        return ""
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(tags)}"
