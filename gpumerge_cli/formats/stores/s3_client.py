"""The client of botocore that all objects of S3 share, made once its settings have been checked."""

from __future__ import annotations

import os
import re
import threading
from functools import cache
from typing import Any

from botocore.config import Config
from botocore.session import get_session

from gpumerge_cli.formats.stores.base import StoreError
from gpumerge_cli.formats.stores.s3_answers import limit_answers
from gpumerge_cli.formats.stores.s3_errors import ENDPOINTS, PREFIXES, SETTINGS, store_errors
from gpumerge_cli.formats.stores.variables import is_store, secret_variables

_ATTEMPTS = 8
"""Tries of a request, with longer and longer pauses, unless AWS_MAX_ATTEMPTS says otherwise."""
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 30
_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")
_AS_KEYS_ARE = "write it without blanks and line ends, in ASCII"
_KEY = re.compile(r"[\x21-\x7e]+")
_TEXTS = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CA_BUNDLE")


_making = threading.Lock()


def client() -> Any:
    """The client. Raises StoreError for settings that it cannot have."""
    with _making, store_errors():
        try:
            return _made()
        except ValueError as error:  # its text may hold a password of a configuration file
            names = [name for name in secret_variables(PREFIXES) if os.environ[name] in str(error)] or [
                "a setting of AWS"
            ]
            raise StoreError(f"{', '.join(names)}: the value is not valid", SETTINGS) from None


@cache
def _made() -> Any:
    _check_variables()
    attempts: dict[str, Any] = {} if "AWS_MAX_ATTEMPTS" in os.environ else {"total_max_attempts": _ATTEMPTS}
    custom = any(os.environ.get(name) for name in ENDPOINTS)
    config = Config(
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_ANSWER_SECONDS,
        max_pool_connections=64,
        retries={"mode": "standard", **attempts},
        s3={"addressing_style": "path"} if custom else None,  # few other stores have a host name for each bucket
    )
    session = get_session()
    made = session.create_client("s3", region_name=os.environ.get("AWS_REGION"), config=config)
    _check_files(session.get_credentials())
    limit_answers(made._endpoint.http_session)
    return made


def _check_files(found: Any) -> None:
    """Raise StoreError for keys of a file of AWS, without showing them, that no request can have."""
    if getattr(found, "method", None) not in ("shared-credentials-file", "config-file"):
        return
    for name in ("access_key", "secret_key", "token"):
        if getattr(found, name) and not _KEY.fullmatch(getattr(found, name)):
            what = f"the {name.replace('_', ' ')} in a file of AWS has characters that a key cannot have"
            raise StoreError(what, _AS_KEYS_ARE)


def _check_variables() -> None:
    """Raise StoreError for values that the library would fail with, without showing them: they may hold passwords."""
    for name in ENDPOINTS:
        if os.environ.get(name) and not is_store(os.environ[name]):
            raise StoreError(f"{name} is not the URL of a store", "write for example http://HOST:9000")
    attempts = os.environ.get("AWS_MAX_ATTEMPTS")
    if attempts is not None and not (attempts.strip().isdecimal() and 0 < len(attempts) < 10 and int(attempts)):
        raise StoreError("AWS_MAX_ATTEMPTS is not a number of tries", "write a whole number, at least 1, or unset it")
    for name in _KEYS:  # they become fields of every request, which the library could not send
        if os.environ.get(name) and not _KEY.fullmatch(os.environ[name]):
            raise StoreError(f"{name} has characters that a key cannot have", _AS_KEYS_ARE)
    for name in _TEXTS:
        if not os.environ.get(name, "").isprintable():
            raise StoreError(f"{name} has characters that cannot be printed", "write it in one line")
