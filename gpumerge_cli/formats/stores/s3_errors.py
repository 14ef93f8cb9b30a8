"""The errors of botocore as StoreErrors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore import exceptions as failures
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from gpumerge_cli.formats.stores.base import ChangedError, MissingError, StoreError, UncertainError, cut
from gpumerge_cli.formats.stores.variables import without_values
from gpumerge_cli.urls import shown

_CREDENTIALS = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
SETTINGS = "check the name and the settings of AWS"
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""The variables that hold the store's address, the first one first."""
PREFIXES = ("AWS_",)
"""The beginnings of the names of variables whose values no error shows."""
_REFUSED = (
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "InvalidToken",
    "AuthorizationHeaderMalformed",
)
NO_ANSWER = (
    failures.HTTPClientError,
    failures.EndpointConnectionError,
    failures.ConnectionError,
    HTTPError,
)
"""The library lets some errors of the one below it through."""


class GoneError(StoreError):
    """There is no such upload."""


class DeniedError(StoreError):
    """The credentials lack a permission."""


@contextmanager
def store_errors() -> Iterator[None]:
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
    except NO_ANSWER as error:
        what = f"the store does not answer ({type(error).__name__})"
        raise UncertainError(what, "check the network, AWS_REGION and AWS_ENDPOINT_URL") from None
    except ResponseParserError:
        raise UncertainError("the store's answer is incomplete XML", "try later") from None
    except failures.BotoCoreError as error:
        text = cut(without_values(" ".join(str(error).split()).rstrip("."), PREFIXES))
        raise StoreError(text[:1].lower() + text[1:], SETTINGS) from None
    except MemoryError:
        raise
    except Exception as error:
        what = f"{_store_name()} gives an answer that makes no sense ({type(error).__name__})"
        raise UncertainError(what, "see whether AWS_ENDPOINT_URL is a store's, and the network leads to it") from error


def _store_name() -> str:
    """The store, by its address if a variable holds it, without a user and a password."""
    found = [os.environ[name] for name in ENDPOINTS if os.environ.get(name)]
    return f"the store at {cut(shown(found[0]).partition('://')[2])}" if found else "the store"


def _answered(error: failures.ClientError) -> StoreError:
    """The StoreError for a refusal by the store."""
    code = cut(str(error.response.get("Error", {}).get("Code", "")))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "NoSuchUpload":
        return GoneError("the upload no longer exists")
    if code == "NoSuchBucket":
        return StoreError("there is no such bucket", "check its name, and AWS_ENDPOINT_URL if it is not at AWS")
    if code in _REFUSED:
        return StoreError(f"the store refuses the credentials ({code})", _CREDENTIALS)
    if status == 404:
        return MissingError("there is no such object, or no such bucket", "check the name")
    if status == 403:
        return DeniedError("access is denied", "check the permissions of the credentials")
    if status in (412, 416):
        return ChangedError()
    if status >= 500 or code in ("SlowDown", "RequestTimeout", "Throttling"):
        tries = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) + 1
        what = f"the store answered {code or status} {tries} times"
        return UncertainError(what, "try later, or raise AWS_MAX_ATTEMPTS")
    text = cut(str(error.response.get("Error", {}).get("Message", "")).rstrip("."))
    return StoreError(f"the store answers {code or status}" + (f" ({text})" if text else ""), "check the name")


def field_of(answer: Mapping[str, Any], name: str) -> Any:
    """The value of a field of an answer. Raises UncertainError if it is missing: half an answer may have come."""
    if answer.get(name) in (None, ""):
        raise UncertainError(f"the store's answer lacks {name}", "try later")
    return answer[name]
