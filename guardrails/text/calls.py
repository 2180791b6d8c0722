"""A tool call while it comes in: its parts wait until its arguments, decoded, have been decided."""

import json
from collections.abc import Sequence
from typing import Any, Final

from guardrails.chunks import parse_chunk
from guardrails.content.walk import Visit, rewritten_value
from guardrails.processor import Finding
from guardrails.surfaces import whole_characters
from guardrails.text.feeds import Feeds
from guardrails.text.leaves import Leaves, put_back
from guardrails.text.member import Member, Place

_SURFACE: Final = "tool_args"
_PATH: Final = ("args",)


class Call:
    """The arguments of one call, as they streamed and as the call states them.

    Args:
        place: the surface and the id of the call.
        members: for whom they are looked through.
        feeds: takes what they say.

    Attributes:
        place: the surface and the id of the call.
        more: characters of pieces that wait with the first one, in which they leave.
        ended: whether no more of them will stream.
        leaves: their texts, once the call is complete.
    """

    def __init__(self, place: Place, members: Sequence[Member], feeds: Feeds) -> None:
        self.place, self._members, self._feeds = place, members, feeds
        self._pieces: list[str] = []
        self.more = 0
        self._stated: Any = None
        self.ended = False
        self.leaves: Leaves | None = None
        # The streamed arguments as a value; None if they are no JSON, and are judged as text.
        self._streamed: list[Any] | None = None
        self._text, self._exact, self._alike = "", True, False
        self._answers: tuple[str, Any] | None = None

    def add(self, piece: str) -> bool:
        """Take a piece of the arguments' JSON text; tells whether it is the first."""
        self._pieces.append(piece)
        return len(self._pieces) == 1

    def complete(self, stated: Any = None) -> None:
        """No part of the call is missing any more.

        Args:
            stated: the arguments in the `tool-call`, None without one.
        """
        self._stated = stated
        self._text = whole_characters("".join(self._pieces))
        self._streamed, self._exact = _read(self._text)
        self._alike = self._streamed is not None and _same(self._streamed[0], stated)
        self.leaves = Leaves(self._members, f"{self.place.channel}:", self._feeds)
        self.leaves.take(self._walk)

    def release(self) -> list[Finding]:
        """Take the answers in; what was found, up to the first leaf that is not decided."""
        if self._answers is not None or self.leaves is None:
            return []
        texts, findings = self.leaves.release()
        if self.leaves.undecided() is None:
            self._answers = self._walk(put_back(texts))
        return findings

    @property
    def text(self) -> str:
        """The arguments' JSON text as it may leave."""
        return self._answers[0] if self._answers else ""

    @property
    def args(self) -> Any:
        """The arguments of the `tool-call` as they may leave."""
        return self._answers[1] if self._answers else None

    @property
    def unchanged(self) -> bool:
        """Whether the arguments leave as the `tool-call` stated them."""
        return self.args is self._stated

    def _walk(self, visit: Visit) -> tuple[str, Any]:
        text, stated = self._text, self._stated
        if self._streamed is not None:
            value = self._streamed[0]
            new = rewritten_value(value, _SURFACE, _PATH, visit)
            text = text if new is value and self._exact else json.dumps(new, ensure_ascii=False)
            if self._alike:
                return text, stated if new is value else new
        elif text:
            text = visit(_SURFACE, _PATH, text)
        return text, rewritten_value(stated, _SURFACE, _PATH, visit)


def _read(text: str) -> tuple[list[Any] | None, bool]:
    """The value of a JSON text, in a list, and whether the text says nothing else; None if it is no JSON."""
    doubled = False

    def pairs(given: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubled
        value = dict(given)
        doubled = doubled or len(value) < len(given)  # the first of two is in the text alone
        return value

    try:
        value = json.loads(text, object_pairs_hook=pairs)
        parse_chunk({"type": "object", "object": value})  # refuses what no chunk may hold
    except (ValueError, RecursionError):
        return None, True
    return [value], not doubled


def _same(first: Any, second: Any) -> bool:
    """Whether two values are the same JSON; `1`, `1.0` and `true` are three."""
    if first != second:
        return False
    try:
        return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False
