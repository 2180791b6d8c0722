"""Test doubles: what stands for detectors, models and processors that are told how to behave."""

import builtins
import contextlib
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self, TypeAlias

import anyio
import regex
from anyio.lowlevel import checkpoint
from pydantic import model_validator

from guardrails import (
    END,
    WAKE,
    Detection,
    Item,
    Pattern,
    Processor,
    Run,
    Segment,
    Step,
    TextProcessor,
)
from guardrails.chunks import (
    ToolCall,
    ToolCallDelta,
    ToolCallInputStreamingEnd,
    ToolCallInputStreamingStart,
)
from tests.cases.reading import Json, known

Answers: TypeAlias = Sequence[Sequence[Detection]]
Ask: TypeAlias = Callable[[Sequence[Segment]], Awaitable[Answers]]


@dataclass
class World:
    """What doubles do, for the harness to see.

    Attributes:
        asked: how many times detectors were asked.
        errors: how many times one raised.
        side_effects: marks of work that was finished.
    """

    asked: int = 0
    errors: int = 0
    side_effects: list[str] = field(default_factory=list)


def error_of(name: str) -> Exception:
    """A built-in exception by name; its message must not be told."""
    kind: type[Exception] = getattr(builtins, name)
    return kind("a message that may repeat what was said")


class Asking(TextProcessor):
    """Asks a function about segments."""

    ask: Ask

    async def detect(self, segments: Sequence[Segment]) -> Answers:
        """The answer of the function."""
        return await self.ask(segments)


def counted(world: World, ask: Ask) -> Ask:
    """The same question, with a note of each time it is asked and fails."""

    async def asked(segments: Sequence[Segment]) -> Answers:
        world.asked += 1
        try:
            return await ask(segments)
        except Exception:
            world.errors += 1
            raise

    return asked


def raising(name: str) -> Ask:
    """A detector that cannot be reached."""

    async def ask(_segments: Sequence[Segment]) -> Answers:
        raise error_of(name)

    return ask


def working(seconds: float, done: Callable[[], None] = lambda: None) -> Ask:
    """A detector that takes its time, finishes its work and finds nothing."""

    async def ask(segments: Sequence[Segment]) -> Answers:
        await anyio.sleep(seconds)
        done()
        return [[] for _ in segments]

    return ask


def stubborn(seconds: float) -> Ask:
    """A client that takes whatever ends its call, its cancellation too, for an empty answer."""

    async def ask(segments: Sequence[Segment]) -> Answers:
        with contextlib.suppress(BaseException):
            await anyio.sleep(seconds)
        return [[] for _ in segments]

    return ask


def scoring(score: Callable[[str], float], threshold: float, seconds: float) -> Ask:
    """A scorer of whole segments."""

    async def ask(segments: Sequence[Segment]) -> Answers:
        await anyio.sleep(seconds)
        return [_scored(segment.text, score(segment.text), threshold) for segment in segments]

    return ask


def _scored(text: str, score: float, threshold: float) -> Sequence[Detection]:
    end = len(text.rstrip())
    return [Detection(0, end, "TOXICITY", "toxicity", score)] if end and score >= threshold else []


def searching(patterns: Sequence[Pattern]) -> Ask:
    """A detector that looks for patterns, a sentence at a time."""
    finders = [(one, regex.compile(f"(?{one.flags}:{one.pattern})")) for one in patterns]

    async def ask(segments: Sequence[Segment]) -> Answers:
        await checkpoint()
        return [
            [
                Detection(*match.span(), pattern.label, pattern.code)
                for pattern, finder in finders
                for match in finder.finditer(segment.text)
                if pattern.verify is None or pattern.verify(match[0]) == len(match[0])
            ]
            for segment in segments
        ]

    return ask


class StubToxicity(TextProcessor):
    """Loads its model when it is set up, in vain."""

    model: str
    load_raises: str

    async def detect(self, segments: Sequence[Segment]) -> Answers:
        """It never comes to that."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _loaded(self) -> Self:
        error = error_of(self.load_raises)
        raise ValueError(f"model: {self.model!r} cannot be loaded ({type(error).__name__})")


class Scrub(TextProcessor):
    """Refuses for a word, and catches whatever is raised on the way, its own refusal too."""

    word: str

    def patterns(self) -> Sequence[Pattern]:
        """The word."""
        return [Pattern("WORD", re.escape(self.word), "test.word")]

    def open(self, run: Run) -> Step:
        """A step that lets the item pass when anything goes wrong."""
        careful = super().open(run)

        def step(item: Item) -> Iterable[Item]:
            answer = careful(item)
            assert isinstance(answer, Iterable), "texts of cases are short"
            try:
                yield from answer
            except Exception:  # noqa: BLE001 - that is the mistake in question
                yield item

        return step


_PARTS: Final = (ToolCallInputStreamingStart, ToolCallDelta, ToolCallInputStreamingEnd, ToolCall)


class ToolPolicy(Processor):
    """Refuses calls of tools by their arguments, each judged when it is complete."""

    deny: tuple[dict[str, Any], ...]

    def open(self, run: Run) -> Step:
        """State for one stream."""
        return _PolicyStep(self, run)

    def holds(self) -> bool:
        """Whether a call waits for its verdict."""
        return True

    def complete(self, text: str, *, ended: bool) -> bool:
        """Whether arguments that are still streaming can be judged."""
        del text
        return ended

    def judge(self, run: Run, tool: str, args: object) -> None:
        """Refuse a call that a rule denies."""
        for rule in self.deny:
            known("deny", rule, {"tool", "when"})
            if rule["tool"] == tool and _applies(rule["when"], args):
                run.block(f"{self.id} denies a call of {tool}.", metadata={"code": "tool.denied"})


def _applies(when: Json, args: object) -> bool:
    known("when", when, {"arg", "startswith", "greater_than"})
    value: object = args
    if when["arg"] != "$":
        value = args.get(when["arg"]) if isinstance(args, Mapping) else None
    if "startswith" in when:
        return isinstance(value, str) and value.startswith(when["startswith"])
    return isinstance(value, int | float) and value > when["greater_than"]


class _PolicyStep:
    """Keeps calls, and everything after them, until each is judged."""

    def __init__(self, policy: ToolPolicy, run: Run) -> None:
        self._policy, self._run = policy, run
        self._waiting: list[Item] = []
        self._names: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._judged: set[str] = set()

    def __call__(self, item: Item) -> Iterator[Item]:
        """Take one item; give what is decided by it."""
        if item is END or item is WAKE:
            yield from self._release()
            return
        if isinstance(item, _PARTS):
            self._take(item)
        self._waiting.append(item)
        if not self._texts or not self._policy.holds():
            yield from self._release()

    def _take(self, part: Any) -> None:
        id_ = part.payload.tool_call_id
        if isinstance(part, ToolCall):
            self._texts.pop(id_, None)
            if id_ not in self._judged:
                self._policy.judge(self._run, part.payload.tool_name, part.payload.args)
            return
        if isinstance(part, ToolCallInputStreamingStart):
            self._names[id_], self._texts[id_] = part.payload.tool_name, ""
        elif isinstance(part, ToolCallDelta) and id_ not in self._judged:
            self._texts[id_] += part.payload.args_text_delta
        text = self._texts.get(id_, "")
        if self._policy.complete(text, ended=isinstance(part, ToolCallInputStreamingEnd)) and text:
            del self._texts[id_]
            self._judged.add(id_)
            self._policy.judge(self._run, self._names[id_], json.loads(text))

    def _release(self) -> Sequence[Item]:
        waiting, self._waiting = self._waiting, []
        return waiting
