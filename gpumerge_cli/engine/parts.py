"""Parts of a result that end where lines do, for sinks that make something of whole lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpumerge_cli.backends.base import Workspace
from gpumerge_cli.buffers import Bytes

_TAIL = 1 << 16


def by_lines(parts: Iterable[Bytes], end: int | None) -> Iterator[Bytes]:
    """The bytes of `parts` in parts that each end with the byte `end`; as they are if it is None.

    Each is valid until the next is requested. An empty result gives one empty part.
    """
    held: list[bytes] = []
    for part in parts:
        cut = len(part) if end is None else _behind_last(part, end)
        if cut:
            yield memoryview(b"".join([*held, part[:cut]])) if held else part[:cut]
            held.clear()
        if cut < len(part) or not cut:
            held.append(bytes(part[cut:]))
    if held:
        yield memoryview(b"".join(held))


def lines_that_begin(workspace: Workspace, low: int, high: int, end: int) -> Bytes:
    """The whole lines of the workspace's result that begin in low:high; valid until the thread's next call.

    end: the byte that ends each line.
    """
    total = workspace.merged_bytes
    inside = low > 0 and workspace.receive(low - 1, 1)[0] != end
    part = workspace.receive(low, high - low)
    if inside:
        part = part[_behind_first(part, end) or len(part) :]
    if high >= total or not len(part) or part[-1] == end:
        return part
    whole, at, block = [bytes(part)], high, _TAIL
    while at < total:
        more = workspace.receive(at, min(block, total - at))
        cut = _behind_first(more, end)
        whole.append(bytes(more[: cut or len(more)]))
        if cut:
            break
        at, block = at + len(more), 2 * block
    return memoryview(b"".join(whole))


def nearest_line_edge(workspace: Workspace, target: int, end: int) -> int:
    """The edge between two lines of the workspace's result that is nearest to byte `target`; of two the first.

    end: the byte that ends each line.
    """
    total = workspace.merged_bytes
    ahead, block = target, _TAIL
    while ahead > 0:
        start = max(0, ahead - block)
        cut = _behind_last(workspace.receive(start, ahead - start), end)
        if cut:
            ahead = start + cut
            break
        ahead, block = start, 2 * block
    behind, block = target, _TAIL
    while ahead < target and behind < total:
        data = workspace.receive(behind, min(block, total - behind))
        cut = _behind_first(data, end)
        behind, block = behind + (cut or len(data)), 2 * block
        if cut:
            break
    return behind if behind - target < target - ahead else ahead


def _behind_first(data: Bytes, end: int) -> int:
    """The position behind the first `end`, 0 if there is none."""
    return bytes(data).find(end) + 1


def _behind_last(data: Bytes, end: int) -> int:
    return bytes(data).rfind(end) + 1
