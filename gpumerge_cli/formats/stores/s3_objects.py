"""Objects of S3 and of stores that speak its protocol, by botocore.

An upload is plain data, a `Multipart`: any process can send a part of it, given that and the part's number.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from logging import getLogger
from typing import Any
from urllib.parse import urlsplit

from botocore import exceptions as failures
from botocore.config import Config
from botocore.session import get_session

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.formats.stores.base import ChangedError, Found, StoreError, WrongAnswerError, check_answer

_ATTEMPTS = 8
"""Tries of a request, with longer and longer pauses, unless AWS_MAX_ATTEMPTS says otherwise."""
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 30
_LONGEST_PAUSE = 10.0
_SENDING_SECONDS = 5.0
"""Seconds for which an upload that is dropped waits for parts that are under way."""
_UNDER_WAY_BYTES, _MOST_UNDER_WAY = 128 << 20, 8
_MOST_PARTS = 10_000
_CLOCK_SLACK = 2.0
"""Seconds by which moments of the store are rounded."""
_LOOKS = 3
"""Looks for parts that arrive after an upload was aborted."""
_CREDENTIALS = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_SETTINGS = "check the name and the settings of AWS"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_SHORT = 3
_REFUSED = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "AuthorizationHeaderMalformed",
)
_NO_ANSWER = (failures.HTTPClientError, failures.EndpointConnectionError, failures.ConnectionError)


@dataclass(frozen=True)
class Multipart:
    """A multipart upload under way, which any process may send parts of. upload_id: the store's name of it."""

    bucket: str
    key: str
    upload_id: str

    @classmethod
    def begun(cls, bucket: str, key: str) -> Multipart:
        """A new one. Raises StoreError, as all methods do."""
        start = time.monotonic()
        try:
            with _told():
                answer = _client().create_multipart_upload(Bucket=bucket, Key=key)
        except _UncertainError:
            cls(bucket, key, "")._drop_lost(start)
            raise
        begun = cls(bucket, key, answer["UploadId"])
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
            with _told():
                answer = _client().list_multipart_uploads(Bucket=self.bucket, Prefix=self.key)
            began = {one["UploadId"]: one["Initiated"] for one in answer.get("Uploads", []) if one["Key"] == self.key}
            last = began.pop(self.upload_id, None)
            if last is None:
                last = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"]) + timedelta(seconds=1)
            for other, moment in began.items():
                if 0 <= (last - moment).total_seconds() <= seconds:
                    replace(self, upload_id=other).abort()
        except (StoreError, KeyError, ValueError) as error:
            what = error.what if isinstance(error, StoreError) else "the store does not tell its time"
            told = f"s3://{self.bucket}/{self.key}: warning: unfinished uploads of it may stay ({what})"
            getLogger("gpumerge").warning("gpumerge: %s; remove them by the store's own tools", told)

    def send(self, number: int, data: bytes | bytearray) -> str:
        """Send part `number`, counted from 0, in place of an earlier one of this number; its tag."""
        with _told():
            answer = _client().upload_part(**self._named, PartNumber=number + 1, Body=data)
        tag: str = answer["ETag"]
        return tag

    def complete(self, tags: Mapping[int, str]) -> None:
        """Show the object. tags: of all its parts, by number."""
        parts = [{"PartNumber": number + 1, "ETag": tags[number]} for number in sorted(tags)]
        try:
            with _told():
                _client().complete_multipart_upload(**self._named, MultipartUpload={"Parts": parts})
        except _GoneError as error:
            # A first answer may have been lost: then the request that was sent again finds no upload.
            if S3Object(self.bucket, self.key).look().tag.strip('"') != _tag_of([tags[one] for one in sorted(tags)]):
                raise StoreError("the upload vanished ahead of its end", "write it again") from error
        except _UncertainError as error:
            raise StoreError(f"{error.what}; {self._there(tags)}", error.way_out) from None

    def _there(self, tags: Mapping[int, str]) -> str:
        """The state of the object, for when no answer tells whether the upload was completed."""
        try:
            found = S3Object(self.bucket, self.key).look()
        except StoreError as error:
            return f"a look at the object: {error.what}"
        ours = _tag_of([tags[one] for one in sorted(tags)])
        if ours and found.tag.strip('"') == ours:
            return f"the new object is in place all the same ({found.size} bytes, ETag {found.tag})"
        return f"an object of {found.size} bytes is there, ETag {found.tag}, " + (
            "not the new one" if ours else "which may be the new one"
        )

    def judge(self) -> None:
        """See Sendable. A store may deny to list parts, and still take them."""
        with suppress(_DeniedError), _told():
            _client().list_parts(**self._named, MaxParts=1)

    def abort(self) -> None:
        """Drop all parts."""
        with suppress(_GoneError), _told():
            _client().abort_multipart_upload(**self._named)

    def abort_again(self) -> None:
        """Drop the parts that others were sending while it was aborted: a store keeps these."""
        with suppress(_GoneError, _DeniedError), _told():
            for _ in range(_LOOKS):
                _client().list_parts(**self._named, MaxParts=1)
                _client().abort_multipart_upload(**self._named)

    @property
    def _named(self) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": self.key, "UploadId": self.upload_id}


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
        self._failed: StoreError | None = None
        self._ended = self._stopped = self._lent = False

    def send(self, number: int, data: bytearray) -> None:
        if number >= _MOST_PARTS:
            raise StoreError(f"an object has {_MOST_PARTS} parts at most", "write it with --parts, or to a file")
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
            self.parts.complete(self._tags)
            self._ended = True
        else:
            self.abort()
            with _told():
                _client().put_object(Bucket=self.parts.bucket, Key=self.parts.key, Body=b"")
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


