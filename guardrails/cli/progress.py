"""How far a long run is, for a person who sees nothing else of it."""

import os
import stat
import sys
import time
from typing import Final, Self

from guardrails.cli.terminal import is_terminal, note, say

_FIRST: Final = 0.5
_PAUSE: Final = 0.2
_MEGABYTE: Final = 1_000_000


class Progress:
    """Shows on standard error how much has been read and let out.

    Only if that is a terminal, standard output is none, and one of input and output is a file: what runs
    between two other programs is no job that somebody waits for, and may share the terminal with them.

    Args:
        descriptor: the input.
    """

    def __init__(self, descriptor: int) -> None:
        self._size = _size(descriptor)
        batch = self._size is not None or (sys.stdout is not None and _size(sys.stdout.fileno()) is not None)
        self._on = is_terminal(sys.stderr) and not is_terminal(sys.stdout) and batch
        self._shown = False
        self._next = time.monotonic() + _FIRST

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.clear()

    def note(self, bytes_in: int, chunks_out: int) -> None:
        """So much has been read, and let out."""
        if not self._on or (now := time.monotonic()) < self._next:
            return
        self._next = now + _PAUSE
        self._shown = True
        share = f"{min(bytes_in * 100 // self._size, 100)} % of " if self._size else ""
        chunks = f"{chunks_out:,} chunk{'s' if chunks_out != 1 else ''} out"
        line = f"{share}{(self._size or bytes_in) / _MEGABYTE:,.1f} MB, {chunks}"
        # The cursor goes back to the beginning, so that what comes next, be it the prompt, writes over it.
        note(f"\r\x1b[K{line[: _columns() - 1]}\r")

    def say(self, message: str) -> None:
        """Say something in its place; it comes back when its time has come."""
        self.clear()
        say(message)

    def clear(self) -> None:
        """Leave nothing of it behind."""
        if self._shown:
            self._shown = False
            note("\r\x1b[K")


def _size(descriptor: int) -> int | None:
    """The bytes of a file; None if it is none."""
    state = os.fstat(descriptor)
    return state.st_size if stat.S_ISREG(state.st_mode) else None


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80
