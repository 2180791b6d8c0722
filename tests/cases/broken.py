"""Processors that are broken on purpose, for each kind of case one or more that its cases catch."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import anyio
import regex
from pydantic import ConfigDict

from guardrails import (
    END,
    WAKE,
    Chunk,
    Detection,
    Item,
    Pattern,
    Pipeline,
    Processor,
    Run,
    Segment,
    Step,
    TextProcessor,
    parse_chunk,
)
from guardrails.chunks import (
    TextDelta,
    TextEnd,
    ToolCallDelta,
    ToolCallInputStreamingEnd,
    Tripwire,
    TripwirePayload,
    with_text,
)
from guardrails.surfaces import COPIES, DELTAS, Delta, whole_characters
from guardrails.text.view import RawView, View
from processors.keywords import Keywords
from processors.regex import Regex
from tests.cases.doubles import Answers, Asking, ToolPolicy, World
from tests.cases.reading import Json
from tests.cases.translating import grouped, mapping_of, processor_of

Make: TypeAlias = Callable[[Json, World], Processor]
"""Makes the broken processor that stands for an entry of a case."""


class Wrapped(Processor):
    """Asks a sound processor, and does one thing wrong."""

    inner: Processor

    @property
    def waits(self) -> bool:
        """As the sound one."""
        return self.inner.waits

    def open(self, run: Run) -> Step:
        """The sound step, misused."""
        careful = self.inner.open(run)

        def sound(item: Item) -> Iterable[Item]:
            answer = careful(item)
            assert isinstance(answer, Iterable), "texts of cases are short"
            return answer

        return lambda item: self.misuse(item, sound)

    def misuse(self, item: Item, sound: Callable[[Item], Iterable[Item]]) -> Iterable[Item]:
        """What leaves for one item."""
        return sound(item)


def wrapped(kind: type[Wrapped]) -> Make:
    """Wraps what a case configures."""

    def make(entry: Json, world: World) -> Processor:
        inner = processor_of(entry, world)
        return kind(id=inner.id, inner=inner)

    return make


class EachDeltaAlone(Wrapped):
    """Looks at each delta by itself."""

    def open(self, run: Run) -> Step:
        """A step of its own for each item."""

        def step(item: Item) -> Iterable[Item]:
            alone: Any = self.inner.open(run)
            return [*alone(item), *alone(END)]

        return step


class FlushesOnOthers(Wrapped):
    """Gives back what it holds when something else than text comes."""

    def open(self, run: Run) -> Step:
        """A new step after each flush."""
        step: Any = self.inner.open(run)

        def flushing(item: Item) -> Iterator[Item]:
            nonlocal step
            if type(item) not in DELTAS:
                yield from step(END)
                step = self.inner.open(run)
            yield from step(item)

        return flushing


class Window(Wrapped):
    """Holds so many characters of a text and lets the rest of it go; wide enough, that is safe."""

    width: ClassVar[int] = 1000

    def open(self, run: Run) -> Step:
        """State for one stream."""
        del run
        held: dict[str, str] = {}

        def step(item: Item) -> Iterator[Item]:
            if isinstance(item, TextDelta):
                text = held.get(item.payload.id, "") + item.payload.text
                cut = self.cut(text)
                held[item.payload.id] = text[cut:]
                yield with_text(item, redacted(self.inner, text[:cut]))
                return
            if isinstance(item, TextEnd):
                yield delta_of(item.payload.id, redacted(self.inner, held.pop(item.payload.id, "")))
            yield item

        return step

    def cut(self, text: str) -> int:
        """How much of a held text goes: what is before the window, and before any match that reaches in."""
        cut = max(0, len(text) - self.width)
        return next((start for start, end, _ in spans_of(self.inner, text) if start < cut < end), cut)


class FixedWindow(Window):
    """Holds too few."""

    width: ClassVar[int] = 24


def patterns_of(processor: Processor) -> Sequence[Pattern]:
    """What a processor looks for."""
    if isinstance(processor, Keywords):
        return [Pattern(processor.label, regex.escape(term), "x") for term in processor.terms]
    return processor.patterns() if isinstance(processor, TextProcessor) else ()


def spans_of(processor: Processor, text: str) -> list[tuple[int, int, str]]:
    """What is found in a text, with the placeholders, from left to right and without overlaps."""
    found: list[tuple[int, int, str]] = []
    for pattern in patterns_of(processor):
        for match in regex.finditer(f"(?i:{pattern.pattern})", text):
            size = pattern.verify(match[0]) if pattern.verify else len(match[0])
            if size and all(match.end() <= start or match.start() >= end for start, end, _ in found):
                label = pattern.replacement or f"[{pattern.label}]"
                found.append((match.start(), match.start() + size, label))
    return sorted(found)


def redacted(processor: Processor, text: str) -> str:
    """A whole text with placeholders, as it should be."""
    for start, end, label in reversed(spans_of(processor, text)):
        text = f"{text[:start]}{label}{text[end:]}"
    return text


def delta_of(id_: str, text: str) -> Chunk:
    """A piece of text."""
    return parse_chunk({"type": "text-delta", "payload": {"id": id_, "text": text}})


class Holding(Wrapped):
    """Holds each text to its end, and rewrites it then. That is safe, and slow."""

    def open(self, run: Run) -> Step:
        """State for one stream."""
        del run
        texts: dict[str, str] = {}

        def step(item: Item) -> Iterator[Item]:
            if isinstance(item, TextDelta):
                texts[item.payload.id] = texts.get(item.payload.id, "") + item.payload.text
                return
            if isinstance(item, TextEnd):
                text = self.rewritten(whole_characters(texts.pop(item.payload.id, "")))
                yield delta_of(item.payload.id, text)
            yield item

        return step

    def rewritten(self, text: str) -> str:
        """The text with placeholders."""
        return redacted(self.inner, text)


class DriftingOffsets(Holding):
    """Puts placeholders into text that is already rewritten, at the places of the original."""

    def rewritten(self, text: str) -> str:
        """Each a little further off."""
        for start, end, label in spans_of(self.inner, text):
            text = f"{text[:start]}{label}{text[end:]}"
        return text


class EmptyIsNothing(Holding):
    """Takes an empty answer for none."""

    def rewritten(self, text: str) -> str:
        """The text without what is found, or the text."""
        kept = text
        for start, end, _ in reversed(spans_of(self.inner, text)):
            kept = kept[:start] + kept[end:]
        return kept or text


class ForwardsHalves(Wrapped):
    """Passes deltas on as they come, half a character too."""

    def misuse(self, item: Item, sound: Callable[[Item], Iterable[Item]]) -> Iterable[Item]:
        """What is not ASCII is nobody's business."""
        halved = isinstance(item, TextDelta) and not item.payload.text.isascii()
        return [item] if halved else sound(item)


