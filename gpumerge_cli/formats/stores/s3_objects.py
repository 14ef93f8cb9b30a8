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
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from logging import getLogger
from typing import Any

from botocore import exceptions as failures
from botocore.config import Config
from botocore.parsers import ResponseParserError
from botocore.session import get_session
from urllib3.exceptions import HTTPError

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.formats.stores.base import (
    ChangedError,
    Found,
    MissingError,
    State,
    StoreError,
    UncertainError,
    WrongAnswerError,
    check_answer,
    cut,
    state_of,
)
from gpumerge_cli.formats.stores.variables import is_store, names_of, without_values
from gpumerge_cli.urls import shown

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
_MOST_PAGES = 1000
"""Pages of a list of uploads, after which it is one without an end."""
_MOST_ANSWER = 16 << 20
"""Bytes of an answer that is no object; a list of 1000 uploads with long names has a few million."""
_LOOKS = 3
"""Looks for parts that arrive after an upload was aborted."""
_CREDENTIALS = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_SETTINGS = "check the name and the settings of AWS"
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")
_AS_KEYS_ARE = "write it without blanks and line ends, in ASCII"
_KEY = re.compile(r"[\x21-\x7e]+")
_TEXTS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CA_BUNDLE")
_PREFIXES = ("AWS_",)
_REFUSED = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "AuthorizationHeaderMalformed",
)
_NO_ANSWER = (
    failures.HTTPClientError,
    failures.EndpointConnectionError,
    failures.ConnectionError,
    HTTPError,
)
"""The library lets some errors of the one below it through."""


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
                name = _told_in(answer, "UploadId")
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
            what = error.what if isinstance(error, StoreError) else "the store does not tell its time"
            told = f"s3://{self.bucket}/{self.key}: warning: unfinished uploads of it may stay ({what})"
            getLogger("gpumerge").warning("gpumerge: %s; remove them by the store's own tools", told)

    def _under_way(self) -> tuple[dict[str, datetime], str]:
        """The moments at which the uploads of this key began, by their names, and the store's time of now."""
        began: dict[str, datetime] = {}
        place: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            with _told():
                answer = _client().list_multipart_uploads(Bucket=self.bucket, Prefix=self.key, **place)
            for one in answer.get("Uploads", []):
                if _told_in(one, "Key") == self.key:
                    began[_told_in(one, "UploadId")] = _told_in(one, "Initiated")
            if not _told_in(answer, "IsTruncated"):
                return began, answer["ResponseMetadata"]["HTTPHeaders"].get("date", "")
            last, place = place, {"KeyMarker": _told_in(answer, "NextKeyMarker")}
            if answer.get("NextUploadIdMarker"):
                place["UploadIdMarker"] = answer["NextUploadIdMarker"]
            if place == last:
                break
        raise StoreError("the store's list of uploads has no end", "try later")

    def send(self, number: int, data: bytes | bytearray) -> str:
        """Send part `number`, counted from 0, in place of an earlier one of this number; its tag."""
        with _told():
            answer = _client().upload_part(**self._named, PartNumber=number + 1, Body=data)
        return str(_told_in(answer, "ETag"))

    def complete(self, tags: Mapping[int, str], size: int = -1) -> None:
        """Show the object. tags: of all its parts, by number. size: its bytes, -1 if unknown."""
        parts = [{"PartNumber": number + 1, "ETag": tags[number]} for number in sorted(tags)]
        try:
            with _told():
                _client().complete_multipart_upload(**self._named, MultipartUpload={"Parts": parts})
        except _GoneError as error:
            # A first answer may have been lost: then the request that was sent again finds no upload.
            there = self._state(tags, size)
            if not there.ours:
                what = f"the upload vanished ahead of its end; {there.told}"
                raise StoreError(what, "write it again") from error
        except UncertainError as error:
            raise StoreError(f"{error.what}; {self._state(tags, size).told}", error.way_out) from None

    def _state(self, tags: Mapping[int, str], size: int) -> State:
        tag = _tag_of([tags[one] for one in sorted(tags)])
        return state_of(S3Object(self.bucket, self.key).look, size=size, tag=tag)

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

    def put_nothing(self) -> None:
        """Show an empty object, which has no parts."""
        try:
            with _told():
                _client().put_object(Bucket=self.bucket, Key=self.key, Body=b"")
        except UncertainError as error:
            nothing = hashlib.md5(usedforsecurity=False).hexdigest()
            state = state_of(S3Object(self.bucket, self.key).look, size=0, tag=nothing)
            raise StoreError(f"{error.what}; {state.told}", error.way_out) from None

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
        self._sizes: dict[int, int] = {}
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


