"""The door: who reads a command line, and what becomes of every way that a command can end."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from gpumerge_cli import compiling
from gpumerge_cli.cli.places import anything_set
from gpumerge_cli.cli.signals import handled
from gpumerge_cli.cli.verdict import verdict
from gpumerge_cli.errors import GpumergeError, Interrupted, OutputError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.cli.commands import Command
    from gpumerge_cli.cli.settings import Settings


_CLOSED_PIPE = 128 + signal.SIGPIPE


def run(arguments: Sequence[str], *, last: bool = False) -> int:
    """Run one command line; the exit code. Prints at most one line for an error, whatever it is.

    last: the process ends with it, so signals that come once it is done change nothing.
    """
    # To sort, --debug means what it means to GNU's.
    wish = "--traceback" if arguments[:1] == ["sort"] else "--debug"
    with handled(restore=not last), _standard_output(), compiling.told(_Teller()):
        code = _guarded(lambda: _dispatch(arguments), arguments, wish)
        _remove_unfinished()
        return _guarded(lambda: _flush(code), arguments, wish)


class _Teller:
    """What tells a terminal of compiling: a line for everything that is compiled, once."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, notice: compiling.Notice) -> None:
        if notice.what in self._told or sys.stderr is None or not sys.stderr.isatty():
            return
        self._told.add(notice.what)
        with suppress(OSError):
            about = f"about {notice.about:.0f} s, once: what it makes is kept"
            print(f"gpumerge: compiling {notice.what}, {about}", file=sys.stderr, flush=True)


def _remove_unfinished() -> None:
    # Only where it was loaded: --help pays for every import.
    output = sys.modules.get("gpumerge_cli.formats.output")
    if output is not None:
        output.remove_unfinished()


def all_commands() -> tuple[Command, ...]:
    """See application.py."""
    from gpumerge_cli.cli.application import all_commands

    return all_commands()


def all_settings(leaving_out: Set[str] = frozenset()) -> Settings:
    """What the environment and files set of the commands' options, but for those of the names `leaving_out`."""
    from gpumerge_cli.cli.settings import Settings

    return Settings(all_commands, leaving_out=leaving_out)


def _dispatch(arguments: Sequence[str]) -> int:
    settings = all_settings() if anything_set() else None
    try:
        if arguments[:1] == ["sort"]:  # its command line is not of Typer's kind
            from gpumerge_cli.cli.sort import sort as sort_files

            return sort_files(arguments[1:], settings)
        from gpumerge_cli.cli.application import invoke

        return invoke(arguments, settings)
    except UsageError as error:
        raise (error if settings is None else settings.placed(error)) from error


def _is_set(arguments: Sequence[str], wish: str) -> bool:
    """Whether the environment or a file sets the command's option `wish`; what is wrong there is told elsewhere."""
    from gpumerge_cli.cli.settings import flag_is_set

    try:
        return anything_set() and flag_is_set(all_settings(), "".join(arguments[:1]), wish)
    except GpumergeError:
        return False


def _guarded(work: Callable[[], int], arguments: Sequence[str], wish: str) -> int:
    """What `work` returns, or the exit code of what it raised, which is said in one line on standard error.

    wish: the option that asks for the traceback, too.
    """
    try:
        return work()
    except (Exception, KeyboardInterrupt, Interrupted) as error:
        if isinstance(error, BrokenPipeError) or isinstance(error.__cause__, BrokenPipeError):
            return _CLOSED_PIPE
        message, code = verdict(error, wish)
        if sys.stderr is None:
            return code
        try:
            taken_back = f"--no-{wish[2:]}" in arguments
            if wish in arguments or (not taken_back and _is_set(arguments, wish)):
                import traceback

                traceback.print_exception(error)
            print("gpumerge:", one_line(message), file=sys.stderr, flush=True)
        except BrokenPipeError:
            return _CLOSED_PIPE
        except OSError:
            pass
        return code


def one_line(message: str) -> str:
    """`message` on one line, with the escape sequences that file names may hold made visible."""
    from gpumerge_cli.units import visible

    return visible(message.replace("\n", " "))


def _flush(code: int) -> int:
    """Write out what the standard streams still hold, so that the interpreter has nothing to fail with at exit.

    Returns `code`. Raises OSError for a write that fails, unless `code` says that something failed before.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError as error:
            _silence(stream.fileno())
            if code == 0:
                error.filename = error.filename or "standard output"
                raise
    return code


class _ClosedOutput(io.TextIOBase):
    """Standard output where it is closed: Python's own None takes what is printed, and says nothing."""

    def write(self, text: str, /) -> NoReturn:
        raise OutputError("it is closed", where="standard output", way_out="send it to a file, or use -o FILE")

    def fileno(self) -> NoReturn:
        self.write("")


@contextmanager
def _standard_output() -> Iterator[None]:
    if sys.stdout is not None:
        yield
        return
    sys.stdout = _ClosedOutput()
    try:
        yield
    finally:
        sys.stdout = None


def _silence(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