def only_text(entry: Json, world: World) -> Processor:
    """Looks at text alone."""
    return processor_of({**entry, "surfaces": ["text"]}, world)


class Hasty(Wrapped):
    """Lets pieces go as they come, and judges the whole when it is complete."""

    pieces: ClassVar[type]

    def misuse(self, item: Item, sound: Callable[[Item], Iterable[Item]]) -> Iterable[Item]:
        """Both."""
        if isinstance(item, self.pieces):
            yield item
        for other in sound(item):
            if not isinstance(other, self.pieces):
                yield other


class ForwardsArguments(Hasty):
    """Does so with the arguments of calls."""

    pieces = ToolCallDelta


class ForwardsText(Hasty):
    """Does so with text."""

    pieces = TextDelta


class ForgetsTheEnd(Wrapped):
    """Does not look whether anything is left when the stream ends."""

    def misuse(self, item: Item, sound: Callable[[Item], Iterable[Item]]) -> Iterable[Item]:
        """Not at the end."""
        return [] if item is END else sound(item)


class BlanksOvertake(Wrapped):
    """Passes blank deltas on at once."""

    def misuse(self, item: Item, sound: Callable[[Item], Iterable[Item]]) -> Iterable[Item]:
        """They say nothing."""
        blank = isinstance(item, TextDelta) and not item.payload.text.strip()
        return [item] if blank else sound(item)


