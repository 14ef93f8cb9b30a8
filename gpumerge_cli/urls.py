"""URLs: recognised among the names of files, and shown without their secret parts."""

from __future__ import annotations

from gpumerge_cli.patterns import pattern

_SCHEME = pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_WITHIN_TEXT = pattern(r"""[A-Za-z][A-Za-z0-9+.-]*://[^\s'"<>]*""")
_FRAGMENTS = ("http", "https")


def scheme_of(name: str) -> str:
    """The scheme of a URL in lower case, "" for the name of a file."""
    found = _SCHEME.match(name)
    return "" if found is None else found[1].lower()


def is_url(name: str) -> bool:
    """Whether a name is a URL, whatever its scheme."""
    return "://" in name and scheme_of(name) != ""


def shown(name: str) -> str:
    """A URL without user, password and query, each of which may be secret; any other name as it is."""
    scheme = scheme_of(name)
    if not scheme:
        return name
    kept, _, rest = name.partition("://")
    for end in "?#" if scheme in _FRAGMENTS else "?":
        rest = rest.partition(end)[0]
    place, slash, path = rest.partition("/")
    return f"{kept}://{place.rpartition('@')[2]}{slash}{path}"


def redacted(text: str) -> str:
    """A text with every URL in it replaced by its `shown` form."""
    return _WITHIN_TEXT.sub(lambda found: shown(found[0]), text) if "://" in text else text
