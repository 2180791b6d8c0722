r"""JSON escapes in a text that is not parsed: each is shown as the character for which it stands.

A tool's answer is often a JSON text, whole or in pieces, and `jane\u0040example.org` in it is an address to
whoever reads it. What detectors do not touch leaves as it was written.
"""

import json
import re
from collections import deque
from typing import Final

_UNICODE: Final = r"\\{1,16}u(?:[dD][89abAB][0-9a-fA-F]{2}\\{1,16}u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})"
r"""An escape by number, or two that are one character; with more backslashes in a JSON text within others."""
_BEGUN: Final = (
    r"\\{1,16}(?:u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2}(?:\\{1,16}(?:u[0-9a-fA-F]{0,3})?)?))?\Z"
)
"""What may become one."""
_SHORT: Final = r'\\["\\/bfnrt]'
r"""The others, which count in what looks like JSON alone: `C:\new` has none."""

_ANYWHERE: Final = re.compile(f"(?P<begun>{_BEGUN})|{_UNICODE}")
_IN_JSON: Final = re.compile(f"{_ANYWHERE.pattern}|{_SHORT}")
_DIGITS: Final = re.compile("u([0-9a-fA-F]{4})")
_STANDS_FOR: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_JSON: Final = re.compile(r'[{\[]\s*["{\[]')
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BEFORE_VALUE: Final = (":", "[", ",")


class Escapes:
    """The escapes of one growing text.

    Offsets are those of the text as it is shown.

    Attributes:
        waiting: what has come of an escape that is not complete; it counts as one character.
    """

    __slots__ = ("_before", "_end", "_json_from", "_last", "_open", "_seen", "waiting")

    def __init__(self) -> None:
        self.waiting = ""
        # Escapes that have not left, by their place; the end of what is shown.
        self._seen: deque[tuple[int, str]] = deque()
        self._end = 0
        # The last character but white space. The first is one that makes a JSON text look like one within.
        self._last = "["
        self._json_from: int | None = None
        # Of what has left: whether it ends within a string of JSON, and in which character but white space.
        self._open, self._before = False, ""

    def feed(self, piece: str) -> str:
        """The next piece as it is shown."""
        text, self.waiting = self.waiting + piece, ""
        begin = 0
        if self._json_from is None:
            begin = self._begin(text)
        shown = self._shown(text[:begin], _ANYWHERE)
        if self._json_from is None and begin < len(text):
            self._json_from = self._end
        return shown + self._shown(text[begin:], _IN_JSON)

    def close(self) -> str:
        """What is left when the text is complete: one character, as it was counted."""
        if not self.waiting:
            return ""
        self._seen.append((self._end, self.waiting))
        self._end += 1
        self.waiting = ""
        return "\\"

    def written(self, start: int, shown: str) -> str:
        """What leaves from `start` on, as it was written; to be called in the order of the text."""
        out: list[str] = []
        at, end = start, start + len(shown)
        while self._seen and self._seen[0][0] < end:
            offset, escape = self._seen.popleft()
            out += (self._noted(at, shown[at - start : offset - start]), escape)
            at = offset + 1
        out.append(self._noted(at, shown[at - start :]))
        return "".join(out)

    def instead(self, start: int, shown: str, text: str) -> str:
        """What leaves in the place of `shown`, written as JSON; instead of a whole number, as a string."""
        as_value = not self._open and self._before in _BEFORE_VALUE and _NUMBER.fullmatch(shown)
        self.written(start, shown)
        if self._json_from is None or start < self._json_from:
            return text
        quoted = json.dumps(text, ensure_ascii=False)
        return quoted if as_value else quoted[1:-1]

    def _begin(self, text: str) -> int:
        """Where in a text it begins to look like JSON."""
        looked = self._last + text
        found = _JSON.search(looked)
        self._last = looked.rstrip()[-1:] or self._last
        return found.end() - 1 - (len(looked) - len(text)) if found else len(text)

    def _shown(self, text: str, escapes: re.Pattern[str]) -> str:
        if "\\" not in text:
            self._end += len(text)
            return text
        out: list[str] = []
        at, base = 0, self._end
        for found in escapes.finditer(text):
            out.append(text[at : found.start()])
            base += len(out[-1])
            at = found.end()
            if found["begun"] is not None:
                self.waiting = found[0]
                break
            self._seen.append((base, found[0]))
            out.append(_character(found[0]))
            base += 1
        out.append(text[at:])
        self._end = base + len(out[-1])
        return "".join(out)

    def _noted(self, at: int, plain: str) -> str:
        """What leaves between escapes, taken in as far as it is JSON."""
        if self._json_from is not None:
            within = plain[max(0, self._json_from - at) :]
            self._open ^= within.count('"') % 2 == 1
            self._before = within.rstrip()[-1:] or self._before
        return plain


def _character(escape: str) -> str:
    units = [int(digits, 16) for digits in _DIGITS.findall(escape)]
    if not units:
        return _STANDS_FOR.get(escape[1], escape[1])
    data = b"".join(unit.to_bytes(2, "little") for unit in units)
    return data.decode("utf-16-le", "replace")  # half of a pair is no character
