"""Finding patterns in a growing text, holding back exactly what is undecided.

A scan is fed pieces and knows, at any time, the spans it has decided and the offset before which
nothing can change any more. Both depend on the text so far alone, never on how it was cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import regex

from guardrails.text.pattern import Pattern
from guardrails.text.syntax import exact_form, joined

CONTEXT: Final = 64
"""Characters of decided text kept to the left, for look-behinds and `\\b`."""

_ASK_EACH_TIME: Final = 512
"""Up to this many held characters a candidate is asked at each piece; above, after a sixteenth more."""


_FORGET_AT: Final = 256
"""Decided characters beyond the context at which a scan lets go of them."""


class Span(NamedTuple):
    """A decided match: offsets in the whole text, and what matched."""

    start: int
    end: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a scan.

    Attributes:
        max_hold: characters at which an undecided candidate blocks.
        seconds: time limit of one search, for patterns that are not ours; None for no limit.
    """

    max_hold: int
    seconds: float | None = None


class Joined:
    """Patterns whose hold-back is exact, joined into one alternation in their order.

    Its groups have no names: the engine tests a beginning that all alternatives share only once, and
    a name hides it.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        forms = [exact_form(pattern.pattern, pattern.flags) for pattern in patterns]
        self._each = [
            (pattern, regex.compile(f"(?{form.flags}:{form.found})"))
            for pattern, form in zip(patterns, forms, strict=True)
        ]
        found, touching = joined(forms)
        self.found, self.touches_end = regex.compile(found), regex.compile(touching)

    def judge(self, text: str, at: int, seconds: float | None) -> tuple[int, Pattern | None]:
        """The end and the pattern of the match at a place; no pattern when all candidates are rejected."""
        for pattern, found in self._each:
            candidate = found.match(text, at, timeout=seconds)
            if candidate is None:
                continue
            end = candidate.end() if pattern.verify is None else at + pattern.verify(candidate[0])
            if end > at:
                return end, pattern
        return at + 1, None


class PatternScan:
    """One text, scanned for joined patterns."""

    def __init__(self, joined: Joined, limits: Limits) -> None:
        self._joined, self._limits = joined, limits
        self._text, self._base, self._at = "", 0, 0
        self._alive, self._ask_again = False, 0
        self._seconds = limits.seconds
        self.stuck = False

    @property
    def settled(self) -> int:
        """Everything before this offset is decided for good."""
        return self._base + self._at

    def feed(self, piece: str) -> list[Span]:
        """Take more text; the spans that are decided by it, in order.

        Sets `stuck` when a candidate reached `max_hold` undecided; then no more text is looked at.

        Raises:
            TimeoutError: a search ran past its time limit.
        """
        room = self._limits.max_hold - len(self._text) + self._at
        if len(piece) < room:
            self._text += piece
            return self._advance()
        spans: list[Span] = []
        while not self.stuck:
            # No piece may carry a candidate past its limit unseen, or the cutting would matter.
            room = self._limits.max_hold - len(self._text) + self._at
            self._text += piece[:room]
            piece = piece[room:]
            spans += self._advance()
            self.stuck = len(self._text) - self._at >= self._limits.max_hold
            if not piece:
                break
        return spans

    def close(self) -> list[Span]:
        """The text is complete; the spans that its end decides."""
        return [] if self.stuck else self._advance(final=True)

    def _advance(self, *, final: bool = False) -> list[Span]:
        if self._alive and not final and self._still_alive():
            return []
        text, at, length = self._text, self._at, len(self._text)
        spans: list[Span] = []
        hold, touches = (length + 1, False) if final else self._first_touching(at)
        while (match := self._joined.found.search(text, at, timeout=self._seconds)) and match.start() < hold:
            if match.end() == length and not final:
                hold, touches = match.start(), False  # it may still grow
                break
            at, pattern = self._joined.judge(text, match.start(), self._seconds)
            if pattern is not None:
                spans.append(Span(self._base + match.start(), self._base + at, pattern))
            if hold < at:
                hold, touches = self._first_touching(at)
        self._settle(min(hold, length))
        self._alive, self._ask_again = touches, 0
        return spans

    def _first_touching(self, at: int) -> tuple[int, bool]:
        """Where the first attempt starts that ran into the end of the text, and whether there is one."""
        partial = self._joined.touches_end.search(self._text, at, partial=True, timeout=self._seconds)
        return (len(self._text), False) if partial is None else (partial.start(), True)

    def _still_alive(self) -> bool:
        """Whether the candidate at `settled` still runs into the end.

        Asked by `match`: `search` would try complete matches everywhere first, which is quadratic.
        """
        held = len(self._text) - self._at
        if held < self._ask_again:
            return True
        if not self._joined.touches_end.match(self._text, self._at, partial=True, timeout=self._seconds):
            return False
        longer = held + held // 16 if held > _ASK_EACH_TIME else 0
        self._ask_again = min(longer, self._limits.max_hold)
        return True

    def _settle(self, at: int) -> None:
        """Forget decided text, now and then, so that it is not copied with every piece."""
        cut = at - CONTEXT
        if cut > _FORGET_AT:
            self._text, self._base, at = self._text[cut:], self._base + cut, CONTEXT
        self._at = at


class WindowScan:
    """One text, scanned for a pattern that is held by its stated `max_length`.

    The pattern sees, at each place, `max_length` characters and one more; so what it finds depends
    on the text alone, whatever the pattern is made of.
    """

    def __init__(self, pattern: Pattern, found: "regex.Pattern[str]", limits: Limits) -> None:
        if pattern.max_length is None:
            raise ValueError(f"the pattern {pattern.label} has no max_length")
        self._pattern, self._found, self._seconds = pattern, found, limits.seconds
        self._max_length = pattern.max_length
        self._text, self._base, self._at = "", 0, 0
        self.stuck = False

    @property
    def settled(self) -> int:
        """Everything before this offset is decided for good."""
        return self._base + self._at

    def feed(self, piece: str) -> list[Span]:
        """Take more text; the spans that are decided by it, in order."""
        self._text += piece
        return self._advance(len(self._text) - self._max_length)

    def close(self) -> list[Span]:
        """The text is complete; the spans that its end decides."""
        return self._advance(len(self._text))

    def _advance(self, stop: int) -> list[Span]:
        spans: list[Span] = []
        at = self._at
        while at < stop:
            end = self._match_end(at)
            if end > at:
                spans.append(Span(self._base + at, self._base + end, self._pattern))
            at = max(end, at + 1)
        cut = at - CONTEXT
        if cut > _FORGET_AT:
            self._text, self._base, at = self._text[cut:], self._base + cut, CONTEXT
        self._at = at
        return spans

    def _match_end(self, at: int) -> int:
        """Where what matches here ends; `at` itself if nothing does, or nothing short enough."""
        match = self._found.match(self._text, at, at + self._max_length + 1, timeout=self._seconds)
        if match is None or match.end() - at > self._max_length:
            return at
        accepted = self._pattern.verify(match[0]) if self._pattern.verify else match.end() - at
        return at + accepted
