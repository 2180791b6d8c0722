"""Processors that break the contract, each in a way seen in the field. The contract must catch every one.

They look for `SECRET`, a word `secret-` with six digits, in text deltas.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from guardrails.chunks import Chunk, StepFinish, TextDelta, TextEnd, with_text
from guardrails.processor import END, WAKE, Block, Finding, Item, Processor, Report, Run, Step

SECRET: Final = re.compile(r"secret-\d{6}")
FRAGMENTS: Final = ("secret-123456", "secret-12345", "secret-", "plain words ")
"""Fragments for the texts these processors are tested with."""

_WINDOW: Final = 8


def _redacted(text: str) -> str:
    return SECRET.sub("[SECRET]", text)


class EachDeltaAlone(Processor):
    """Looks at each delta by itself."""

    def open(self, run: Run) -> Step:
        """Keep nothing."""
        del run

        def step(item: Item) -> Iterable[Item]:
            return [with_text(item, _redacted(item.payload.text))] if isinstance(item, TextDelta) else [item]

        return step


class _Buffering(Processor):
    """Keeps text back in one buffer and lets some of it go; subclasses say how much, and when."""

    def keep(self, text: str) -> int:
        """How many characters to keep back."""
        found = re.search(r"(?:s(?:e(?:c(?:r(?:e(?:t(?:-\d{0,5})?)?)?)?)?)?)$", text)
        return len(found[0]) if found else 0

    def flushes(self, item: Item) -> bool:
        """Whether this item lets everything go."""
        return isinstance(item, TextEnd | StepFinish) or item is END

    def open(self, run: Run) -> Step:
        """A buffer for the stream."""
        del run
        held: list[TextDelta] = []

        def flush(keep: int = 0) -> list[Item]:
            if not held:
                return []
            text = "".join(delta.payload.text for delta in held)
            last, size = held[-1], len(text) - keep
            held[:] = [with_text(last, text[size:])] if keep else []
            return [with_text(last, _redacted(text[:size]))]

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta):
                held.append(item)
                return flush(self.keep("".join(delta.payload.text for delta in held)))
            return [*(flush() if self.flushes(item) else []), item]

        return step


class FixedWindow(_Buffering):
    """Keeps back a fixed number of characters, which is too few for the longest match."""

    def keep(self, text: str) -> int:
        """Always the same."""
        return min(_WINDOW, len(text))


class FlushOnAnyChunk(_Buffering):
    """Lets held text go as soon as any other chunk arrives."""

    def flushes(self, item: Item) -> bool:
        """Whatever is no delta."""
        return not isinstance(item, TextDelta)


class ForgottenEnd(_Buffering):
    """Gives held text back at the end of a text only, so that a broken source loses it."""

    def flushes(self, item: Item) -> bool:
        """Not at `END`."""
        return isinstance(item, TextEnd)


class Overtaking(_Buffering):
    """Lets every other chunk pass held text."""

    def flushes(self, item: Item) -> bool:
        """Only where it must."""
        return item is END


class OneBufferForAllIds(_Buffering):
    """Joins the texts of different ids in one buffer."""


class SharedBuffer(Processor):
    """Keeps its buffer beside its settings, where all streams share it."""

    _held: ClassVar[list[str]] = []

    def open(self, run: Run) -> Step:
        """Forget what a stream left behind only when it ends."""
        del run

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta):
                self._held.append(item.payload.text)
                return []
            if isinstance(item, TextEnd) and self._held:
                text = _redacted("".join(self._held))
                self._held.clear()
                end = item.payload.id
                return [_delta_like(item, end, text), item]
            return [item]

        return step


class _Whole(Processor):
    """Decides each text as a whole, at its end; correct but for what subclasses do with a find."""

    def found(self, run: Run, delta: TextDelta, text: str, match: re.Match[str]) -> Iterator[Item]:
        """What to do with the first find of a text."""
        raise NotImplementedError

    def open(self, run: Run) -> Step:
        """All items since a text began wait for its end."""
        held: list[Item] = []

        def step(item: Item) -> Iterable[Item]:
            if item is WAKE:
                return
            if isinstance(item, TextDelta) or (held and not _closes(item)):
                held.append(item)
                return
            for waiting in [*held]:
                held.remove(waiting)
                yield from self._look(run, waiting)
            yield item

        return step

    def _look(self, run: Run, item: Item) -> Iterator[Item]:
        if isinstance(item, TextDelta) and (match := SECRET.search(item.payload.text)):
            yield from self.found(run, item, item.payload.text, match)
            return
        yield item


class LeakingReason(_Whole):
    """Repeats what it found in the tripwire's reason."""

    def found(self, run: Run, delta: TextDelta, text: str, match: re.Match[str]) -> Iterator[Item]:
        """Refuse, telling too much."""
        del delta, text
        yield _report(match, self.id)
        run.block(f"it says {match[0]}")


