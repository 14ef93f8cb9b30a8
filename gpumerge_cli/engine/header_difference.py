"""The words by which messages show two headers that differ."""

from __future__ import annotations

_SHOWN = 60


def shown_apart(header: bytes, other: bytes) -> tuple[str, str]:
    """Two headers in short, from a little ahead of their first difference if they are long."""
    texts = [text.rstrip(b"\r\n\0").decode("utf-8", "replace").removeprefix("\ufeff") for text in (header, other)]
    common = next((at for at, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = common - _SHOWN // 4 if max(map(len, texts)) > _SHOWN and common > _SHOWN // 2 else 0
    first, second = (
        "..." * (start > 0) + repr(text[start : start + _SHOWN]) + "..." * (len(text) > start + _SHOWN)
        for text in texts
    )
    return first, second