class S3Object:
    """See StoredObject."""

    def __init__(self, bucket: str, key: str) -> None:
        self._named = {"Bucket": bucket, "Key": key}

    def look(self) -> Found:
        with _told():
            answer = _client().head_object(**self._named)
        return Found(answer["ContentLength"], answer["ETag"])

    def read(self, start: int, stop: int, found: Found) -> bytes:
        attempts = int(_client().meta.config.retries["total_max_attempts"])
        wrong: WrongAnswerError | None = None
        for attempt in range(attempts):
            if attempt:
                time.sleep(min(0.1 * 2**attempt, _LONGEST_PAUSE))
            with _told():
                answer = _client().get_object(**self._named, Range=f"bytes={start}-{stop - 1}", IfMatch=found.tag)
                body = answer["Body"]
                try:
                    data: bytes = body.read()
                except (failures.HTTPClientError, failures.IncompleteReadError, failures.FlexibleChecksumError):
                    # The library sends requests again, but answers that break off are the caller's.
                    body.close()
                    continue
            given, tag = _range_of(answer.get("ContentRange", "")), answer.get("ETag", "")
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
        found = self.look()
        yield self.read(0, found.size, found)

    def upload(self, part_bytes: int) -> S3Upload:
        return S3Upload(Multipart.begun(self._named["Bucket"], self._named["Key"]), part_bytes)


def open_object(url: str) -> S3Object:
    """The object s3://BUCKET/KEY."""
    bucket, _, key = url.partition("://")[2].partition("/")
    return S3Object(bucket, key)


_making = threading.Lock()


def _client() -> Any:
    with _making, _told():
        try:
            return _made()
        except ValueError as error:  # its text may hold a password of a configuration file
            names = [name for name in _secrets() if os.environ[name] in str(error)] or ["a setting of AWS"]
            raise StoreError(f"{', '.join(names)}: the value is not valid", _SETTINGS) from None


@cache
def _made() -> Any:
    _judge_variables()
    told: dict[str, Any] = {} if "AWS_MAX_ATTEMPTS" in os.environ else {"total_max_attempts": _ATTEMPTS}
    custom = any(os.environ.get(name) for name in _ENDPOINTS)
    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_ANSWER_SECONDS,
        max_pool_connections=64,
        retries={"mode": "standard", **told},
        s3={"addressing_style": "path"} if custom else None,  # few other stores have a host name for each bucket
    )
    return get_session().create_client("s3", region_name=os.environ.get("AWS_REGION"), config=config)