class EndsItself(Wrapped):
    """Makes the tripwire itself and stops there."""

    def open(self, run: Run) -> Step:
        """Look at all text so far."""
        seen: list[str] = []

        def step(item: Item) -> Iterable[Item]:
            if seen and seen[-1] == "refused":
                return []
            seen.append(item.payload.text if isinstance(item, TextDelta) else "")
            if not spans_of(self.inner, "".join(seen)):
                return [item]
            seen.append("refused")
            reason = "It says something."
            payload = TripwirePayload(reason=reason, retry=False, processor_id=run.processor_id)
            return [Tripwire(payload=payload)]

        return step


class OneBuffer(Wrapped):
    """Keeps the texts of all ids, reasoning too, in one buffer."""

    def misuse(self, item: Item, sound: Callable[[Item], Iterable[Item]]) -> Iterable[Item]:
        """What leaves bears the id of what came last."""
        if type(item) not in DELTAS:
            return sound(item)
        delta: Delta = item  # type: ignore[assignment]  # one of the deltas
        body = {"type": "text-delta", "payload": {"id": "all", "text": delta.payload.text}}
        out = sound(parse_chunk(body))
        return [with_text(delta, one.payload.text) if isinstance(one, TextDelta) else one for one in out]


class SwallowsItsSignal(Wrapped):
    """Signals with an exception of its own, inside of a handler for whatever a detector raises."""

    def open(self, run: Run) -> Step:
        """Look at what has come so far, and refuse, or so it thinks."""
        del run
        seen: list[str] = []

        def step(item: Item) -> Iterable[Item]:
            seen.append(item.payload.text if isinstance(item, TextDelta) else "")
            try:
                if spans_of(self.inner, "".join(seen)):
                    raise PermissionError  # noqa: TRY301 - that is the mistake in question
            except Exception:  # noqa: BLE001 - that one, too
                return [item]
            return [item]

        return step


class TellsTooMuch(Wrapped):
    """Refuses, and repeats what it refuses."""

    def open(self, run: Run) -> Step:
        """Hold all text and look at it at its end."""
        held: list[Item] = []

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta):
                held.append(item)
                return []
            text = "".join(one.payload.text for one in held if isinstance(one, TextDelta))
            for start, end, _ in spans_of(self.inner, text):
                run.block(f"it says {text[start:end]}")
            out, held[:] = [*held, item], []
            return out if item is not END else out[:-1]

        return step


class ForwardsCopies(Wrapped):
    """Does not look at what only repeats what was said."""

    def misuse(self, item: Item, sound: Callable[[Item], Iterable[Item]]) -> Iterable[Item]:
        """It was looked at where it was said."""
        if type(item) in COPIES:
            return [*sound(END), item]
        return sound(item)


def passes_on_error(entry: Json, world: World) -> Processor:
    """Takes a failure for a clean bill."""
    return processor_of({**entry, "on_error": "pass"}, world)


class SharedStep(Wrapped):
    """Keeps its state beside its settings."""

    kept: dict[str, Any]

    def open(self, run: Run) -> Step:
        """The same step for all."""
        step: Step = self.kept.setdefault("step", self.inner.open(run))
        return step


def shared_step(entry: Json, world: World) -> Processor:
    """One step for all streams."""
    inner = processor_of(entry, world)
    return SharedStep(id=inner.id, inner=inner, kept={})


class Unstoppable(Asking):
    """Does not let go of its work."""

    async def detect(self, segments: Sequence[Segment]) -> Answers:
        """To the end, whoever has left."""
        answers: list[Sequence[Detection]] = []
        with anyio.CancelScope(shield=True):
            answers.extend(await super().detect(segments))
        return answers


