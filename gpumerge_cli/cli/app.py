"""Runs command lines: chooses the command, prints an error in one line, and returns the exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from gpumerge_cli.cli.failures import describe_failure, with_short_values
from gpumerge_cli.cli.help import WHOLE_HELP, help_text, wanted_help
from gpumerge_cli.cli.options.commands import COMMAND_NAMES, command
from gpumerge_cli.cli.setting_files import anything_set
from gpumerge_cli.cli.short_names import job_of, spelled_out
from gpumerge_cli.cli.signals import handle_signals, stop_signal
from gpumerge_cli.errors import GpumergeError, Interrupted, OutputError, lack_of_descriptors
from gpumerge_cli.urls import redacted

_CLOSED_PIPE = 128 + signal.SIGPIPE


def invoke(arguments: Sequence[str], *, last: bool = False) -> int:
    """Run one command line; the exit code. Prints at most one line for an error, whatever it is.

    last: the process ends with this command line; signals that come after it change nothing.
    """
    job, arguments = job_of(arguments), spelled_out(arguments)
    # In sort, --debug has GNU sort's meaning.
    traceback_option = "--traceback" if arguments[:1] == ["sort"] else "--debug"
    with handle_signals(restore=not last), _standard_output():
        code = _guarded(lambda: _carried_out(job, arguments), arguments, traceback_option)
        _remove_unfinished()
        return _guarded(lambda: _flush(code), arguments, traceback_option)


def _remove_unfinished() -> None:
    # Look only for a loaded module: --help pays for every import.
    output, files = (sys.modules.get(f"gpumerge_cli.{name}") for name in ("formats.output", "temporary_files"))
    left = output.remove_unfinished() if output else files.remove_temporaries() if files else []
    for path, reason in left:
        if sys.stderr is not None:
            text = f"warning: {path}: this temporary file could not be removed ({reason}); remove it"
            with suppress(OSError):
                print("gpumerge:", one_line(text), file=sys.stderr, flush=True)


def _carried_out(job: str, arguments: Sequence[str]) -> int:
    """The exit code of a command line, whose help begins with `job`."""
    if job:
        print(job)
    return _dispatch(arguments)


def _dispatch(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--"]:  # the end of gpumerge's own options
        arguments = arguments[1:]
    if arguments[:1] == ["help"]:
        from gpumerge_cli.cli.recipes import recipe_lines

        found = "\n".join(recipe_lines(arguments[1:]))
        if found:
            print(found)
            return 0
        arguments = arguments[1:]
    topic = wanted_help(arguments)
    if topic is not None:
        print(help_text(topic, whole=WHOLE_HELP in arguments), end="")
        return 0
    from gpumerge_cli.results.origin import command_line
    from gpumerge_cli.secret_values import start_concealing

    start_concealing(arguments)
    settings = None
    if anything_set():
        from gpumerge_cli.cli.settings import Settings

        settings = Settings()
    try:
        with command_line(arguments):
            name, *words = arguments
            if name in COMMAND_NAMES:  # as Typer would do, whose import takes as long as merging 50 MB
                from gpumerge_cli.cli.dispatch import run_command

                return run_command(name, words, settings)
            from gpumerge_cli.cli.application import invoke_typer

            return invoke_typer(arguments, invoke)
    except GpumergeError as error:
        placed = error if settings is None else settings.placed(error)
        if placed is error:  # which keeps its own cause
            raise
        raise placed from error


def _wants_traceback(arguments: Sequence[str]) -> bool:
    """Tell if the command line, the environment or a file asks for tracebacks; mistakes are reported elsewhere."""
    try:
        name, *words = arguments
        from gpumerge_cli.cli.scan import last_value
        from gpumerge_cli.cli.settings import Settings

        option = command(name).named.get("traceback")
        state = None if option is None else last_value(command(name), words, option)
        if state is None and option is not None and anything_set():
            state = Settings().use(name, option) is True
        return state is True
    except Exception:  # there may be no memory for the question
        return False


def _guarded(work: Callable[[], int], arguments: Sequence[str], traceback_option: str) -> int:
    """The result of `work`; if it raises, one line on standard error and the exit code of the error.

    wish: the option that also asks for the traceback.
    """
    try:
        return work()
    except (Exception, KeyboardInterrupt, Interrupted) as error:
        if isinstance(error, BrokenPipeError) or isinstance(error.__cause__, BrokenPipeError):
            return _CLOSED_PIPE
        stopped_by = stop_signal()
        if stopped_by is not None and not isinstance(error, Interrupted):
            error = Interrupted(stopped_by)
        message, code = describe_failure(error, traceback_option)
        message = with_short_values(message, arguments)
        if sys.stderr is None:
            return code
        try:
            from gpumerge_cli.secret_values import concealed

            if _wants_traceback(arguments):
                import traceback

                from gpumerge_cli.units import visible_lines

                text = visible_lines(concealed(redacted("".join(traceback.format_exception(error)))))
                print(text, end="", file=sys.stderr)
            print("gpumerge:", one_line(message), file=sys.stderr, flush=True)
        except BrokenPipeError:
            return _CLOSED_PIPE
        except OSError as failed:
            lack = lack_of_descriptors(failed)  # without a descriptor, no module can be imported for the line
            if lack is not None:
                print("gpumerge:", lack, file=sys.stderr, flush=True)
        return code


def one_line(message: str) -> str:
    """`message` on one line, without values of variables, and with the escape sequences of file names made visible."""
    from gpumerge_cli.secret_values import concealed
    from gpumerge_cli.units import visible

    return visible(concealed(message).replace("\n", " "))


def _flush(code: int) -> int:
    """Flush the standard streams, so that the interpreter has nothing left to fail with at exit.

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
    """Standard output where it is closed: Python's own None takes all output silently."""

    def write(self, text: str, /) -> NoReturn:
        raise OutputError("it is closed", where="standard output", way_out="send it to a file")

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