def _judge_variables() -> None:
    """Raise StoreError for values that the library would fail with, without showing them: they may hold passwords."""
    for name in _ENDPOINTS:
        value = os.environ.get(name)
        try:
            place = urlsplit(value or "http://host")
            valid = place.scheme in ("http", "https") and bool(place.hostname) and place.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise StoreError(f"{name} is not the URL of a store", "write for example http://HOST:9000")
    attempts = os.environ.get("AWS_MAX_ATTEMPTS")
    if attempts is not None and not (attempts.strip().isdecimal() and 0 < len(attempts) < 10 and int(attempts)):
        raise StoreError("AWS_MAX_ATTEMPTS is not a number of tries", "write a whole number from 1 on, or unset it")


def _secrets() -> list[str]:
    """The variables of AWS whose values no error shows, the longest value first. A value of few letters is no secret,
    and occurs in other words.
    """
    found = [name for name, value in os.environ.items() if name.startswith("AWS_") and len(value) > _SHORT]
    return sorted(found, key=lambda name: -len(os.environ[name]))


def _without_values(text: str) -> str:
    for name in _secrets():
        text = text.replace(os.environ[name], f"${name}")
    return text


class _GoneError(StoreError):
    """There is no such upload."""


class _UncertainError(StoreError):
    """No answer tells whether the store did what it was asked for."""


class _DeniedError(StoreError):
    """The credentials lack a permission."""


@contextmanager
def _told() -> Iterator[None]:
    """Turns the library's errors into StoreErrors."""
    try:
        yield
    except failures.ClientError as error:
        raise _answered(error) from None
    except failures.NoCredentialsError:
        raise StoreError("no credentials were found", _CREDENTIALS) from None
    except failures.PartialCredentialsError:
        raise StoreError("the credentials are not complete", _CREDENTIALS) from None
    except _NO_ANSWER as error:
        what = f"the store does not answer ({type(error).__name__})"
        raise _UncertainError(what, "check the network, AWS_REGION and AWS_ENDPOINT_URL") from None
    except failures.BotoCoreError as error:
        text = _without_values(" ".join(str(error).split()).rstrip("."))
        raise StoreError(text[:1].lower() + text[1:], _SETTINGS) from None


def _answered(error: failures.ClientError) -> StoreError:
    """The StoreError for a refusal by the store."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "NoSuchUpload":
        return _GoneError("the upload is not there any more")
    if code == "NoSuchBucket":
        return StoreError("there is no such bucket", "check its name, and AWS_ENDPOINT_URL if it is not at AWS")
    if code in _REFUSED:
        return StoreError(f"the store refuses the credentials ({code})", _CREDENTIALS)
    if status == 404:
        return StoreError("there is no such object, or no such bucket", "check the name")
    if status == 403:
        return _DeniedError("access is denied", "check the permissions of the credentials")
    if status in (412, 416):
        return ChangedError()
    if status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling"):
        tries = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) + 1
        what = f"the store answered {code or status} {tries} times"
        return _UncertainError(what, "try later, or raise AWS_MAX_ATTEMPTS")
    text = str(error.response.get("Error", {}).get("Message", "")).rstrip(".")
    return StoreError(f"the store answers {code or status}" + (f" ({text})" if text else ""), "check the name")


def _range_of(told: str) -> tuple[int, int, int] | None:
    """Start, stop and size (-1 if unknown) of a Content-Range; None if it tells no range."""
    parts = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", told.strip())
    if parts is None:
        return None
    return int(parts[1]), int(parts[2]) + 1, -1 if parts[3] == "*" else int(parts[3])


def _tag_of(tags: list[str]) -> str:
    """The tag that S3 gives an object of parts with these tags; "" if they are no digests, as with some encryptions."""
    try:
        digests = b"".join(bytes.fromhex(tag.strip('"')) for tag in tags)
    except ValueError:
        return ""
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(tags)}"
