"""Bytes to lines, however they are cut."""

from collections.abc import Iterator
from typing import Final

LONGEST: Final = 64 * 1024 * 1024
"""Bytes that a line may have."""


class LineError(ValueError):
    """A line is too long; the message says so."""


class Lines:
    """Bytes to lines. A line ends with a line feed, which is left out."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._held = 0

    def feed(self, block: bytes) -> Iterator[bytes]:
        """Take bytes; the lines that have ended.

        Raises:
            LineError: a line is longer than `LONGEST`.
        """
        *ended, rest = block.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield self.close()
            self._rest, self._held = [], 0
        self._add(rest)

    def close(self) -> bytes:
        """The last line, if nothing has ended it."""
        return b"".join(self._rest)

    def _add(self, piece: bytes) -> None:
        self._rest.append(piece)
        self._held += len(piece)
        if self._held > LONGEST:
            raise LineError(f"the line is longer than {LONGEST} bytes")
