"""Writing chunks to standard output, in one form."""

import re
from typing import Final

from guardrails.adapters.sse import LAST_EVENT, event_of
from guardrails.chunks import Chunk, TextDelta, dump_json
from guardrails.cli.reading import Form
from guardrails.cli.terminal import put
from guardrails.surfaces import whole_characters

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Writer:
    """Writes chunks as they come.

    Args:
        form: the form; it may be set until the first chunk comes.

    Attributes:
        bytes: how many have been written.
        count: chunks that have been taken.
        mid_line: whether what has been written ends within a line.
    """

    def __init__(self, form: Form | None) -> None:
        self.form = form
        self.bytes = self.count = 0
        self.mid_line = False
        self._half = ""

    def write(self, chunk: Chunk) -> None:
        """Write a chunk at once.

        Raises:
            OutputError: that failed.
        """
        self.count += 1
        if self.form == "sse":
            self._put(event_of(chunk))
        elif self.form == "text":
            self._put_text(chunk.payload.text if isinstance(chunk, TextDelta) else "")
        else:
            self._put(dump_json(chunk).encode() + b"\n")

    def end(self) -> None:
        """Write what ends a stream that is complete.

        Raises:
            OutputError: that failed.
        """
        if self.form == "sse":
            self._put(LAST_EVENT)
        elif self._half:
            self._put("\N{REPLACEMENT CHARACTER}".encode())

    def _put_text(self, text: str) -> None:
        """Write text. JSON can hold a character in halves; what stays a half is no character."""
        text = whole_characters(self._half + text)
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._put(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text.removesuffix(self._half)).encode())

    def _put(self, data: bytes) -> None:
        if data:
            put(data)
            self.bytes += len(data)
            self.mid_line = not data.endswith(b"\n")
