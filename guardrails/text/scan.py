"""Finding patterns in a growing text, holding back exactly what is undecided.

A scan is fed pieces and knows, at any time, the spans it has decided and the offset before which
nothing can change any more. Both depend on the text so far alone, never on how it was cut.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

import regex

from guardrails.processor import Strategy
from guardrails.text.member import Named
from guardrails.text.pattern import Pattern
from guardrails.text.syntax import exact_form, folded, joined

CONTEXT: Final = 64
"""Characters of decided text kept to the left, for look-behinds and `\\b`."""

_ASK_EACH_TIME: Final = 512
"""Up to this many held characters a candidate is asked at each piece; above, after a sixteenth more."""


_FORGET_AT: Final = 256
"""Decided characters beyond the context at which a scan lets go of them."""


class Sought(Named, Protocol):
    """What is looked for, as far as its findings tell of it; a pattern is one."""

    @property
    def strategy(self) -> Strategy | None:
        """What happens to a finding; None leaves that to the processor."""

    @property
    def replacement(self) -> str | None:
        """The placeholder under `redact`; None gives the label in brackets."""


class Span(NamedTuple):
    """A decided match: offsets in the whole text, and what matched."""

    start: int
    end: int
    pattern: Sought


class Scan(Protocol):
    """One text, looked through as it grows."""

    @property
    def settled(self) -> int:
        """Everything before this offset is decided for good."""

    def feed(self, piece: str, spans: list[Span], *, ask: bool = False, last: bool = False) -> None:
        """Take more text; see `PatternScan.feed`."""


class Search(Protocol):
    """What texts are looked through for: prepared once, shared by all streams."""

    def scan(self, seconds: float | None, whole: Callable[[int], int]) -> Scan:
        """A scan of one text.

        Args:
            seconds: time limit of one search with patterns that nobody has measured; None for no limit.
            whole: rounds the end of a match up to where the original character ends.
        """


class Joined:
    """Patterns whose hold-back is exact, joined into one alternation in their order.

    Its groups have no names: the engine tests a beginning that all alternatives share only once, and
    a name hides it.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        forms = [exact_form(pattern.pattern, pattern.flags) for pattern in patterns]
        self._each = [
            (pattern, form.first and folded(form.first), regex.compile(f"(?{form.flags}:{form.found})"))
            for pattern, form in zip(patterns, forms, strict=True)
        ]
        self._asked: dict[str, list[tuple[Pattern, regex.Pattern[str]]]] = {}
        found, touching = joined(forms)
        self.found, self.touches_end = regex.compile(found), regex.compile(touching)

    def scan(self, seconds: float | None, whole: Callable[[int], int]) -> "PatternScan":
        """A scan of one text for all of them; see `Search`."""
        return PatternScan(self, seconds, whole)

    def judge(self, text: str, at: int, seconds: float | None) -> tuple[int, Pattern | None]:
        """The end and the pattern of the match at a place; no pattern when all candidates are rejected."""
        for pattern, found in self._asked.get(text[at]) or self._ask(text[at]):
            candidate = found.match(text, at, timeout=seconds)
            if candidate is None:
                continue
            end = candidate.end()
            if pattern.verify is not None:
                end = min(end, at + pattern.verify(candidate[0]))
            if end > at:
                return end, pattern
        return at + 1, None

    def _ask(self, char: str) -> list[tuple[Pattern, "regex.Pattern[str]"]]:
        """The patterns that may begin with a character, in their order."""
        asked = [
            (pattern, found) for pattern, first, found in self._each if first is None or first & folded(char)
        ]
        if char.isascii():  # few, so that they can be kept
            self._asked[char] = asked
        return asked


class Buffer:
    """Text that is not decided, after some that is: what a scan may look back at.

    Args:
        context: characters of decided text that are kept.
    """

    def __init__(self, context: int) -> None:
        self._context = context
        self._text, self._base, self._at = "", 0, 0

    @property
    def settled(self) -> int:
        """Everything before this offset is decided for good."""
        return self._base + self._at

    def _settle(self, at: int) -> None:
        """Forget decided text, now and then, so that it is not copied with every piece."""
        cut = at - self._context
        if cut > _FORGET_AT:
            self._text, self._base, at = self._text[cut:], self._base + cut, self._context
        self._at = at


