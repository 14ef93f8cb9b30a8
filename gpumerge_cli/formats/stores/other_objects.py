"""Objects of Google Cloud Storage, of Azure, and of web servers, by obstore."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from typing import Any
from urllib.parse import unquote, urlsplit

import obstore
from obstore import exceptions as failures

from gpumerge_cli.formats.stores.base import (
    ChangedError,
    Found,
    MissingError,
    StoreError,
    UncertainError,
    WrongAnswerError,
    check_answer,
    cut,
    state_of,
)
from gpumerge_cli.formats.stores.variables import check_variables, without_values
from gpumerge_cli.urls import redacted, scheme_of

_RETRIES = {"max_retries": 8, "retry_timeout": timedelta(seconds=120)}
_TIMES = {"connect_timeout": timedelta(seconds=10), "timeout": timedelta(seconds=60)}
_TRY = "check the name and the network, or try later"
_AT_ONCE = 8
_WRONG_ANSWERS = 3
"""Answers for another range or of another length, after which a read fails."""
_WEB = ("http", "https")
_PREFIXES: Mapping[str, str] = {"gs": "GOOGLE_", "az": "AZURE_"}
"""By scheme: how the names of the variables begin that the library reads."""


class OtherObject:
    """See StoredObject. store, path: obstore's. web: it lies on a web server, which may know nothing of ranges."""

    def __init__(self, store: Any, path: str, *, web: bool = False) -> None:
        self._store = store
        self._path = path
        self._web = web

    def stat(self) -> Found:
        with _store_errors():
            if not self._web:
                return _found(obstore.head(self._store, self._path))
            try:
                return _found(obstore.get(self._store, self._path, options={"range": (0, 1)}).meta)
            except failures.NotSupportedError:
                return Found(0, "", ranged=False)
            except failures.GenericError as error:
                if _status(error) != 416:
                    raise
                return _found(obstore.head(self._store, self._path))  # it is empty

    def read(self, start: int, stop: int, found: Found) -> bytes:
        options: dict[str, Any] = {"range": (start, stop)}
        if found.tag and not found.dated and not self._web:  # many servers compare tags in their own ways
            options["if_match"] = found.tag
        for attempt in range(_WRONG_ANSWERS):
            with _store_errors():
                answer = obstore.get(self._store, self._path, options=options)
                there = _found(answer.meta)
                if there != found:
                    raise ChangedError
                data = _at_most(answer, stop - start + 1)
            first, last = answer.range
            try:
                check_answer((start, stop), found, given=(first, last, there.size), tag=there.tag, length=len(data))
            except WrongAnswerError:
                if attempt == _WRONG_ANSWERS - 1:
                    raise
                continue
            return data
        raise AssertionError

    def blocks(self) -> Iterator[bytes]:
        with _store_errors():
            answer = obstore.get(self._store, self._path)
            there, size = 0, answer.meta["size"]
            for block in answer.stream():
                there += len(block)
                if there > size:
                    break
                yield bytes(block)
        if there != size:
            more = "or more " if there > size else ""
            raise StoreError(f"the store gave {there} {more}bytes of {size}", "try again")

    def upload(self, part_bytes: int) -> OtherUpload:
        # A bucket that is missing looks like a missing object, and shows with the first part.
        before = None
        with suppress(MissingError):
            before = self.stat()
        writer = obstore.open_writer(self._store, self._path, buffer_size=part_bytes, max_concurrency=_AT_ONCE)
        return OtherUpload(writer, self, before)