def unstoppable(entry: Json, world: World) -> Processor:
    """Asks what the case says, shielded."""
    sound: Any = processor_of(entry, world)
    return Unstoppable(ask=sound.ask, id=sound.id, timeout=sound.timeout)


class HoldsAll(Wrapped):
    """Keeps everything until the stream ends."""

    def open(self, run: Run) -> Step:
        """One lump."""
        step: Any = self.inner.open(run)
        held: list[Item] = []

        def lumping(item: Item) -> Iterator[Item]:
            if item is WAKE:
                yield from step(WAKE)
                return
            held.append(item)
            while item is END and held:
                yield from step(held.pop(0))

        return lumping


class Lenient(Processor):
    """Takes any settings, and does with them what it can: nothing."""

    model_config = ConfigDict(extra="ignore")

    def open(self, run: Run) -> Step:
        """Pass everything on."""
        del run
        return lambda item: [item]


def lenient(entry: Json, _world: World) -> Processor:
    """Takes what a case says as if it were right."""
    return Lenient.model_validate(entry)


class ParseableIsComplete(ToolPolicy):
    """Judges arguments as soon as they are JSON."""

    def complete(self, text: str, *, ended: bool) -> bool:
        """Whether that is so."""
        del ended
        try:
            json.loads(text)
        except ValueError:
            return False
        return True


class RawArguments(Wrapped):
    """Puts placeholders into the JSON text of arguments as it stands."""

    def open(self, run: Run) -> Step:
        """Hold each call to its end, and take its JSON for text."""
        careful: Any = self.inner.open(run)
        texts: dict[str, str] = {}

        def step(item: Item) -> Iterator[Item]:
            if isinstance(item, ToolCallDelta):
                id_ = item.payload.tool_call_id
                texts[id_] = texts.get(id_, "") + item.payload.args_text_delta
                return
            if isinstance(item, ToolCallInputStreamingEnd):
                text = redacted(self.inner, texts.pop(item.payload.tool_call_id))
                payload = {"toolCallId": item.payload.tool_call_id, "argsTextDelta": text}
                yield parse_chunk({"type": "tool-call-delta", "payload": payload})
            yield from [item] if isinstance(item, ToolCallInputStreamingEnd) else careful(item)

        return step


def raw_arguments(entry: Json, world: World) -> Processor:
    """Takes arguments for text, or for complete as soon as they are JSON."""
    if entry["use"] == "tool_policy":
        return ParseableIsComplete(id=entry["id"], deny=tuple(entry["deny"]))
    return wrapped(RawArguments)(entry, world)


class RawRegex(Regex):
    """Reads text as it stands."""

    normalised: ClassVar[bool] = False


class RawKeywords(Keywords):
    """Reads text as it stands."""

    def view(self) -> View:  # type: ignore[override]  # that is the mistake in question
        """The raw one."""
        return RawView()


def raw_view(entry: Json, _world: World) -> Processor:
    """Matches on the characters as they came."""
    settings = dict(mapping_of(entry))
    kinds: Mapping[str, type[Processor]] = {"regex": RawRegex, "keywords": RawKeywords}
    return kinds[settings.pop("type")].model_validate(settings)


class Separated(Wrapped):
    """Puts a blank between deltas before it looks at them."""

    def open(self, run: Run) -> Step:
        """Look at what has come so far."""
        seen: list[str] = []

        def step(item: Item) -> Iterable[Item]:
            if isinstance(item, TextDelta):
                seen.append(item.payload.text)
                text = " ".join(seen)
                if regex.search("|".join(rf"\b{one.pattern}\b" for one in patterns_of(self.inner)), text):
                    run.block("It says something.")
            return [item]

        return step


_STOCK: Final = {
    "CREDIT_CARD": r"\b(?:\d[ -]?){13,16}\b",
    "IBAN_CODE": r"\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b",
    "IP_ADDRESS": r"\b\d{1,3}(?:\.\d{1,3}){2,3}\b",
}
"""Patterns without check digits."""