class PatternScan(Buffer):
    """One text, scanned for joined patterns.

    Args:
        joined: the patterns.
        seconds: time limit of one search; None for no limit.
        whole: rounds the end of a match up to where the original character ends.
    """

    def __init__(self, joined: Joined, seconds: float | None, whole: Callable[[int], int] = int) -> None:
        super().__init__(CONTEXT)
        self._joined, self._seconds, self._whole = joined, seconds, whole
        self._alive, self._ask_again = False, 0

    def feed(self, piece: str, spans: list[Span], *, ask: bool = False, last: bool = False) -> None:
        """Take more text.

        Args:
            piece: the text.
            spans: gets the spans that are decided by it, in order.
            ask: whether to look at a candidate that would otherwise be left until it has grown.
            last: whether the text is complete with it, which decides the rest.

        Raises:
            TimeoutError: a search ran past its time limit; `spans` has what was decided before.
        """
        self._text += piece
        if last or not self._alive or not self._still_alive(ask=ask):
            self._advance(spans, final=last)

    def _advance(self, spans: list[Span], *, final: bool) -> None:
        text, at, length = self._text, self._at, len(self._text)
        hold, touches = (length + 1, False) if final else self._first_touching(at)
        while (match := self._joined.found.search(text, at, timeout=self._seconds)) and match.start() < hold:
            if match.end() == length and not final:
                hold, touches = match.start(), False  # it may still grow
                break
            at, pattern = self._joined.judge(text, match.start(), self._seconds)
            if pattern is not None:
                at = self._whole(self._base + at) - self._base
                spans.append(Span(self._base + match.start(), self._base + at, pattern))
            if hold < at:
                hold, touches = self._first_touching(at)
        self._settle(min(hold, length))
        self._alive, self._ask_again = touches, 0

    def _first_touching(self, at: int) -> tuple[int, bool]:
        """Where the first attempt starts that ran into the end of the text, and whether there is one."""
        partial = self._joined.touches_end.search(self._text, at, partial=True, timeout=self._seconds)
        return (len(self._text), False) if partial is None else (partial.start(), True)

    def _still_alive(self, *, ask: bool) -> bool:
        """Whether the candidate at `settled` still runs into the end.

        Asked by `match`: `search` would try complete matches everywhere first, which is quadratic.
        """
        held = len(self._text) - self._at
        if held < self._ask_again and not ask:
            return True
        if not self._joined.touches_end.match(self._text, self._at, partial=True, timeout=self._seconds):
            return False
        self._ask_again = held + held // 16 if held > _ASK_EACH_TIME else 0
        return True


class Window:
    """A pattern that is held by its stated `max_length`."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern, self.length = pattern, pattern.max_length or 0
        self.found = regex.compile(f"(?{pattern.flags}:{pattern.pattern})")

    def scan(self, seconds: float | None, whole: Callable[[int], int]) -> "WindowScan":
        """A scan of one text for it; see `Search`."""
        return WindowScan(self, seconds, whole)


class WindowScan(Buffer):
    """One text, scanned for a pattern that is held by its stated `max_length`.

    The pattern sees, at each place, `max_length` characters and one more; so what it finds depends
    on the text alone, whatever the pattern is made of. Of a longer match, that much is found.

    Args:
        window: the pattern.
        seconds: time limit of one attempt; None for no limit.
        whole: rounds the end of a match up to where the original character ends.
    """

    def __init__(self, window: Window, seconds: float | None, whole: Callable[[int], int] = int) -> None:
        self._pattern, self._found, self._length = window.pattern, window.found, window.length
        self._seconds, self._whole = seconds, whole
        super().__init__(max(CONTEXT, self._length))

    def feed(self, piece: str, spans: list[Span], *, ask: bool = False, last: bool = False) -> None:
        """Take more text; see `PatternScan.feed`."""
        del ask
        self._text += piece
        self._advance(len(self._text) - (0 if last else self._length), spans)

    def _advance(self, stop: int, spans: list[Span]) -> None:
        at = self._at
        while at < stop:
            end = self._match_end(at)
            if end > at:
                end = self._whole(self._base + end) - self._base
                spans.append(Span(self._base + at, self._base + end, self._pattern))
            at = max(end, at + 1)
        self._settle(at)

    def _match_end(self, at: int) -> int:
        """Where what matches here ends; `at` itself if nothing does."""
        match = self._found.match(self._text, at, at + self._length + 1, timeout=self._seconds)
        if match is None:
            return at
        accepted = self._pattern.verify(match[0]) if self._pattern.verify else len(match[0])
        return at + min(accepted, len(match[0]), self._length)
