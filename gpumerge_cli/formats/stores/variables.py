"""Variables of the environment that libraries of stores read: checked first, and never shown, since many are secret."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from gpumerge_cli.formats.stores.base import StoreError

_SHORT = 3
_URLS = (
    "GOOGLE_BASE_URL",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_MSI_ENDPOINT",
    "AZURE_IDENTITY_ENDPOINT",
    "AZURE_AUTHORITY_HOST",
    "AZURE_STORAGE_AUTHORITY_HOST",
)
_ONE_LINE = ("GOOGLE_BEARER_TOKEN", "AZURE_STORAGE_", "AZURE_CLIENT_", "AZURE_TENANT_ID", "AZURE_FABRIC_SESSION_TOKEN")
"""The beginnings of the names of those that become a part of a request."""
_ACCOUNT = re.compile(r"[a-z0-9-]+")


def is_store(value: str) -> bool:
    """Whether a value is the http or https URL of a server."""
    try:
        address = urlsplit(value)
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0 and " " not in value
    except ValueError:
        return False


def check_variables(prefix: str) -> None:
    """Raise StoreError for values of Google's or Azure's variables that the library would fail with.

    prefix: GOOGLE_ or AZURE_. The library ends some of its threads for such values, or repeats them in its errors.
    """
    for name, value in sorted(os.environ.items()):
        if not name.startswith(prefix):
            continue
        if name.startswith(_ONE_LINE) and not (value.isprintable() and value.isascii()):
            raise StoreError(f"{name} has characters that such a value cannot have", "write it in one line, in ASCII")
        if name in _URLS and not is_store(value):
            raise StoreError(f"{name} is not the URL of a store", "write for example https://HOST")
    account = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "a")
    if prefix == "AZURE_" and not _ACCOUNT.fullmatch(account):
        raise StoreError(
            "AZURE_STORAGE_ACCOUNT_NAME is not the name of an account", "write its small letters and digits"
        )
    if prefix == "GOOGLE_" and "GOOGLE_SERVICE_ACCOUNT_KEY" in os.environ:
        _check_key(os.environ["GOOGLE_SERVICE_ACCOUNT_KEY"])


def _check_key(text: str) -> None:
    try:
        account = json.loads(text)
    except (ValueError, RecursionError):
        account = None
    base = account.get("gcs_base_url") if isinstance(account, Mapping) else None
    if not isinstance(account, Mapping) or not (base is None or (isinstance(base, str) and is_store(base))):
        what = "GOOGLE_SERVICE_ACCOUNT_KEY is not the JSON of a service account"
        raise StoreError(what, "set GOOGLE_SERVICE_ACCOUNT to the name of its file")


def secret_variables(prefixes: tuple[str, ...]) -> list[str]:
    """The variables with these prefixes whose values no error shows, the longest value first.

    A value of few letters is not a secret, and occurs in other words.
    """
    found = [name for name, value in os.environ.items() if name.startswith(prefixes) and len(value) > _SHORT]
    return sorted(found, key=lambda name: -len(os.environ[name]))


def without_values(text: str, prefixes: tuple[str, ...]) -> str:
    """A text with the names of variables in place of their values."""
    for name in secret_variables(prefixes):
        text = text.replace(os.environ[name], f"${name}")
    return text
