"""What the commands say, and how: results to standard output, everything else to standard error."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any, Final, NoReturn, TypeAlias

import click

from guardrails.problems import ConfigError

FAILED: Final = 1
"""Exit status: a case failed."""

WRONG: Final = 2
"""Exit status: the command, the configuration or the input is not right."""

BLOCKED: Final = 3
"""Exit status: a processor blocked the stream."""

Style: TypeAlias = Callable[[str], str]
"""What makes text look like something."""

_WIDEST: Final = 100
_NARROWEST: Final = 40


class OutputError(Exception):
    """Standard output cannot be written to; the message says why."""


def say(message: str) -> None:
    """Say something beside the output, on one line."""
    note(f"guardrails: {one_line(message)}\n")


def note(text: str) -> None:
    """Write to standard error as it is; if that cannot be done there is nobody to tell."""
    try:
        # As bytes, so that the locale does not matter.
        click.echo(text.encode("utf-8", "backslashreplace"), err=True, nl=False)
    except OSError:
        _give_up(sys.stderr)


def fail(message: str) -> NoReturn:
    """Say what is not right, and end.

    Raises:
        SystemExit: always, with `WRONG`.
    """
    say(message)
    sys.exit(WRONG)


def say_problems(error: ConfigError) -> None:
    """Say all that is wrong with a configuration, a line each."""
    for problem in error.problems:
        say(str(problem))


def one_line(text: str) -> str:
    """A text from elsewhere on one line; what a terminal would obey, and nobody would see, is written out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in " ".join(text.split())
    )


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output, in colours only if a terminal reads them.

    Raises:
        SystemExit: it cannot be written to; that has been said.
    """
    text = "".join(f"{line}\n" for line in lines)
    if not _has_colours(sys.stdout):
        text = click.unstyle(text)
    try:
        put(text.encode("utf-8", "backslashreplace"))
    except OutputError as error:
        fail(str(error))


def write_json(value: Any) -> None:
    """Write a value for machines."""
    write_lines([json.dumps(value, ensure_ascii=False, indent=2)])


def put(data: bytes) -> None:
    """Write to standard output, at once.

    Raises:
        OutputError: it is closed, or cannot be written to (a full disk).
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise no_output(error) from None


def no_output(error: OSError) -> OutputError:
    """Give standard output up; the error that says why."""
    _give_up(sys.stdout)
    return OutputError(f"standard output: {reason_of(error)}")


def reason_of(error: Exception) -> str:
    """Why something failed, without the number and the file of an error of the operating system."""
    return getattr(error, "strerror", None) or str(error)


def _give_up(stream: IO[str]) -> None:
    """Let what is still buffered go nowhere: it would be tried, and fail, once more when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def good(text: str) -> str:
    """Text that says that something is as it should be."""
    return click.style(text, fg="green")


def bad(text: str) -> str:
    """Text that says that something is not."""
    return click.style(text, fg="red", bold=True)


def strong(text: str) -> str:
    """Text that names what follows."""
    return click.style(text, bold=True)


def faint(text: str) -> str:
    """Text that says where, or how much."""
    return click.style(text, dim=True)


def wrapped(text: str, indent: str = "") -> list[str]:
    """A text as lines that fit the terminal."""
    return beside("", text, indent)


def beside(head: str, text: str, indent: str = "", style: Style = str) -> list[str]:
    """A text as lines that fit the terminal, to the right of a head that may have a style of its own."""
    hanging = indent + " " * len(click.unstyle(head))
    lines = textwrap.wrap(
        text,
        _width(hanging),
        initial_indent=hanging,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    styled = [style(line[len(hanging) :]) for line in lines] or [""]
    return [(indent + head + styled[0]).rstrip(), *(hanging + line for line in styled[1:])]


def table(rows: Iterable[Sequence[str]], styles: Sequence[Style], indent: str = "  ") -> list[str]:
    """Rows of cells as lines, the columns below each other, each in its style; the last column wraps."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [line for row in cells for line in _row(row, widths, styles, indent)]


def _row(row: Sequence[str], widths: Sequence[int], styles: Sequence[Style], indent: str) -> list[str]:
    *before, last = zip(row, widths, styles, strict=True)
    head = "".join(style(cell) + " " * (width - len(cell) + 2) for cell, width, style in before)
    return beside(head, last[0], indent, last[2])


def _width(indent: str) -> int:
    """Columns that a line may take; beside a deep indent there must be some for the text."""
    columns = shutil.get_terminal_size().columns or 80
    return max(min(columns, _WIDEST), _NARROWEST, len(indent) + _NARROWEST // 2)


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at it."""
    return stream is not None and stream.isatty()


def _has_colours(stream: Any) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