class S3Object:
    """See StoredObject."""

    def __init__(self, bucket: str, key: str) -> None:
        self._named = {"Bucket": bucket, "Key": key}

    def look(self) -> Found:
        with _told():
            answer = _client().head_object(**self._named)
            size = int(_told_in(answer, "ContentLength"))
            if size < 0:
                raise ValueError(size)
            return _found(answer, size)

    def read(self, start: int, stop: int, found: Found) -> bytes:
        attempts = int(_client().meta.config.retries["total_max_attempts"])
        wrong: WrongAnswerError | None = None
        same = {} if found.dated or not found.tag else {"IfMatch": found.tag}
        for attempt in range(attempts):
            if attempt:
                time.sleep(min(0.1 * 2**attempt, _LONGEST_PAUSE))
            with _told():
                answer = _client().get_object(**self._named, Range=f"bytes={start}-{stop - 1}", **same)
                body = answer["Body"]
                try:
                    data = _at_most(body, stop - start + 1)
                except (*_NO_ANSWER, failures.IncompleteReadError, failures.FlexibleChecksumError):
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
        found = self.look()
        yield self.read(0, found.size, found)

    def upload(self, part_bytes: int) -> S3Upload:
        return S3Upload(Multipart.begun(self._named["Bucket"], self._named["Key"]), part_bytes)


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


def _told_in(answer: Mapping[str, Any], name: str) -> Any:
    """The value of a field of an answer. Raises UncertainError if it is missing: half an answer may have come."""
    if answer.get(name) in (None, ""):
        raise UncertainError(f"the store's answer lacks {name}", "try later")
    return answer[name]


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
            names = [name for name in names_of(_PREFIXES) if os.environ[name] in str(error)] or ["a setting of AWS"]
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
    session = get_session()
    client = session.create_client("s3", region_name=os.environ.get("AWS_REGION"), config=config)
    _judge_files(session.get_credentials())
    _limit(client._endpoint.http_session)
    return client


def _limit(requests: Any) -> None:
    """Have what sends a client's requests read no answer beyond `_MOST_ANSWER` bytes, but for an object's bytes."""
    send = requests.send

    def sent(request: Any) -> Any:
        streamed, request.stream_output = request.stream_output, True
        answer = send(request)
        if streamed and answer.status_code < 300:
            return answer
        answer.raw = _Limited(answer.raw)
        try:
            answer.content  # noqa: B018 - it reads and keeps it
        except HTTPError as error:
            raise failures.ConnectionClosedError(error=error, request=request, endpoint_url=request.url) from error
        return answer

    requests.send = sent


