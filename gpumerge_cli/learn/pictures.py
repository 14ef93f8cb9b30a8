"""Sentences and pictures of what is wrong with a reader's kernel."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.learn.cases import UNWRITTEN, LaunchCase, PuzzleItems, all_coranks
from gpumerge_cli.learn.faults import FaultyAccess, KernelFault
from gpumerge_cli.learn.puzzles import KernelTask
from gpumerge_cli.results.puzzles import PictureRow

_AROUND = 6
"""Cells on either side of the wrong one."""
_MORE = ".."

_TWO_WRITES = "two threads must not write one place: look at how each of them finds the places that it writes"
_BETWEEN = (
    "put __syncthreads() between the two, where all threads of the block pass; threads of different blocks must use "
    "different places"
)
_REASONS = {
    "race": f"the order of the two is left to chance: {_BETWEEN}",
    "unwritten": "nothing is known of a place that nobody has written: look at how many items were put there",
    "barrier": "all threads of a block must reach each __syncthreads(): it may not stand after a return, or in a "
    "branch or loop that some threads do not take",
    "endless": "look at the loop's condition: what it compares must change in each turn",
    "arrays": "declare fewer shared arrays",
}


@dataclass(frozen=True)
class Problem:
    """A sentence and a picture of what is wrong, and the reason; "" if only the case tells it."""

    sentence: str
    picture: tuple[PictureRow, ...] = ()
    reason: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    """As in Verdict."""


def wrong_output(task: KernelTask, case: LaunchCase, output: PuzzleItems, expected: PuzzleItems) -> Problem | None:
    """The first wrong item of an output; None if there is none."""
    bits = f"u{expected.dtype.itemsize}"
    differ = (output.view(bits) != expected.view(bits)).nonzero()[0]
    if not len(differ):
        return None
    at = int(differ[0])
    found, wanted = _shown(output, at), _shown(expected, at)
    name = task.arrays[2]
    if task.shows == "co-rank":
        sentence = f"co_rank({at}) is {found}, and should be {wanted}"
        if found == "?":
            sentence = f"co_rank({at}) gives nothing, and should give {wanted}"
        return Problem(sentence, _cut_rows(task, case, output, at, int(expected[at])))
    if found == "?":
        sentence = f"{name}[{at}] is not written, and should be {wanted}"
    elif wanted == "?":
        sentence = f"{name}[{at}] is {found}, and nothing should be written there"
    else:
        sentence = f"{name}[{at}] is {found}, and should be {wanted}"
    rows = _input_rows(task, case, at if task.shows == "merge" else -1)
    own, right = ([_shown(items, number) for number in range(len(items))] for items in (output, expected))
    below = (_window(own, at, f"your {name}", marked=at, aligned=True), _window(right, at, "correct", aligned=True))
    return Problem(sentence, (*rows, *below))


def _shown(items: PuzzleItems, number: int) -> str:
    """An item; ? for one that was not written."""
    item = items[number]
    return "?" if item.tobytes() == bytes([UNWRITTEN]) * item.dtype.itemsize else f"{item:g}"


def _input_rows(task: KernelTask, case: LaunchCase, rank: int) -> tuple[PictureRow, PictureRow]:
    """Both inputs, around the cut at a rank of their merge; from the start for rank -1."""
    i = int(all_coranks(case.a, case.b)[rank]) if rank >= 0 else -1
    cuts = (i, rank - i) if rank >= 0 else (-1, -1)
    runs = [[f"{item:g}" for item in run] for run in (case.a, case.b)]
    first, second = (
        _window(run, max(cut, 0), name, cut=cut) for run, cut, name in zip(runs, cuts, task.arrays, strict=False)
    )
    return first, second


def _cut_rows(task: KernelTask, case: LaunchCase, output: PuzzleItems, rank: int, i: int) -> tuple[PictureRow, ...]:
    """Both inputs with the cut of the reader's co-rank, if it is one, and with the correct cut."""
    runs = [[f"{item:g}" for item in run] for run in (case.a, case.b)]
    rows = []
    found = int(output[rank])
    cuts = [("yours", found)] if 0 <= found <= len(case.a) and 0 <= rank - found <= len(case.b) else []
    for which, cut in (*cuts, ("correct", i)):
        for name, run, place in zip("AB", runs, (cut, rank - cut), strict=True):
            rows.append(_window(run, place, f"{which}: {name}", cut=place))
    return tuple(rows)


def _window(
    cells: Sequence[str], at: int, label: str, *, marked: int = -1, cut: int = -1, aligned: bool = False
) -> PictureRow:
    """A row of the cells around number `at`."""
    low, high = max(0, at - _AROUND), min(len(cells), at + _AROUND + 1)
    ahead, behind = [_MORE] * (low > 0), [_MORE] * (high < len(cells))
    shift = len(ahead) - low
    return PictureRow(
        label,
        (*ahead, *cells[low:high], *behind),
        marked + shift if marked >= 0 else -1,
        cut + shift if cut >= 0 else -1,
        aligned,
    )


