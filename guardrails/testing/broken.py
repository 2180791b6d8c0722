"""A sound processor in plain code, and ones that break the contract, each in a way seen in the field.

All look for `secret-` with six digits in text deltas. `BROKEN` names the property that catches each.
"""

import logging
import re
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from guardrails.chunks import (
    StepFinish,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolCallDelta,
    dump_json,
    parse_chunk,
    with_text,
)
from guardrails.processor import END, WAKE, Block, Finding, Item, Processor, Report, Run, Step
from guardrails.surfaces import COPIES, SURFACES, Surface, whole_characters
from guardrails.text.pattern import Pattern
from guardrails.text.processor import TextProcessor

SECRET: Final = re.compile(r"secret-\d{6}")
FRAGMENTS: Final = ("secret-123456", "secret-12345", "secret-", "123456", "plain words ")
"""Fragments for the texts these processors are tested with; the first must be found."""

_BEGUN: Final = re.compile(r"(?:s(?:e(?:c(?:r(?:e(?:t(?:-\d{0,5})?)?)?)?)?)?)$")
_WINDOW: Final = 8


class Sound(Processor):
    """Keeps the contract; each broken processor overrides one thing."""

    def open(self, run: Run) -> Step:
        """State for one stream."""
        return _CarefulStep(self, run)

    def keep(self, text: str) -> int:
        """How many characters at the end of a text may belong to a match that is not complete."""
        begun = _BEGUN.search(text)
        return len(begun[0]) if begun else 0

    def text_of(self, delta: TextDelta) -> str:
        """Which text a delta belongs to."""
        return delta.payload.id

    def closes(self, item: Item) -> bool:
        """Whether texts that are open end here."""
        return isinstance(item, TextEnd | StepFinish) or item is END

    def stays(self, item: Item) -> bool:
        """Whether an item that is no delta waits behind held text."""
        return item is not WAKE and item is not END

    def found(self, run: Run, delta: TextDelta, match: re.Match[str]) -> Iterator[Item]:
        """What takes the place of a match."""
        yield self.report(run, delta, match)
        yield with_text(delta, "[SECRET]")

    def report(self, run: Run, delta: TextDelta, match: re.Match[str]) -> Report:
        """The finding at its place, in whole characters: a text may be cut within one."""
        start = len(whole_characters(match.string[: match.start()]))
        place = (start, start + len(match[0]), "text", delta.payload.id)
        return Report(Finding("test.secret", "SECRET", 1.0, *place, run.processor_id, "redact"))


class _CarefulStep:
    """Holds what may become a match, in one queue with everything else."""

    def __init__(self, rules: Sound, run: Run) -> None:
        self._rules, self._run = rules, run
        self._queue: list[Item] = []
        self._texts: dict[str, str] = {}
        self._sent: dict[str, int] = {}
        self._decided: dict[str, int] = {}

    def __call__(self, item: Item) -> Iterable[Item]:
        """Take one item; give what is decided by it."""
        if isinstance(item, TextDelta):
            name = self._rules.text_of(item)
            text = self._texts[name] = self._texts.get(name, "") + item.payload.text
            decided = len(text) - self._rules.keep(text)
            self._decided[name] = max(decided, self._decided.get(name, 0))
            self._queue.append(item)
        elif self._rules.closes(item):
            self._decided = {name: len(text) for name, text in self._texts.items()}
        if not isinstance(item, TextDelta):
            if self._rules.stays(item):
                self._queue.append(item)
            else:
                yield item
        yield from self._release()

    def _release(self) -> Iterator[Item]:
        while self._queue:
            head = self._queue[0]
            if not isinstance(head, TextDelta):
                yield self._queue.pop(0)
                continue
            name = self._rules.text_of(head)
            start = self._sent.get(name, 0)
            end = start + len(head.payload.text)
            stop = min(end, self._decided[name])
            self._queue[0] = with_text(head, head.payload.text[stop - start :])
            self._sent[name] = stop
            yield from self._edited(head, name, start, stop)
            if stop < end:
                return
            self._queue.pop(0)

    def _edited(self, delta: TextDelta, name: str, start: int, stop: int) -> Iterator[Item]:
        text, at = self._texts[name], start
        for match in SECRET.finditer(text[: self._decided[name]]):
            if start <= match.start() < stop:
                yield with_text(delta, text[at : match.start()])
                yield from self._rules.found(self._run, delta, match)
            if match.start() < stop:
                at = max(at, match.end())
        if at < stop:
            yield with_text(delta, text[at:stop])


class EachDeltaAlone(Processor):
    """Looks at each delta by itself."""

    def open(self, run: Run) -> Step:
        """Keep nothing."""
        del run

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta):
                return [with_text(item, SECRET.sub("[SECRET]", item.payload.text))]
            return [item]

        return step


class FixedWindow(Sound):
    """Keeps back a fixed number of characters, which is too few for the longest match."""

    def keep(self, text: str) -> int:
        """Always the same."""
        return min(_WINDOW, len(text))


class FindsNothing(Processor):
    """Lets everything pass, which breaks nothing but its purpose."""

    def open(self, run: Run) -> Step:
        """Look at nothing."""
        del run
        return lambda item: [item]


class HoldsEverything(Sound):
    """Keeps each text back to its end, which is safe and no stream any more."""

    def keep(self, text: str) -> int:
        """All of it."""
        return len(text)


class FlushOnAnyChunk(Sound):
    """Lets held text go as soon as any other chunk arrives."""

    def closes(self, item: Item) -> bool:
        """Whatever it is."""
        return True


class ForgottenEnd(Sound):
    """Gives held text back where its text closes; a broken source loses it."""

    def closes(self, item: Item) -> bool:
        """Not at `END`."""
        return isinstance(item, TextEnd)


