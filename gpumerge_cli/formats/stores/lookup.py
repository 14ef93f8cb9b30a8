"""Objects in stores, by the schemes of their URLs: SCHEMES lists them all.

Libraries of stores are imported when the first URL is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.stores.base import StoredObject, StoreError
from gpumerge_cli.urls import scheme_of, shown


def _in_s3(url: str) -> StoredObject:
    from gpumerge_cli.formats.stores.s3_objects import open_object

    return open_object(url)


def _elsewhere(url: str) -> StoredObject:
    from gpumerge_cli.formats.stores.other_objects import open_object

    return open_object(url)


SCHEMES: Mapping[str, Callable[[str], StoredObject]] = {
    "s3": _in_s3,
    "gs": _elsewhere,
    "az": _elsewhere,
    "http": _elsewhere,
    "https": _elsewhere,
}
"""By scheme: the function that opens the object of a URL. It raises ImportError where its library is missing."""
_READ_ONLY = ("http", "https")


def object_of(url: str, *, written: bool = False) -> StoredObject:
    """The object that a URL names; no request is sent. written: it is an output. Raises UsageError."""
    _check_url(url, written=written)
    try:
        return SCHEMES[scheme_of(url)](url)
    except ImportError as error:
        library = error.name or "a library"
        what = f"{shown(url)}: {library.partition('.')[0]}, which reaches such stores, is not installed"
        raise UsageError(what, way_out="pip install 'gpumerge[stores]'") from None
    except StoreError as error:
        raise UsageError(f"{shown(url)}: {error.what}", way_out=error.way_out) from None


def _check_url(url: str, *, written: bool) -> None:
    """Raise UsageError for a URL that names no object of a store."""
    scheme, name = scheme_of(url), shown(url)
    if scheme not in SCHEMES:
        way_out = f"use {', '.join(SCHEMES)}, or ./{name} for a file"
        raise UsageError(f"{name}: unsupported scheme {scheme!r}", way_out=way_out)
    if written and scheme in _READ_ONLY:
        way_out = "write to s3://, gs://, az:// or a file, and upload that"
        raise UsageError(f"{name}: {scheme} URLs can only be inputs", way_out=way_out)
    if not url.isprintable() or (scheme in _READ_ONLY and " " in url):
        raise UsageError(f"{name}: it has characters that a URL cannot have", way_out="write them as %20 and the like")
    place, _, key = name.partition("://")[2].partition("/")
    if scheme in _READ_ONLY:
        if not place:
            raise UsageError(f"{name}: it names no server", way_out=f"write {scheme}://SERVER/PATH")
        return
    if "@" in url.partition("://")[2].partition("/")[0]:
        way_out = "leave them out, and set the variables that the store's own tools read"
        raise UsageError(f"{name}: users and passwords do not belong in {scheme} URLs", way_out=way_out)
    if url != name:
        raise UsageError(f"{name}: a query follows it, which {scheme} URLs do not have", way_out="leave it out")
    if not place or not key or key.endswith("/"):
        raise UsageError(f"{name}: it names no object", way_out=f"write {scheme}://BUCKET/KEY")