def fault_problem(fault: KernelFault, file: str) -> Problem:
    """A fault of the emulator or of the GPU."""
    reason = _REASONS.get(fault.kind, "")
    who = f"thread {fault.thread} of block {fault.block}"
    match fault.kind:
        case "outside" if fault.access is not None:
            return Problem(_outside_sentence(fault, fault.access, file), _outside_rows(fault), reason)
        case "wild" if fault.access is not None:
            sentence = f"{who} {_verb(fault.access)} memory outside of every array{_at(fault.access, file)}"
            return Problem(sentence, (), reason)
        case "unwritten" if fault.access is not None:
            place = f"{fault.array}[{fault.index}]"
            sentence = f"{who} reads {place}{_at(fault.access, file)}, which nobody has written"
            return Problem(sentence, _place_rows(fault, {fault.thread: "r"}), reason)
        case "race" if fault.access is not None and fault.other is not None:
            return _race(fault, fault.access, fault.other, file, reason)
        case "barrier":
            waiting, ended, _ = fault.text.split()
            sentence = (
                f"thread {waiting} of block {fault.block} waits at a barrier that thread {ended} never reaches: it has "
                "ended"
            )
            return Problem(sentence, (), reason)
        case "endless":
            return Problem(f"{who} does not come to an end", (), reason)
        case "crash":
            return Problem(f"{who} crashes ({fault.text})", (), reason)
        case "arrays":
            return Problem("the kernel has too many shared arrays", (), reason)
    return Problem(
        f"the GPU reports: {fault.text}", (), "a check with --backend cpu shows where, if g++ or ziglang is here"
    )


def with_inputs(problem: Problem, task: KernelTask, case: LaunchCase) -> Problem:
    """The same problem, with the inputs ahead of its picture if they are small."""
    if max(len(case.a), len(case.b)) > _AROUND * 2:
        return problem
    runs = zip((case.a, case.b), task.arrays, strict=False)
    inputs = (PictureRow(name, tuple(f"{item:g}" for item in run)) for run, name in runs)
    return replace(problem, picture=(*inputs, *problem.picture))


def _verb(access: FaultyAccess) -> str:
    return "writes" if access.writes else "reads"


def _at(access: FaultyAccess, file: str) -> str:
    return f" ({file}:{access.line})" if access.line else ""


def _outside_sentence(fault: KernelFault, access: FaultyAccess, file: str) -> str:
    who = f"thread {access.thread} of block {access.block}"
    count = f"{fault.size} {'item' if fault.size == 1 else 'items'}"
    return f"{who} {_verb(access)} {fault.array}[{fault.index}]{_at(access, file)}, but {fault.array} has {count}"


def _outside_rows(fault: KernelFault) -> tuple[PictureRow, ...]:
    """The nearest end of the array, by the numbers of its items, and the place outside."""
    size = fault.size
    if fault.index < 0:
        inside = [str(number) for number in range(min(size, _AROUND))]
        gap = [_MORE] if fault.index < -1 else []
        cells, marked, cut = [str(fault.index), *gap, *inside], 0, 1 + len(gap)
    else:
        inside = [str(number) for number in range(max(0, size - _AROUND), size)]
        gap = [_MORE] if fault.index > size else []
        cells = [*inside, *gap, str(fault.index)]
        marked, cut = len(cells) - 1, len(inside)
    return (PictureRow(f"places of {fault.array}", tuple(cells), marked, cut),)


def _race(fault: KernelFault, own: FaultyAccess, other: FaultyAccess, file: str, reason: str) -> Problem:
    place = f"{fault.array}[{fault.index}]"
    blocks = own.block != other.block
    one, two = ((f" of block {access.block}" if blocks else "") for access in (other, own))
    first = f"thread {other.thread}{one} {_verb(other)} {place}{_at(other, file)}"
    second = f"thread {own.thread}{two} {_verb(own)} it{_at(own, file)}"
    between = "and blocks wait for nobody" if blocks else "and no barrier is between the two"
    marks = {(access.block if blocks else access.thread): "w" if access.writes else "r" for access in (other, own)}
    rows = _place_rows(fault, marks, "block" if blocks else "thread")
    reason = _TWO_WRITES if own.writes and other.writes else reason
    return Problem(f"a race: {first}, {second}, {between}", rows, reason)


def _place_rows(fault: KernelFault, marks: dict[int, str], who: str = "thread") -> tuple[PictureRow, ...]:
    """The places around a faulty one, and what each thread does there: r reads, w writes."""
    low, high = max(0, fault.index - 3), min(fault.size, fault.index + 4)
    numbers = tuple(str(number) for number in range(low, high))
    rows = [PictureRow(f"places of {fault.array}", numbers, aligned=True)]
    for number, mark in sorted(marks.items()):
        cells = tuple(mark if at == fault.index else "." for at in range(low, high))
        rows.append(PictureRow(f"{who} {number}", cells, fault.index - low, aligned=True))
    return tuple(rows)