class Overtaking(Sound):
    """Lets every other chunk pass held text."""

    def stays(self, item: Item) -> bool:
        """Nothing does."""
        return False


class OneBufferForAllIds(Sound):
    """Joins the texts of different ids."""

    def text_of(self, delta: TextDelta) -> str:
        """One for all."""
        return ""


class SharedState(Sound):
    """Keeps its state beside its settings, where all streams share it."""

    _shared: ClassVar[dict[str, Step]] = {}

    def open(self, run: Run) -> Step:
        """The same step for all."""
        return self._shared.setdefault("step", _CarefulStep(self, run))


class LeakingReason(Sound):
    """Repeats what it found in the tripwire's reason."""

    def found(self, run: Run, delta: TextDelta, match: re.Match[str]) -> Iterator[Item]:
        """Refuse, telling too much."""
        yield self.report(run, delta, match)
        run.block(f"it says {match[0]}")


class LeakingMetadata(Sound):
    """Repeats what it found in the tripwire's metadata."""

    def found(self, run: Run, delta: TextDelta, match: re.Match[str]) -> Iterator[Item]:
        """Refuse, telling too much."""
        yield self.report(run, delta, match)
        run.block("it says something", metadata={"match": match[0]})


class LeakingLog(Sound):
    """Repeats what it found in the log."""

    def found(self, run: Run, delta: TextDelta, match: re.Match[str]) -> Iterator[Item]:
        """Redact, telling too much."""
        logging.getLogger("guardrails.broken").warning("found %s", match[0])
        return super().found(run, delta, match)


class SwallowedRefusal(Sound):
    """Catches its own refusal and lets the item pass."""

    def found(self, run: Run, delta: TextDelta, match: re.Match[str]) -> Iterator[Item]:
        """Refuse."""
        yield self.report(run, delta, match)
        run.block("it says something")

    def open(self, run: Run) -> Step:
        """Think better of it."""
        careful = _CarefulStep(self, run)

        def step(item: Item) -> Iterable[Item]:
            try:
                return list(careful(item))
            except Block:
                return [item]

        return step


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


class OffsetsInTheDelta(Sound):
    """Reports places within a delta instead of within the text."""

    def report(self, run: Run, delta: TextDelta, match: re.Match[str]) -> Report:
        """Somewhere."""
        place = (0, len(delta.payload.text), "text", delta.payload.id)
        return Report(Finding("test.secret", "SECRET", 1.0, *place, run.processor_id, "redact"))


class RefusesAtOnce(Processor):
    """Refuses as soon as it sees a reason, with what stood before it still in its hands."""

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


class OnlyText(TextProcessor):
    """Looks at text alone, though what it finds may stand anywhere."""

    surfaces: tuple[Surface, ...] = ("text",)

    def patterns(self) -> Sequence[Pattern]:
        """The secret."""
        return [Pattern("SECRET", SECRET.pattern, "test.secret")]


class ForwardsCopies(OnlyText):
    """Looks everywhere but in copies of what was said."""

    surfaces: tuple[Surface, ...] = SURFACES

    def open(self, run: Run) -> Step:
        """Let them pass."""
        careful = super().open(run)

        def step(item: Item) -> Iterable[Item] | Awaitable[Iterable[Item]]:
            return [item] if type(item) in COPIES else careful(item)

        return step


class RefusesCopies(ForwardsCopies):
    """Refuses for what only repeats what was said."""

    def open(self, run: Run) -> Step:
        """Look at them as at anything else."""
        careful = TextProcessor.open(self, run)

        def step(item: Item) -> Iterable[Item] | Awaitable[Iterable[Item]]:
            if type(item) in COPIES and SECRET.search(repr(item)):
                run.block("it says something")
            return careful(item)

        return step


class ArgumentsAsText(OnlyText):
    """Looks at the JSON text of arguments as it comes, in which an escape may hide what is said."""

    surfaces: tuple[Surface, ...] = SURFACES

    def open(self, run: Run) -> Step:
        """Look at each piece."""
        careful = super().open(run)

        def step(item: Item) -> Iterable[Item] | Awaitable[Iterable[Item]]:
            if isinstance(item, ToolCallDelta | ToolCall):
                return [parse_chunk(SECRET.sub("[SECRET]", dump_json(item)))]
            return careful(item)

        return step


BROKEN: Final[Mapping[type[Processor], str]] = {
    EachDeltaAlone: "cutting_does_not_matter",
    FixedWindow: "nothing_leaves_undecided",
    FindsNothing: "what_is_looked_for_is_found",
    HoldsEverything: "the_rest_leaves_at_once",
    FlushOnAnyChunk: "nothing_leaves_undecided",
    ForgottenEnd: "a_broken_source_loses_nothing",
    Overtaking: "clean_text_passes",
    OneBufferForAllIds: "texts_do_not_mix",
    SharedState: "streams_do_not_mix",
    LeakingReason: "found_text_stays_secret",
    LeakingMetadata: "found_text_stays_secret",
    LeakingLog: "found_text_stays_secret",
    SwallowedRefusal: "cutting_does_not_matter",
    DropsOthers: "clean_text_passes",
    TouchesCleanText: "clean_text_passes",
    OffsetsInTheDelta: "cutting_does_not_matter",
    RefusesAtOnce: "cutting_does_not_matter",
    OnlyText: "every_surface_is_looked_at",
    ForwardsCopies: "copies_are_hidden",
    RefusesCopies: "copies_are_hidden",
    ArgumentsAsText: "every_surface_is_looked_at",
}
"""Each broken processor with the property of the contract that catches it."""
