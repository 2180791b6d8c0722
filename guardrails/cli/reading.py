"""Reading chunks from a file or standard input, in the form in which they come."""

import codecs
import os
import re
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio
import anyio.to_thread

from guardrails.adapters.sse import DONE, FIELDS, EventError, Events
from guardrails.chunks import Chunk, ChunkError, parse_chunk
from guardrails.cli.terminal import reason_of
from guardrails.lines import LineError, Lines

Form: TypeAlias = Literal["jsonl", "sse", "text"]
"""One JSON object a line; server-sent events; plain text."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BLOCK: Final = 64 * 1024
_BLANK_LINES: Final = re.compile(rb"(?:[ \t]*[\r\n])*")


class InputError(Exception):
    """The input cannot be read on; the message says where and why."""


@contextmanager
def opened(file: str) -> Iterator[tuple[int, str]]:
    """The descriptor of a file to read, and what to call it.

    Raises:
        InputError: it cannot be opened.
    """
    if file == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed")
        yield sys.stdin.fileno(), "standard input"
        return
    if not file:
        raise InputError("the name of the file to read is empty")
    try:
        unbuffered = Path(file).open("rb", buffering=0)  # noqa: SIM115 - the errors of reading are not those of opening
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {reason_of(error)}") from None
    with unbuffered:
        yield unbuffered.fileno(), file


class _JsonLines:
    """Bytes to the lines that are not blank."""

    def __init__(self) -> None:
        self.line = 0
        self._lines = Lines()

    def feed(self, block: bytes) -> Iterator[bytes]:
        try:
            for line in self._lines.feed(block):
                self.line += 1
                if line.strip():
                    yield line
        except LineError:
            self.line += 1
            raise

    def close(self) -> Iterator[bytes]:
        self.line += 1
        if (line := self._lines.close()).strip():
            yield line


class _Decoder:
    """Bytes to JSON texts, in a form that is given or that the first line tells.

    Attributes:
        form: the form; None until it has been told.
    """

    def __init__(self, form: Form | None) -> None:
        self.form = form
        self._head = b""
        self._inner: Events | _JsonLines | None = None

    @property
    def line(self) -> int:
        """The line of the newest text, counted from 1."""
        return self._inner.line if self._inner is not None else 1

    def feed(self, block: bytes, *, final: bool = False) -> Iterator[bytes]:
        """Take bytes; the texts that are complete.

        Raises:
            EventError: they are no server-sent events.
            LineError: a line is too long.
        """
        if self._inner is None:
            self._head += block
            if not final and _BYTE_ORDER_MARK.startswith(self._head):
                return
            block = self._head.removeprefix(_BYTE_ORDER_MARK)
            self.form = self.form or _form_of(block, final=final)
            if self.form is None:
                return
            self._inner = Events() if self.form == "sse" else _JsonLines()
        yield from self._inner.feed(block)
        if final:
            yield from self._inner.close()


def _form_of(head: bytes, *, final: bool) -> Form | None:
    """The form of what begins so; None if more must come to tell."""
    blank = _BLANK_LINES.match(head)
    start = head[blank.end() :] if blank is not None else head
    if start.startswith(FIELDS):
        return "sse"
    open_ = not final and len(head) < _BLOCK
    if open_ and (not start.strip() or any(field.startswith(start) for field in FIELDS)):
        return None
    return "jsonl"


class Reader:
    """Reads a file once.

    Args:
        descriptor: the file.
        name: what to call it in errors.
        form: in which form its chunks are; None to tell JSON lines and server-sent events by the first line.

    Attributes:
        bytes: how many have been read.
        count: chunks, or pieces of text, that have been read.
    """

    def __init__(self, descriptor: int, name: str, form: Form | None) -> None:
        self._descriptor, self._name = descriptor, name
        self._decoder = _Decoder(form)
        self._guessed = form is None
        self._waits = sys.platform != "win32"
        self.bytes = self.count = 0

    @property
    def form(self) -> Form | None:
        """The form; None until the first line has told it."""
        return self._decoder.form

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """The chunks, each as soon as its line or event is there.

        Raises:
            InputError: a line or event is no chunk, or reading failed.
        """
        final = False
        while not final:
            block = await self._read()
            final = not block
            try:
                for data in self._decoder.feed(block, final=final):
                    if data.strip() == DONE and self.form == "sse":
                        return
                    self.count += 1
                    yield parse_chunk(data)
            except (EventError, LineError) as error:
                raise InputError(f"{self._name}:{self._decoder.line}: {error}") from None
            except ChunkError as error:
                raise InputError(self._no_chunk(error)) from None

    async def pieces(self) -> AsyncGenerator[str, None]:
        """Plain text, as it comes; all of it, a byte order mark too.

        Raises:
            InputError: it is not UTF-8, or reading failed.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        final = False
        while not final:
            block = await self._read()
            final = not block
            try:
                text = decoder.decode(block, final)
            except UnicodeDecodeError as error:
                if error.start:
                    yield error.object[: error.start].decode()
                at = self.bytes - len(error.object) + error.start
                raise InputError(f"{self._name}: the text is not UTF-8 at byte {at + 1}") from None
            if text:
                self.count += 1
                yield text

    def _no_chunk(self, error: ChunkError) -> str:
        # The line is known better here: a JSON text that is one line has no other.
        fault = str(error).replace("at line 1, column", "at column")
        no_json = self.form == "jsonl" and " not JSON " in fault
        guess = "; for plain text, give --text" if self._guessed and no_json and self.count == 1 else ""
        return f"{self._name}:{self._decoder.line}: {fault}{guess}"

    async def _read(self) -> bytes:
        """Whatever is there to read, nothing at the end. The event loop goes on meanwhile."""
        try:
            if self._waits:
                try:
                    # A pipe or terminal: waiting for it can be cancelled, and leaves no thread in read() that
                    # would keep the process from ending after a block.
                    await anyio.wait_readable(self._descriptor)
                except OSError:  # a file or a device such as /dev/null, for which there is no waiting
                    self._waits = False
            if self._waits:
                block = os.read(self._descriptor, _BLOCK)
            else:
                block = await anyio.to_thread.run_sync(
                    os.read, self._descriptor, _BLOCK, abandon_on_cancel=True
                )
        except OSError as error:
            raise InputError(f"{self._name}: {reason_of(error)}") from None
        self.bytes += len(block)
        return block