_NARROW: Final = {
    "CREDIT_CARD": r"\b4\d{3}(?:[ -]?\d{4}){3}\b",
    "EMAIL_ADDRESS": r"\b[a-z.]+@[a-z.]+\b",
    "PHONE_NUMBER": r"\b\d{3}-\d{3}-\d{4}\b",
    "IBAN_CODE": r"\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b",
}
"""Patterns for what comes to mind first."""


def ruled(patterns: Mapping[str, str]) -> Make:
    def make(entry: Json, world: World) -> Processor:
        if entry["use"] != "pii":
            return wrapped(Separated)(entry, world)
        rules = tuple({"name": name, "pattern": patterns[name]} for name in entry["entities"])
        return Regex.model_validate({"id": entry["id"], "rules": rules})

    return make


@dataclass(frozen=True)
class Broken:
    """A way to be broken.

    Attributes:
        kind: the kind of case that catches it.
        make: makes the processor.
        caught_by: the cases of that kind that do, each with what is then said.
    """

    kind: str
    make: Make
    caught_by: Mapping[str, str]

    def build(self, config: Json, world: World) -> Pipeline:
        """The pipeline of a case, with the broken processor in place of each of its own."""
        return built(self.make, config, world)


def built(make: Make, config: Json, world: World) -> Pipeline:
    """The pipeline of a case, with other processors in place of its own."""
    entries = config.get("processors", [{"id": "broken"}])
    settings = {"release": config["release"]} if "release" in config else {}
    return Pipeline(grouped(config, [make(entry, world) for entry in entries]), **settings)


_NOT_THE_TEXT: Final = "the text is"
_NO_TRIPWIRE: Final = "there is no tripwire"
_TAKEN: Final = "the configuration was taken"

