"""Answers about ranks of a merge that is not done: items and co-ranks of ranks, ranks of items, even cuts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from math import ceil
from operator import le
from typing import Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.escapes import printable
from gpumerge_cli.engine.file_places import FilePlaces
from gpumerge_cli.engine.inputs import Inputs, open_inputs
from gpumerge_cli.engine.item_text import format_item, item_heading, parse_item, stated
from gpumerge_cli.engine.job import Job, Questions, StatedItem
from gpumerge_cli.engine.line_keys import KeyTexts, line_keys
from gpumerge_cli.engine.memory import check_memory
from gpumerge_cli.engine.ranks import RankCut, Ranks, merge_ranks
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.formats.part_names import MOST_PARTS
from gpumerge_cli.native.comparison import key_by
from gpumerge_cli.native.cuts import Cut, Cuts
from gpumerge_cli.plan import FileChunk, Planner
from gpumerge_cli.units import parse_quantile


@dataclass(frozen=True)
class RankAnswer:
    """The item of a rank."""

    rank: int
    quantile: str | None
    """As the user wrote it, or None."""
    item: str | None
    """All of a line, another item as --of takes it; None behind the last item."""
    key: str | None
    """The text that --of takes: the keys of a line, or the item; None behind the last item."""
    source: int | None
    """The number of its input, in which it has the number counts[source]."""
    counts: tuple[int, ...]
    """The co-ranks: items of each input that lie ahead."""
    offsets: tuple[int | None, ...]
    """Bytes of each input that lie ahead; None where that is unknown."""


@dataclass(frozen=True)
class ItemAnswer:
    """The ranks of an item."""

    item: str
    """As the user wrote it, as printable text."""
    lower: int
    """Items that go ahead of it."""
    upper: int
    """Items that go ahead of it, and its equals."""
    counts: tuple[int, ...]
    """`lower` for each input."""
    upper_counts: tuple[int, ...]
    """`upper` for each input."""
    offsets: tuple[int | None, ...]
    """Bytes of each input that lie ahead of its equals; None where that is unknown."""


@dataclass(frozen=True)
class Answers:
    """All answers to a job's questions."""

    names: tuple[str, ...]
    """Those of the inputs."""
    order: str
    """The order in words."""
    texts: bool
    """Whether items are texts, even if they look like numbers."""
    total: int | None
    """The number of items; None if it was not counted: lines are counted only if an answer needs it."""
    ranks: tuple[RankAnswer, ...] = ()
    items: tuple[ItemAnswer, ...] = ()
    parts: tuple[FileChunk, ...] = ()
    item_bytes: int = 0
    """Bytes of an item; 0 for lines."""
    heading: str = "item"
    """The word for an item, or the names of its keys."""
    keyed: bool = False
    """Whether items are asked for by the keys of lines."""

    def as_dict(self) -> dict[str, Any]:
        """The answers as plain values, for JSON. A row has a value for each input."""
        values: dict[str, Any] = {"order": self.order, "items": self.total, "inputs": list(self.names)}
        if self.ranks:
            values["ranks"] = [self._rank(one) for one in self.ranks]
        if self.items:
            values["of"] = [self._of(one) for one in self.items]
        if self.parts:
            values["parts"] = [self._part(part) for part in self.parts]
        return values

    def _rank(self, one: RankAnswer) -> dict[str, Any]:
        quantile = {} if one.quantile is None else {"quantile": one.quantile}
        place = {} if one.source is None else {"input": self.names[one.source], "index": one.counts[one.source]}
        item = None if one.item is None else self._plain(one.item)
        key = {"key": one.key} if self.keyed else {}
        return {"rank": one.rank, **quantile, **key, "item": item, **place,
                "ahead": list(one.counts), "offsets": list(one.offsets)}  # fmt: skip

    def _of(self, one: ItemAnswer) -> dict[str, Any]:
        return {
            "key" if self.keyed else "item": self._plain(one.item),
            "lower": one.lower,
            "upper": one.upper,
            "count": one.upper - one.lower,
            "ahead": list(one.counts),
            "ahead_upper": list(one.upper_counts),
            "offsets": list(one.offsets),
        }

    def _plain(self, item: str) -> int | float | str:
        """The item as JSON has it."""
        return item if self.texts else plain_item(item)

    def _part(self, part: FileChunk) -> dict[str, Any]:
        values = part.as_dict()
        if self.item_bytes and not part.in_rows:
            values["items"] = part.nbytes // self.item_bytes
            values["item_ranges"] = [[low // self.item_bytes, high // self.item_bytes] for low, high in part.ranges]
        return values


def plain_item(text: str) -> int | float | str:
    """The item as JSON has it: a number if its text is one that JSON can hold."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if type(value) in (int, float) and text not in ("NaN", "Infinity", "-Infinity") else text


def answer(job: Job, settle: Callable[[], None] = lambda: None) -> Answers:
    """Answer all questions of the job. Reads as little as they need; see engine.ranks. settle: see engine.run.

    Raises UsageError for a rank that the merge has not, or an item that cannot be of the inputs, InputError,
    DisorderError if items next to a cut are not in order.
    """
    questions = job.operation.questions or Questions()
    if questions.split is not None and questions.split > MOST_PARTS:
        raise UsageError(
            f"--split {questions.split}: a merge is cut into 1 to {MOST_PARTS} parts", way_out="choose fewer"
        )
    with open_inputs(job.inputs, job.items, resources=job.resources) as inputs:
        check_memory(job, inputs)
        search = _Search(inputs, merge_ranks(inputs, job.resources.threads))
        wanted = [search.parsed(one) for one in questions.of]
        ranks = [(rank, None) for rank in questions.at] + [(search.rank_of(one), one) for one in questions.quantiles]
        found = [search.item_at(rank, quantile) for rank, quantile in ranks]
        items = search.ranks_of(questions.of, wanted)
        parts = [] if questions.split is None else search.parts(questions.split)
        for source in inputs.sources:
            source.check_unchanged()
        item_bytes = inputs.order.item_bytes
        answers = Answers(
            tuple(source.name for source in inputs.sources),
            inputs.order.describe(),
            not inputs.order.is_number,
            search.ranks.all().rank if item_bytes or questions.quantiles else None,
            tuple(found),
            tuple(items),
            tuple(parts),
            item_bytes,
            item_heading(inputs.order) if search.keys is None else search.keys.heading,
            search.keys is not None,
        )
    settle()
    return answers


class _Search:
    """Finds the answers to single questions."""

    def __init__(self, inputs: Inputs, ranks: Ranks) -> None:
        self.keys = line_keys(inputs.order)
        self.ranks = ranks
        self._inputs = inputs
        self._cuts = Cuts(inputs.sources, inputs.order)
        self._places = FilePlaces(inputs)

    def parsed(self, item: StatedItem) -> bytes | KeyTexts:
        """The item, or the keys, that a text states."""
        with stated(item.where, item.text):
            if self.keys is not None:
                return self.keys.parse(item.text, item.where)
            return parse_item(item.text, self._inputs.order, self._inputs.layout.format)

    def rank_of(self, quantile: str) -> int:
        """The rank of the least item that has at least this part of all items at or ahead of it."""
        total = self.ranks.all().rank
        if not total:
            raise UsageError("--quantile: the files hold no items", way_out="leave it out")
        return max(0, ceil(parse_quantile(quantile) * total) - 1)

    def item_at(self, rank: int, quantile: str | None) -> RankAnswer:
        """The item of a rank."""
        inputs, cut = self._inputs, self.ranks.cut(rank)
        if cut.rank < rank:
            word = inputs.order.item_word or "item"
            raise UsageError(
                f"--at {rank}: the merge has {cut.rank} {word}s", way_out=f"ask for a rank from 0 to {cut.rank}"
            )
        source, item, key = _checked_source(cut.positions, inputs), None, None
        if source is not None:
            data = inputs.sources[source].item_at(cut.positions[source])
            item = format_item(data, inputs.order)
            key = item if self.keys is None else self.keys.format(data)
        return RankAnswer(rank, quantile, item, key, source, *self._row(cut))

    def ranks_of(self, items: Sequence[StatedItem], wanted: Sequence[bytes | KeyTexts]) -> list[ItemAnswer]:
        """The ranks of each item. wanted: what `parsed` gave for it."""
        answers: dict[int, ItemAnswer] = {}
        known: tuple[RankCut, ...] = ()  # of the item before, so that no line is counted twice
        for number in self._in_order(wanted):
            low, high = self._cuts_of(items[number], wanted[number], known)
            counts, offsets = self._row(low)
            text = printable(items[number].text)
            answers[number] = ItemAnswer(text, low.rank, high.rank, counts, self._row(high)[0], offsets)
            known = high, low
        return [answers[number] for number in range(len(items))]

    def _in_order(self, wanted: Sequence[bytes | KeyTexts]) -> list[int]:
        """The numbers of items, sorted by the order of the inputs."""
        key: Callable[[Any], Any] = (
            key_by(self._inputs.order) if self.keys is None else cmp_to_key(self.keys.compare_keys)
        )
        return sorted(range(len(wanted)), key=lambda number: key(wanted[number]))

    def _cuts_of(self, item: StatedItem, wanted: bytes | KeyTexts, known: Sequence[RankCut]) -> tuple[RankCut, RankCut]:
        """The cuts ahead of the items that equal one, and behind them. known: cuts, of which some may lie ahead."""
        ahead, behind = self._bounds(wanted)
        rules = self._inputs.order.text
        # The carriage return at a record's end is hardly ever written.
        may_return = rules is not None and (item.has_return or (self.keys is None and rules.spelling.has_returns))
        if ahead == behind and may_return:
            with_return = self._bounds(self.parsed(replace(item, text=f"{item.text}\\r")))
            if with_return[0] != with_return[1]:
                ahead, behind = with_return
        low = self.ranks.counted(ahead, next((cut for cut in known if all(map(le, cut.positions, ahead))), None))
        high = self.ranks.counted(behind, low)
        for positions in (ahead, behind):
            _checked_source(positions, self._inputs)
        return low, high

    def parts(self, number: int) -> list[FileChunk]:
        """Even parts of the merge. Their ranges end where the files do."""
        parts = Planner(self._inputs.sources, self._inputs.order).parts(number)
        for part in parts[1:]:
            _checked_source([low for low, _ in part.ranges], self._inputs)
        return [self._places.piece(part) for part in parts]

    def _bounds(self, wanted: bytes | KeyTexts) -> tuple[Cut, Cut]:
        if isinstance(wanted, bytes):
            return self._cuts.bounds(wanted)
        assert self.keys is not None
        return self.keys.bounds(wanted, self._inputs.sources)

    def _row(self, cut: RankCut) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
        return cut.counts, tuple(map(self._places.place, range(len(cut.positions)), cut.positions))


def _checked_source(positions: Sequence[int], inputs: Inputs) -> int | None:
    """The number of the input whose item comes next behind a cut; None if none is left.

    Raises DisorderError if the items at the cut show that the inputs are not in order. All others remain unseen.
    """
    key = key_by(inputs.order)
    places = list(zip(inputs.sources, positions, strict=True))
    heads = [(key(source.item_at(at)), number) for number, (source, at) in enumerate(places) if at < source.size]
    ahead = [(key(source.item_before(at)), number) for number, (source, at) in enumerate(places) if at > 0]
    if not heads:
        return None
    if ahead and max(ahead) > min(heads):
        source, at = places[min(heads)[1]]
        raise DisorderError(
            "disorder: the item should come before items that precede it in the merge",
            where=source.location(at),
            way_out="gpumerge check tells which file is not in order",
        )
    return min(heads)[1]