class _Limited:
    """The raw body of an answer that the library reads whole."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def stream(self) -> Iterator[bytes]:
        size = 0
        for block in self._raw.stream():
            size += len(block)
            if size > _MOST_ANSWER:
                self._raw.close()
                raise UncertainError("the store's answer has no end", "try later")
            yield block


def _judge_files(found: Any) -> None:
    """Raise StoreError for keys of a file of AWS, without showing them, that no request can have."""
    if getattr(found, "method", None) not in ("shared-credentials-file", "config-file"):
        return
    for name in ("access_key", "secret_key", "token"):
        if getattr(found, name) and not _KEY.fullmatch(getattr(found, name)):
            what = f"the {name.replace('_', ' ')} in a file of AWS has characters that no key has"
            raise StoreError(what, _AS_KEYS_ARE)


def _judge_variables() -> None:
    """Raise StoreError for values that the library would fail with, without showing them: they may hold passwords."""
    for name in _ENDPOINTS:
        if os.environ.get(name) and not is_store(os.environ[name]):
            raise StoreError(f"{name} is not the URL of a store", "write for example http://HOST:9000")
    attempts = os.environ.get("AWS_MAX_ATTEMPTS")
    if attempts is not None and not (attempts.strip().isdecimal() and 0 < len(attempts) < 10 and int(attempts)):
        raise StoreError("AWS_MAX_ATTEMPTS is not a number of tries", "write a whole number from 1 on, or unset it")
    for name in _KEYS:  # they become fields of every request, which the library could not send
        if os.environ.get(name) and not _KEY.fullmatch(os.environ[name]):
            raise StoreError(f"{name} has characters that no key has", _AS_KEYS_ARE)
    for name in _TEXTS:
        if not os.environ.get(name, "").isprintable():
            raise StoreError(f"{name} has characters that cannot be printed", "write it in one line")


class _GoneError(StoreError):
    """There is no such upload."""


class _DeniedError(StoreError):
    """The credentials lack a permission."""


@contextmanager
def _told() -> Iterator[None]:
    """Turns the library's errors into StoreErrors. Those that are not its own come from answers it did not expect."""
    try:
        yield
    except StoreError:
        raise
    except failures.ClientError as error:
        raise _answered(error) from None
    except failures.NoCredentialsError:
        raise StoreError("no credentials were found", _CREDENTIALS) from None
    except failures.PartialCredentialsError:
        raise StoreError("the credentials are not complete", _CREDENTIALS) from None
    except _NO_ANSWER as error:
        what = f"the store does not answer ({type(error).__name__})"
        raise UncertainError(what, "check the network, AWS_REGION and AWS_ENDPOINT_URL") from None
    except ResponseParserError:
        raise UncertainError("the store's answer is no whole XML", "try later") from None
    except failures.BotoCoreError as error:
        text = cut(without_values(" ".join(str(error).split()).rstrip("."), _PREFIXES))
        raise StoreError(text[:1].lower() + text[1:], _SETTINGS) from None
    except MemoryError:
        raise
    except Exception as error:
        what = f"{_place()} gives an answer that makes no sense ({type(error).__name__})"
        raise UncertainError(what, "see whether AWS_ENDPOINT_URL is a store's, and the network leads to it") from error


def _place() -> str:
    """The store, by its address if a variable tells it. A user and a password in that are left out."""
    found = [os.environ[name] for name in _ENDPOINTS if os.environ.get(name)]
    return f"the store at {cut(shown(found[0]).partition('://')[2])}" if found else "the store"


def _answered(error: failures.ClientError) -> StoreError:
    """The StoreError for a refusal by the store."""
    code = cut(str(error.response.get("Error", {}).get("Code", "")))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "NoSuchUpload":
        return _GoneError("the upload is not there any more")
    if code == "NoSuchBucket":
        return StoreError("there is no such bucket", "check its name, and AWS_ENDPOINT_URL if it is not at AWS")
    if code in _REFUSED:
        return StoreError(f"the store refuses the credentials ({code})", _CREDENTIALS)
    if status == 404:
        return MissingError("there is no such object, or no such bucket", "check the name")
    if status == 403:
        return _DeniedError("access is denied", "check the permissions of the credentials")
    if status in (412, 416):
        return ChangedError()
    if status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling"):
        tries = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) + 1
        what = f"the store answered {code or status} {tries} times"
        return UncertainError(what, "try later, or raise AWS_MAX_ATTEMPTS")
    text = cut(str(error.response.get("Error", {}).get("Message", "")).rstrip("."))
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