BROKEN: Final[Mapping[str, Broken]] = {
    "each delta alone": Broken(
        "match-split-leak",
        wrapped(EachDeltaAlone),
        dict.fromkeys(("C01", "C03", "C05", "W01", "W02"), _NOT_THE_TEXT),
    ),
    "flush on anything else": Broken(
        "match-split-leak",
        wrapped(FlushesOnOthers),
        {"C05": "Card 4539 5781 2204 5518 ok", "W02": "212-555-0147"},
    ),
    "a fixed window": Broken(
        "holdback-too-short",
        wrapped(FixedWindow),
        {"C07": "tok-live-Qa7Zx2L", "W03": "<<VAULT", "W04": "Mail theodora"},
    ),
    "offsets of the original": Broken(
        "span-arithmetic",
        wrapped(DriftingOffsets),
        {"C08": "212-55[", "W05": "203.0.1[", "W06": "[IP_ADDRES["},
    ),
    "half characters": Broken(
        "span-arithmetic", wrapped(ForwardsHalves), {"C10": "UTF-8 is False", "W05": _NOT_THE_TEXT}
    ),
    "text alone, no arguments": Broken(
        "tool-args-not-scanned", only_text, {"C13": "odile@", "W07": "hana.sato@", "W08": "rui.alves@"}
    ),
    "text alone": Broken(
        "surface-not-scanned",
        only_text,
        {"C14": "the reasoning is", "C16": "the results of tools", "W09": "the data is", "W10": "was seen"},
    ),
    "arguments forwarded": Broken(
        "emitted-before-verdict",
        wrapped(ForwardsArguments),
        {"C19": "'/e' was seen", "W12": "'/et' was seen", "W13": "'laun' was seen"},
    ),
    "text forwarded": Broken("emitted-before-verdict", wrapped(ForwardsText), {"W11": "say red lant"}),
    "no flush at the end": Broken(
        "remainder-not-flushed",
        wrapped(ForgetsTheEnd),
        {"C20": "the transcript is", "W14": "the reasoning is", "W15": "the transcript is"},
    ),
    "blanks overtake": Broken(
        "parts-dropped-or-reordered",
        wrapped(BlanksOvertake),
        {
            "C23": "the  auroravault",
            "C25": "1 character: the text is",
            "W16": "1 character: the text is",
            "W17": "' askjoo'",
        },
    ),
    "a tripwire of its own": Broken(
        "terminal-contract",
        wrapped(EndsItself),
        {"C26": "blocks are opened", "W18": "blocks are opened", "W19": "the text by id"},
    ),
    "one buffer for all ids": Broken(
        "interleaved-ids",
        wrapped(OneBuffer),
        dict.fromkeys(("C29", "W20", "W21"), "the text by id is"),
    ),
    "a swallowed signal": Broken(
        "tripwire-lost-or-wrong",
        wrapped(SwallowsItsSignal),
        dict.fromkeys(("C30", "W22", "W23"), _NO_TRIPWIRE),
    ),
    "a reason that repeats": Broken(
        "tripwire-lost-or-wrong",
        wrapped(TellsTooMuch),
        {"C30": "'it says ORCHID'", "W22": "the reason repeats", "W23": "the reason repeats"},
    ),
    "empty is nothing": Broken(
        "blocked-content-readable", wrapped(EmptyIsNothing), {"C35": "the text is 'Only private words'"}
    ),
    "copies forwarded": Broken(
        "blocked-content-readable",
        wrapped(ForwardsCopies),
        {"W24": "'kaja' was seen", "W25": "'gale tower' was seen"},
    ),
    "errors pass": Broken(
        "fail-open",
        passes_on_error,
        {"C37": _NO_TRIPWIRE, "C39": _NO_TRIPWIRE, "W27": _NO_TRIPWIRE, "W29": _NOT_THE_TEXT},
    ),
    "one step for all streams": Broken(
        "shared-or-stale-state", shared_step, {"C45": _NOT_THE_TEXT, "W31": _NOT_THE_TEXT}
    ),
    "work that cannot be stopped": Broken(
        "cancel-leaves-work",
        unstoppable,
        {"C46": "finished is ['mark']", "W32": "finished is ['mark']", "W33": "finished is ['mark']"},
    ),
    "all in one lump": Broken(
        "cost-and-latency",
        wrapped(HoldsAll),
        {"C49": "the first text came at", "W35": "characters were held", "W36": "pieces of text came"},
    ),
    "any settings": Broken(
        "startup-and-config",
        lenient,
        {
            "C50": _TAKEN,
            "C52": "there was none of",
            **dict.fromkeys(("W37", "W38", "W39", "W40"), _TAKEN),
        },
    ),
    "arguments as text": Broken(
        "json-broken-by-redaction",
        raw_arguments,
        {
            "C54": "the stream raised",
            "W41": "arguments are JSON is False",
            "W42": "arguments are JSON is False",
        },
    ),
    "raw characters": Broken(
        "unicode-evasion", raw_view, dict.fromkeys(("C55", "W43", "W44"), _NOT_THE_TEXT)
    ),
    "no check digits, blanks between deltas": Broken(
        "false-positive",
        ruled(_STOCK),
        {"C58": "the text is 'the com'", "W46": "Order [CREDIT_CARD]", "W47": "the text is 'Durham '"},
    ),
    "what comes to mind first": Broken(
        "missed-detection", ruled(_NARROW), {"C59": "2223 0048", "W48": "Use 37", "W49": "odile[EMAIL"}
    ),
}
"""The broken processors, by what they do."""

SAFE: Final[Mapping[str, tuple[Make, Sequence[str]]]] = {
    "wrapped": (
        wrapped(Wrapped),
        ("C01", "C05", "C14", "C19", "C20", "C23", "C26", "C29", "C30", "W22", "W24"),
    ),
    "a wide window": (wrapped(Window), ("C07", "W03", "W04")),
    "held to the end": (wrapped(Holding), ("C08", "C10", "W05", "W06")),
}
"""What broken processors are made of, not broken, with cases that it passes: the flaw is what is caught."""