class OtherUpload:
    """See Upload. The writer makes parts of its own of what it is given in order, and sends several at once.

    target: the object that it writes. before: the one that is there, None if there is none.
    """

    any_order = False

    def __init__(self, writer: Any, target: OtherObject, before: Found | None) -> None:
        self._object = target
        self._before = before
        self._size = 0
        self._stack = ExitStack()
        self._writer = self._stack.enter_context(writer)
        self._next = 0
        self._waiting: dict[int, bytearray] = {}
        self._changed = threading.Condition()
        self._ended = False

    def send(self, number: int, data: bytearray) -> None:
        with self._changed:
            # Whoever has the next part never waits here, so this ends.
            self._changed.wait_for(lambda: self._ended or number == self._next or len(self._waiting) < _AT_ONCE)
            if self._ended:
                return
            self._waiting[number] = data
            try:
                while self._next in self._waiting:
                    part = bytes(self._waiting.pop(self._next))
                    with _store_errors():
                        self._writer.write(part)
                    self._size += len(part)
                    self._next += 1
            except StoreError as error:
                self._ended = True
                raise _with_upload(error) from None
            finally:
                self._changed.notify_all()

    def lend(self) -> None:
        """The library hides the name of the upload."""

    def sent(self, number: int, tag: str) -> None:
        """It is not lent."""

    def stop(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def arrive(self) -> None:
        """The writer reports only at its end which parts have arrived."""

    def complete(self) -> None:
        assert not self._waiting, "every part was sent"
        try:
            with _store_errors():
                self._stack.close()
        except StoreError as error:
            # The store may have done what it was asked for, and only its answer be lost.
            state = state_of(self._object.stat, size=self._size, before=self._before)
            error = _with_upload(error)
            raise StoreError(f"{error.what}; {state.message}", error.way_out) from None
        self._ended = True

    def abort(self) -> None:
        self.stop()
        error, stack = StoreError("aborted"), self._stack.pop_all()
        with _store_errors():
            stack.__exit__(StoreError, error, None)


def _with_upload(error: StoreError) -> StoreError:
    """The error of an upload. The library names no upload, so one that a lost answer began cannot be found."""
    if not isinstance(error, UncertainError):
        return error
    return StoreError(f"{error.what}; an unfinished upload of it may stay", error.way_out)


def open_object(url: str) -> OtherObject:
    """The object of a URL: gs://BUCKET/KEY, az://CONTAINER/KEY, or any http(s) URL."""
    from obstore.store import HTTPStore, from_url

    options: dict[str, Any] = dict(_TIMES)
    if scheme_of(url) in _PREFIXES:
        check_variables(_PREFIXES[scheme_of(url)])
    with _store_errors():
        if scheme_of(url) not in _WEB:
            bucket, _, key = url.partition("://")[2].partition("/")
            store = from_url(f"{scheme_of(url)}://{bucket}", retry_config=_RETRIES, client_options=options)
            return OtherObject(store, key)
        address = urlsplit(url)
        if address.username is not None:
            word = f"{unquote(address.username)}:{unquote(address.password or '')}".encode()
            options["default_headers"] = {"authorization": f"Basic {base64.b64encode(word).decode()}"}
            address = address._replace(netloc=address.netloc.rpartition("@")[2])
        options["allow_http"] = address.scheme.lower() == "http"
        plain = address._replace(fragment="").geturl()
        return OtherObject(HTTPStore.from_url(plain, retry_config=_RETRIES, client_options=options), "", web=True)


def _at_most(answer: Any, limit: int) -> bytes:
    """The bytes of an answer; not many more than `limit`, since a wrong one may have no end."""
    blocks, size = [], 0
    for block in answer.stream(min_chunk_size=limit):
        blocks.append(block)
        size += len(block)
        if size >= limit:
            break
    return b"".join(blocks)


def _found(meta: Any) -> Found:
    changed = meta["last_modified"]  # 1970 where the server does not state it
    tag = meta["e_tag"] or ""
    return Found(meta["size"], tag or (str(changed) if changed.timestamp() else ""), dated=not tag)


@contextmanager
def _store_errors() -> Iterator[None]:
    """Turns the library's errors into StoreErrors."""
    try:
        yield
    except FileNotFoundError:
        raise MissingError("there is no such object", "check the name") from None
    except failures.PreconditionError:
        raise ChangedError from None
    except (failures.PermissionDeniedError, failures.UnauthenticatedError):
        raise StoreError("access is denied", "check the credentials and their permissions") from None
    except (failures.BaseError, ValueError, OSError) as error:
        if _status(error) in (401, 403):
            raise StoreError("access is denied", "check the credentials and their permissions") from None
        if _status(error):  # what else the answer says may repeat the query
            kind = UncertainError if _status(error) >= 500 else StoreError
            raise kind(f"the store answers {_status(error)}", "check the name, or try later") from None
        raise UncertainError(f"the store failed ({_words_of(error)})", _TRY) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the library's own, which it gives no name
            raise
        raise UncertainError(f"the store's library failed ({_words_of(error)})", _TRY) from None


def _words_of(error: BaseException) -> str:
    """The first line of an error of the library, without what may be secret."""
    first = redacted(str(error).partition("\n")[0])
    first = without_values(first, ("SERVICE_ACCOUNT", *_PREFIXES.values()))
    head, found, _ = first.partition("Unable to decode service account file")  # what follows repeats its values
    return cut((head + found if found else first).rstrip("."))


def _status(error: BaseException) -> int:
    """The status of a server's refusal, 0 if there is none."""
    status = str(error).partition("status code: ")[2][:3]
    return int(status) if status.isdecimal() else 0
