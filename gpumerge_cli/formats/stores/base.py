"""The objects of stores, as inputs and outputs use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from gpumerge_cli.dataclass import dataclass


class StoreError(Exception):
    """A store refused or failed. what, way_out: as in GpumergeError."""

    def __init__(self, what: str, way_out: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.way_out = way_out


class MissingError(StoreError):
    """There is no such object."""


class UncertainError(StoreError):
    """No answer shows whether the store did what was requested."""


class ChangedError(StoreError):
    """The object is not the one that was opened."""

    def __init__(self) -> None:
        super().__init__("the object changed while it was read", "merge it when nothing writes to it")


_LONGEST_TEXT = 200


def cut(text: str) -> str:
    """The beginning of a text of a store, which may have any length."""
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "..."


@dataclass(frozen=True)
class Found:
    """An object as the store describes it."""

    size: int
    """In bytes."""
    tag: str
    """It changes with the object's content; "" if the store gives none."""
    ranged: bool = True
    """Whether parts of it can be read."""
    dated: bool = False
    """Whether the tag is a date, since the store gives no ETag. Requests cannot be conditional on such a tag."""


class WrongAnswerError(StoreError):
    """An answer is not what was requested; the next one may be."""


def check_answer(
    requested: tuple[int, int], found: Found, *, given: tuple[int, int, int] | None, tag: str, length: int
) -> None:
    """Raise WrongAnswerError or ChangedError unless an answer holds the requested range of the object.

    requested: start and stop. given: start, stop and the object's size as the answer states them; None if it does not.
    tag: the answer's, "" if it has none. length: the bytes that came; readers stop at one too many.
    """
    if given is None and requested == (0, found.size):
        given = (*requested, found.size)  # an answer of all bytes need not state its range
    if (tag and found.tag and tag != found.tag) or (given and given[2] not in (-1, found.size)):
        raise ChangedError
    if given is None or given[:2] != requested:
        raise WrongAnswerError("the store answered with a range other than the requested one", "try later")
    wanted = requested[1] - requested[0]
    if length != wanted:
        gave = f"{length} bytes of {wanted}" if length < wanted else f"more than the {wanted} bytes of the range"
        raise WrongAnswerError(f"the store gave {gave}", "try later")


@dataclass(frozen=True)
class State:
    """The state of an object, as the store describes it."""

    message: str
    """A clause of an error."""
    ours: bool = False
    """Whether it is certainly the object that was written."""


def state_of(stat: Callable[[], Found], *, size: int = -1, tag: str = "", before: Found | None = None) -> State:
    """The state of an object, for when no answer shows whether it was written.

    stat: asks the store for it. size, tag: of what was written, -1 and "" if unknown. before: the object that it
    replaces.
    """
    try:
        found = stat()
    except MissingError:
        return State("no object is there")
    except StoreError as error:
        return State(f"whether the new object is in place is unknown (reading its state: {error.what})")
    there = f"{found.size} bytes, " + ("no ETag" if found.dated else f"ETag {cut(found.tag)}")
    given = "" if found.dated else found.tag.strip('"')
    if tag and given == tag:
        return State(f"the new object is in place all the same ({there})", ours=True)
    # Tags of objects in parts have a hyphen. Some stores make tags in their own ways.
    other = bool(tag and given) and ("-" in tag) == ("-" in given)
    old = other or size not in (-1, found.size) or (before is not None and found.tag and found == before)
    return State(f"an object is there that {'is not' if old else 'may be'} the new one ({there})")


class Sendable(Protocol):
    """An upload as plain data that pickles, by which any process sends parts of it. Methods raise StoreError."""

    def send(self, number: int, data: bytes | bytearray) -> str:
        """Send part `number`, counted from 0, in place of an earlier one of this number; the store's tag of it."""

    def check(self) -> None:
        """Check that this process reaches the store, and that the store knows the upload."""


class Upload(Protocol):
    """An object on its way to a store, which shows it once it is complete."""

    any_order: bool
    """True if parts may be sent in any order, and again. Otherwise a part waits for those ahead of it."""

    def send(self, number: int, data: bytearray) -> None:
        """Send part `number`, counted from 0; from any thread. It returns before the part has arrived.

        It waits while much is under way. All parts but the last have one size. Raises the StoreError of any part.
        """

    def lend(self) -> Sendable | None:
        """The upload for other processes, whose parts have 5 MiB at least but for the last; None if they send none."""

    def sent(self, number: int, tag: str) -> None:
        """Another process has sent part `number`, of that tag. From any thread."""

    def stop(self) -> None:
        """No further part is wanted; threads that wait in `send` come back. Only `abort` may follow."""

    def arrive(self) -> None:
        """All parts were sent: wait for those that this process knows to be under way. Raises the StoreError of any."""

    def complete(self) -> None:
        """All parts were sent: the store shows the object, in place of one that it had. Raises StoreError."""

    def abort(self) -> None:
        """The parts are dropped. It does nothing after `complete`, or a second time. Raises StoreError."""


class StoredObject(Protocol):
    """One object of a store, or a name for one. All methods may be called from any thread; they raise StoreError."""

    def stat(self) -> Found:
        """The object as it is now."""

    def read(self, start: int, stop: int, found: Found) -> bytes:
        """The bytes of a range that is not empty, if the object still is the one that was `found`."""

    def blocks(self) -> Iterator[bytes]:
        """All bytes in order, for objects whose ranges cannot be read."""

    def upload(self, part_bytes: int) -> Upload:
        """Begin to write the object, in parts of so many bytes. Asks the store whether it may be written."""
