"""Answers of a store that botocore reads whole, up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from botocore import exceptions as failures
from urllib3.exceptions import HTTPError

from gpumerge_cli.formats.stores.base import UncertainError

_MOST_ANSWER = 16 << 20
"""Bytes of an answer that is not an object; a list of 1000 uploads with long names has a few million."""


def limit_answers(requests: Any) -> None:
    """Limit the answers that a client reads to `_MOST_ANSWER` bytes, except the bytes of objects."""
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
