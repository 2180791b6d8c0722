"""Server-sent events: how a stream of chunks travels over HTTP, `data: <json>` each, `data: [DONE]` last.

The format is that of the HTML standard, 9.2.6 (https://html.spec.whatwg.org/multipage/server-sent-events.html).
"""

from collections.abc import Iterator
from typing import Final

from guardrails.chunks import Chunk, dump_json
from guardrails.lines import LineError, Lines

DONE: Final = b"[DONE]"
"""The data of the event that ends a stream."""

LAST_EVENT: Final = b"data: [DONE]\n\n"
"""That event as it is sent."""

FIELDS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
"""What a line of a stream of events begins with."""

LONGEST: Final = 64 * 1024 * 1024
"""Bytes that the data of an event may have."""


class EventError(ValueError):
    """Something is no stream of events; the message says why."""


class Events:
    """Bytes to the data of events, however they are cut.

    What is no data (`event`, `id`, `retry`, comments) is left out.

    Attributes:
        line: the line at which the data of the newest event begins, counted from 1; where something is wrong,
            that line.
    """

    def __init__(self) -> None:
        self.line = 0
        self._number = 0
        self._lines = Lines()
        self._after_return = False
        self._data: list[bytes] = []
        self._size = 0
        self._known = False  # whether any line was of an event
        self._stray = 0  # the first line that was of none

    def feed(self, block: bytes) -> Iterator[bytes]:
        """Take bytes; the data of each event that has ended and has some.

        Raises:
            EventError: a line is JSON without `data:` before it, or the event is too long.
            LineError: a line is too long.
        """
        try:
            for line in self._lines.feed(self._with_line_feeds(block)):
                if data := self._take(line):
                    yield data
        except (EventError, LineError):
            self.line = self._number + 1
            raise

    def close(self) -> Iterator[bytes]:
        """The data of a last event that no empty line has ended.

        Raises:
            EventError: as in `feed`, or there were lines and none of them was of an event.
            LineError: as in `feed`.
        """
        yield from self.feed(b"\n\n")
        if self._stray and not self._known:
            self.line = self._stray
            raise EventError("this is no server-sent event")

    def _with_line_feeds(self, block: bytes) -> bytes:
        """The bytes with one line feed for each end of a line, which may be CR, LF or CR LF."""
        if self._after_return and block.startswith(b"\n"):
            block, self._after_return = block[1:], False
        if block:
            self._after_return = block.endswith(b"\r")
        return block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, line: bytes) -> bytes:
        """Take a line; the data of the event that it ends, empty if it ends none."""
        data = b""
        name, _, value = line.partition(b":")
        if not line:
            data, self._data, self._size = b"\n".join(self._data), [], 0
        elif name == b"data":
            self._add(value.removeprefix(b" "))
        elif line.startswith(b"{"):  # the standard skips unknown fields; a chunk may not get lost like that
            raise EventError("JSON without `data:` before it is no server-sent event")
        self._number += 1
        if line:
            self._note(name + b":" in FIELDS)
        return data

    def _note(self, known: bool) -> None:
        self._known = self._known or known
        if not known and not self._stray:
            self._stray = self._number

    def _add(self, data: bytes) -> None:
        if self._size + len(data) > LONGEST:
            raise EventError(f"the event is longer than {LONGEST} bytes")
        if not self._data:
            self.line = self._number + 1
        self._data.append(data)
        self._size += len(data)


def event_of(chunk: Chunk) -> bytes:
    """A chunk as one event."""
    return b"data: " + dump_json(chunk).encode() + b"\n\n"