class LeakingMetadata(_Whole):
    """Repeats what it found in the tripwire's metadata."""

    def found(self, run: Run, delta: TextDelta, text: str, match: re.Match[str]) -> Iterator[Item]:
        """Refuse, telling too much."""
        del delta, text
        yield _report(match, self.id)
        run.block("it says something", metadata={"match": match[0]})


class SwallowedRefusal(_Whole):
    """Catches its own refusal and lets the text pass."""

    def found(self, run: Run, delta: TextDelta, text: str, match: re.Match[str]) -> Iterator[Item]:
        """Refuse, then think better of it."""
        del text, match
        try:
            run.block("it says something")
        except Block:
            yield delta


class DropsOthers(Processor):
    """Forgets what it does not know."""

    def open(self, run: Run) -> Step:
        """Text only."""
        del run
        return lambda item: [item] if str(getattr(item, "type", "")).startswith("text") else []


class TouchesCleanText(Processor):
    """Tidies text that nobody complained about."""

    def open(self, run: Run) -> Step:
        """Strip each delta."""
        del run

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta):
                return [with_text(item, item.payload.text.strip())]
            return [item]

        return step


class OffsetsInTheDelta(Processor):
    """Reports places within a delta instead of within the text."""

    def open(self, run: Run) -> Step:
        """Warn about digits."""
        del run

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta) and (match := re.search(r"\d", item.payload.text)):
                return [_report(match, self.id), item]
            return [item]

        return step


class RefusesTheFuture(Processor):
    """Refuses as soon as it sees a reason, before the text in front of it has left."""

    def open(self, run: Run) -> Step:
        """Look at what has come so far."""
        seen: list[str] = []

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta):
                seen.append(item.payload.text)
                if SECRET.search("".join(seen)):
                    run.block("it says something")
            return [item]

        return step


BROKEN: Final[Sequence[type[Processor]]] = (
    EachDeltaAlone,
    FixedWindow,
    FlushOnAnyChunk,
    ForgottenEnd,
    Overtaking,
    OneBufferForAllIds,
    SharedBuffer,
    LeakingReason,
    LeakingMetadata,
    SwallowedRefusal,
    DropsOthers,
    TouchesCleanText,
    OffsetsInTheDelta,
    RefusesTheFuture,
)
"""All of them."""


def _closes(item: Item) -> bool:
    return isinstance(item, TextEnd | StepFinish) or item is END


def _report(match: re.Match[str], processor_id: str) -> Report:
    return Report(
        Finding("x.secret", "SECRET", 1.0, match.start(), match.end(), "text", "t1", processor_id, "warn")
    )


def _delta_like(chunk: Chunk, id_: str, text: str) -> TextDelta:
    delta = TextDelta.model_validate({"type": "text-delta", "payload": {"id": id_, "text": text}}, by_alias=True)
    return delta.model_copy(update={"run_id": chunk.run_id, "from_": chunk.from_})
