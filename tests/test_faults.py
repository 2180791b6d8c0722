"""Every fault has one outcome: whoever fails, wherever, the stream ends whole, closed and silent."""

import gc
import json
import logging
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import anyio
import pytest
from anyio.lowlevel import checkpoint

from guardrails import (
    WAKE,
    Chunk,
    Detection,
    Finding,
    Item,
    Parallel,
    Pipeline,
    Processor,
    Result,
    Run,
    Segment,
    Step,
    Strategy,
    TextProcessor,
    parse_chunk,
)
from guardrails.testing import Idle, Patterns, SlowWords, transcript
from guardrails.text.pattern import Pattern
from tests.fault_doubles import (
    FORMS,
    FUSE,
    STEP_FORMS,
    TEXT_FORMS,
    At,
    Line,
    Make,
    Seen,
    Way,
    balanced,
    read,
    running,
    says,
    settled,
    silent,
    watch,
)
from tests.helpers import Does, chunk, delta, does, text, types

CARD: Final = "4111 1111 1111 1111"
HALF: Final = "4111 1111"
OnError: TypeAlias = Literal["block", "pass"]
CARDS: Final = r"\d{4}(?: \d{4}){3}\b"


@pytest.fixture(autouse=True, scope="module")
def old_objects() -> Iterator[None]:
    """What is there before these tests is not searched for garbage after each of them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def nothing_left(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test no thread is left, nothing was raised unseen, and no log has the content."""
    unseen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unseen.append(told.exc_value))
    threads = others()
    caplog.set_level(logging.DEBUG)
    yield
    gc.collect()
    assert unseen == []
    assert others() == threads
    assert {record.name for record in caplog.records} <= {"guardrails", "asyncio"}
    assert not [one for one in caplog.records if one.name == "asyncio" and one.levelno > logging.DEBUG]
    assert FUSE not in caplog.text
    assert CARD not in caplog.text


def others() -> set[threading.Thread]:
    """The threads that run, but for those in which the test runner's trio waits."""
    return {one for one in threading.enumerate() if not one.name.startswith("Trio thread")}


# --- faults, wherever the content stands


FAULTS: Final[dict[tuple[str, Way], tuple[str, str]]] = {
    ("pattern", "raises"): ("error", "ValueError"),
    ("pattern", "hangs"): ("timeout", "TimeoutError"),
    ("pattern", "lies"): ("error", "TypeError"),
    ("detector", "raises"): ("error", "ValueError"),
    ("detector", "hangs"): ("timeout", "TimeoutError"),
    ("detector", "lies"): ("error", "MisuseError"),
    ("step", "raises"): ("error", "ValueError"),
    ("step", "lies"): ("error", "TypeError"),
    ("async step", "raises"): ("error", "ValueError"),
    ("async step", "hangs"): ("timeout", "TimeoutError"),
    ("async step", "lies"): ("error", "TypeError"),
    ("check", "raises"): ("error", "ValueError"),
    ("check", "hangs"): ("timeout", "TimeoutError"),
    ("check", "lies"): ("error", "TypeError"),
}
"""What a kind of processor fails with, each way: the cause and the class in the tripwire's metadata."""


def faults_of(form: str) -> dict[Way, tuple[str, str]]:
    """The ways in which a form goes wrong, each with its outcome."""
    return {way: told for (kind, way), told in FAULTS.items() if kind == form.removesuffix(" in a group")}


def scene_faults_of(form: str) -> dict[Way, tuple[str, str]]:
    """The same for what is tried on every surface: wrong answers only where nothing stands around them."""
    faults = faults_of(form)
    return {way: faults[way] for way in faults if way != "lies" or form in ("pattern", "detector", "step")}


BEFORE: Final = [
    chunk("start"),
    chunk("step-start", messageId="m", request={}),
    chunk("text-start", id="b"),
    delta("Before.\n", "b"),
    chunk("text-end", id="b"),
]
AFTER: Final = [
    chunk("text-start", id="a"),
    delta("After.\n", "a"),
    chunk("text-end", id="a"),
    chunk("step-finish", stepResult={"reason": "stop"}),
    chunk("finish", stepResult={"reason": "stop"}),
]
STOPPED: Final = ("tripwire", "step-finish", "finish")


def bare(**body: Any) -> Chunk:
    return parse_chunk({"runId": "run", "from": "AGENT", **body})


def nested(kind: str, **payload: Any) -> Chunk:
    output = {"type": kind, "payload": payload}
    return chunk("tool-output", toolCallId="call", toolName="agent", output=output)


def streamed(say: str) -> list[Chunk]:
    """A tool call whose arguments stream; the first piece says nothing yet."""
    written, call = json.dumps({"say": say}), {"toolCallId": "c", "toolName": "look"}
    return [
        chunk("tool-call-input-streaming-start", **call),
        chunk("tool-call-delta", **call, argsTextDelta=written[:8]),
        chunk("tool-call-delta", **call, argsTextDelta=written[8:]),
        chunk("tool-call-input-streaming-end", toolCallId="c"),
        chunk("tool-call", **call, args={"say": say}),
    ]


def grown(kind: str, say: str) -> list[Chunk]:
    """A text in pieces, the second of which says it."""
    pieces = ["Good.\n", f"{say}.\n", "More.\n"]
    middle = [chunk(f"{kind}-delta", id="t", text=piece) for piece in pieces]
    return [chunk(f"{kind}-start", id="t"), *middle, chunk(f"{kind}-end", id="t")]


@dataclass(frozen=True)
class Scene:
    """A surface with something on it.

    Attributes:
        surface: its name in findings and tripwires.
        build: the chunks that say a text there.
        leaves: what leaves of them when the text is refused, with what closes the blocks that are open then.
        by_steps: the same when a plain processor refuses the chunk with the text, if that differs.
        ends: how the stream ends.
        is_last: whether these chunks are the last ones of a stream.
    """

    surface: str
    build: Callable[[str], list[Chunk]]
    leaves: tuple[str, ...] = ()
    by_steps: tuple[str, ...] | None = None
    ends: tuple[str, ...] = STOPPED
    is_last: bool = False

    def story(self, say: str) -> list[Chunk]:
        """A whole stream in which the text stands there."""
        return [*BEFORE, *self.build(say), *([] if self.is_last else AFTER)]

    def ending(self, form: str) -> list[str]:
        """The types that come after `BEFORE` when a processor of that form refuses."""
        by_steps = self.by_steps if form in STEP_FORMS else None
        return [*(self.leaves if by_steps is None else by_steps), *self.ends]


_CALL: Final = {"toolCallId": "c", "toolName": "look"}
_STEP: Final = chunk("step-finish", stepResult={"reason": "stop"})

SCENES: Final[dict[str, Scene]] = {
    "text": Scene("text", lambda say: grown("text", say), ("text-start", "text-delta", "text-end")),
    "reasoning": Scene(
        "reasoning",
        lambda say: grown("reasoning", say),
        ("reasoning-start", "reasoning-delta", "reasoning-end"),
    ),
    "streamed call": Scene(
        "tool_args",
        streamed,
        by_steps=(
            "tool-call-input-streaming-start",
            "tool-call-delta",
            "tool-call-input-streaming-end",
        ),
    ),
    "whole call": Scene("tool_args", lambda say: [chunk("tool-call", **_CALL, args={"say": [say]})]),
    "tool result": Scene("tool_results", lambda say: [chunk("tool-result", **_CALL, result=[1, say])]),
    "tool error": Scene(
        "tool_results", lambda say: [chunk("tool-error", **_CALL, error={"message": say, "name": "E"})]
    ),
    "object": Scene(
        "object",
        lambda say: [
            bare(type="object", object={"say": "Good.\n"}),
            bare(type="object", object={"say": f"Good.\n{say}.\n"}),
            bare(type="object-result", object={"say": f"Good.\n{say}.\n"}),
        ],
        ("object",),
    ),
    "object result": Scene("object", lambda say: [bare(type="object-result", object={"say": say})]),
    "data": Scene("data", lambda say: [bare(type="data-note", data={"n": 1, "said": say})]),
    "source": Scene("sources", lambda say: [chunk("source", id="s", sourceType="url", title=say)]),
    "unknown": Scene("other", lambda say: [chunk("something-new", said={"deep": [say]})]),
    "nested text": Scene(
        "text",
        lambda say: [
            nested("text-start", id="n"),
            *(nested("text-delta", id="n", text=piece) for piece in ("Good.\n", f"{say}.\n", "More.\n")),
            nested("text-end", id="n"),
        ],
        ("tool-output", "tool-output"),
    ),
    "nested call": Scene(
        "tool_args", lambda say: [nested("tool-call", toolCallId="i", toolName="l", args={"say": say})]
    ),
    "copy in step-start": Scene(
        "other",
        lambda say: [_STEP, chunk("step-start", messageId="m2", request={"body": say})],
        ("step-finish",),
        ends=("tripwire", "finish"),
    ),
    "copy in step-finish": Scene(
        "other", lambda say: [chunk("step-finish", stepResult={"reason": "stop"}, output={"text": say})]
    ),
    "copy in finish": Scene(
        "other",
        lambda say: [_STEP, chunk("finish", stepResult={"reason": "stop"}, output={"text": say})],
        ("step-finish",),
        ends=("tripwire", "finish"),
        is_last=True,
    ),
}
COPIES: Final = [name for name in SCENES if name.startswith("copy")]


def refused(seen: Seen, form: str, scene: Scene) -> None:
    """The stream ended as its scene says, with nothing of what was refused."""
    assert seen.received[: len(BEFORE)] == BEFORE
    assert types(seen.received[len(BEFORE) :]) == scene.ending(form)
    balanced(seen.received)
    assert (seen.result.status, seen.error, seen.result.findings) == ("blocked", None, ())
    assert FUSE not in repr(seen.received)
    silent(seen, FUSE)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
@pytest.mark.parametrize("form", FORMS)
async def test_a_fault_blocks_wherever_it_happens(form: str, scene: Scene) -> None:
    """What stood before leaves, what it happened on does not, and the tripwire says who, where and why."""
    where = {} if form in STEP_FORMS else {"surface": scene.surface}
    for way, (cause, error) in scene_faults_of(form).items():
        seen = await watch(Pipeline([FORMS[form](way)]), Line(scene.story(FUSE)))
        refused(seen, form, scene)
        metadata = dict(seen.tripwire.metadata)
        assert isinstance(metadata.pop("channel", ""), str)
        assert metadata == {"code": "processor.failed", "cause": cause, "error": error, **where}
        assert (seen.tripwire.processor_id, seen.tripwire.retry) == ("fused", False)


@pytest.mark.parametrize("on_error", get_args(OnError))
async def test_a_limit_blocks_wherever_it_is_reached(on_error: OnError) -> None:
    """Text undecided beyond `max_hold` blocks with the cause `limit`, under `on_error: pass` too.

    Copies have no limit.
    """
    holds = Patterns(id="fused", find=r"fuse-8843a{1,500}b", max_hold=64, on_error=on_error)
    for name, scene in SCENES.items():
        seen = await watch(Pipeline([holds]), Line(scene.story(FUSE)))
        if name in COPIES:
            assert seen.received == scene.story(FUSE), name
            continue
        assert types(seen.received[len(BEFORE) :]) == scene.ending("pattern"), name
        balanced(seen.received)
        silent(seen, FUSE)
        assert FUSE not in repr(seen.received), name
        metadata = seen.tripwire.metadata
        assert (metadata["cause"], metadata["code"]) == ("limit", "limit.hold"), name


def beside(cards: Processor, form: str, way: Way) -> list[Processor]:
    """A processor that redacts, before a fused one or, in a group, beside it."""
    made = TEXT_FORMS[form](way, on_error="pass")
    return [cards, made] if not isinstance(made, Parallel) else [Parallel(members=(cards, *made.members))]


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("form", TEXT_FORMS)
async def test_a_fault_that_passes_undoes_no_edit(
    form: str, scene: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Under `on_error: pass` the text passes as the others have edited it; a warning says whose fault."""
    cards = Patterns(id="cards", find=CARDS)
    finders = set() if scene in COPIES else {"cards"}
    for way, (_cause, error) in scene_faults_of(form).items():
        caplog.clear()
        pipeline = Pipeline(beside(cards, form, way))
        seen = await watch(pipeline, Line(SCENES[scene].story(f"{CARD} {FUSE}")))
        assert (seen.result.status, seen.error) == ("completed", None)
        assert transcript(seen.received) == transcript(SCENES[scene].story(f"[FOUND] {FUSE}"))
        assert {one.processor_id for one in seen.result.findings} == finders
        assert f"fused failed ({error})" in caplog.text
        silent(seen, FUSE, CARD)


# --- when a fault happens


ENDS: Final = {"ended": None, "failed": OSError("line is down")}
"""How a source ends."""

PIECES: Final[dict[str, tuple[At, list[str], str]]] = {
    "at the first call": ("look", [f"{FUSE}.\n", "Two.\n"], ""),
    "at the third": ("look", ["One.\n", "Two.\n", f"{FUSE}.\n", "Four.\n"], "One.\nTwo.\n"),
    "at the end": ("end", ["One.\n", "Two.\n", FUSE], "One.\nTwo.\n"),
}
"""When it goes wrong, in which pieces of text, and which text has left by then."""


@pytest.mark.parametrize("error", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("when", PIECES)
@pytest.mark.parametrize("form", FORMS)
async def test_text_before_a_fault_leaves(form: str, when: str, error: Exception | None) -> None:
    """What is decided before a fault leaves, and no more; the source's own failure then counts no more."""
    at, pieces, gives = PIECES[when]
    source = [*BEFORE[:2], chunk("text-start", id="t"), *map(delta, pieces)]
    for way, (cause, _error) in faults_of(form).items():
        seen = await watch(Pipeline([FORMS[form](way, at=at)]), Line(source, error))
        assert text(seen.received) == gives
        balanced(seen.received)
        assert types(seen.received)[-4:] == ["text-end", *STOPPED]
        assert seen.tripwire.metadata["cause"] == cause
        assert (seen.tripwire.processor_id, seen.error, seen.result.status) == ("fused", None, "blocked")
        silent(seen, FUSE)


BEGINNINGS: Final[list[tuple[str, At]]] = [
    *((form, "open") for form in FORMS),
    *((form, "begin") for form in TEXT_FORMS),
]


@pytest.mark.parametrize(("form", "at"), BEGINNINGS)
async def test_who_cannot_begin_blocks(form: str, at: At) -> None:
    """A processor that can open neither a stream nor a text lets nothing out."""
    seen = await watch(Pipeline([FORMS[form](at=at)]), Line([delta("Good.\n"), *AFTER]))
    assert types(seen.received) == ["tripwire", "finish"]
    balanced(seen.received)
    assert seen.tripwire.metadata["error"] == "ValueError"
    assert seen.tripwire.processor_id == "fused"
    silent(seen, FUSE)


@pytest.mark.parametrize("form", FORMS)
async def test_a_step_in_which_a_fault_happens_is_not_seen(form: str) -> None:
    """Released step by step, nothing of the step leaves, whatever was decided in it."""
    for way, (cause, _error) in faults_of(form).items():
        pipeline = Pipeline([FORMS[form](way)], release="step")
        seen = await watch(pipeline, Line(SCENES["text"].story(FUSE)))
        assert types(seen.received) == ["start", "tripwire", "finish"]
        balanced(seen.received)
        assert seen.tripwire.metadata["cause"] == cause
        silent(seen, FUSE)


# --- answers of the wrong shape


def spans(*places: Any) -> list[list[Any]]:
    return [[Detection(start, end, "SPAN", "test.span") for start, end in places]]


SAID: Final = "one long word"

WRONG: Final[dict[str, Any]] = {
    "beyond": spans((4, 99)),
    "before": spans((-4, 2)),
    "empty": spans((2, 2)),
    "backwards": spans((5, 2)),
    "one good, one beyond": spans((0, 3), (4, 99)),
    "floats": spans((0.0, 3.0)),
    "halves": spans((0.5, 3.5)),
    "texts": spans(("0", "3")),
    "nothing": None,
    "none": [],
    "too many": [[], []],
    "a number": 7,
    "a mapping": {0: []},
    "no detections": [None],
    "tuples": [[(0, 3)]],
    "a text": "x",
    "no label": [[Detection(0, 3, None, "test.span")]],  # type: ignore[arg-type]
    "no code": [[Detection(0, 3, "SPAN", None)]],  # type: ignore[arg-type]
    "no score": [[Detection(0, 3, "SPAN", "test.span", None)]],  # type: ignore[arg-type]
    "not a number": [[Detection(0, 3, "SPAN", "test.span", float("nan"))]],
}


STRATEGIES: Final[tuple[Strategy, ...]] = ("block", "redact", "warn")


class Answers(TextProcessor):
    """Answers what it was told, whatever it is asked."""

    answers: Any = None

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        del segments
        return self.answers  # type: ignore[no-any-return]  # as somebody may write it


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("answers", WRONG.values(), ids=WRONG)
async def test_a_wrong_answer_is_the_fault_of_its_detector(answers: Any, grouped: bool) -> None:
    """An answer that cannot be used blocks under every strategy, in its processor's name, as an error."""
    outcomes = {}
    for strategy in STRATEGIES:
        wrong = Answers(id="wrong", answers=answers, strategy=strategy)
        made: Processor = Parallel(members=(Patterns(id="calm", find="x"), wrong)) if grouped else wrong
        seen = await watch(Pipeline([made]), Line([delta(SAID)]))
        told = seen.result.tripwire and (seen.tripwire.metadata.get("cause"), seen.tripwire.processor_id)
        outcomes[strategy] = (types(seen.received), told)
        silent(seen, "long", "word")
    assert outcomes == dict.fromkeys(STRATEGIES, (["tripwire", "finish"], ("error", "wrong")))


@pytest.mark.parametrize("answers", WRONG.values(), ids=WRONG)
async def test_a_wrong_answer_may_pass(answers: Any) -> None:
    """Under `on_error: pass` the text passes, as an earlier processor has edited it."""
    earlier = Patterns(id="earlier", find="last")
    wrong = Answers(id="wrong", answers=answers, on_error="pass")
    seen = await watch(Pipeline([earlier, wrong]), Line([delta(SAID + " last")]))
    assert (seen.result.text, seen.result.status) == (SAID + " [FOUND]", "completed")
    assert {one.processor_id for one in seen.result.findings} == {"earlier"}


OVERLAPPING: Final = {
    "overlapping": (spans((0, 6), (4, 8)), "[SPAN] word"),
    "doubled": (spans((4, 8), (4, 8)), "one [SPAN] word"),
    "within": (spans((0, 13), (4, 8)), "[SPAN]"),
    "touching": (spans((0, 4), (4, 8)), "[SPAN][SPAN] word"),
    "out of order": (spans((9, 13), (0, 3)), "[SPAN] long [SPAN]"),
}


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize(("answers", "gives"), OVERLAPPING.values(), ids=OVERLAPPING)
async def test_overlapping_answers_are_no_fault(answers: Any, gives: str, grouped: bool) -> None:
    """Detections may overlap and come in any order: those that overlap become one edit."""
    given = Answers(answers=answers)
    made: Processor = Parallel(members=(Patterns(id="calm", find="x"), given)) if grouped else given
    seen = await watch(Pipeline([made]), Line([delta(SAID)]))
    assert (seen.result.text, seen.result.status) == (gives, "completed")
    assert len(seen.result.findings) == len(answers[0])


class Judges(TextProcessor):
    """Its pattern's check says how much of what matches counts."""

    says: Any = None
    window: bool = False

    def patterns(self) -> Sequence[Pattern]:
        length = 12 if self.window else None
        return [
            Pattern("WORD", r"\d{4}", "test.word", verify=lambda _found: self.says, max_length=length),
        ]


JUDGED: Final[dict[str, tuple[Any, str]]] = {
    "all": (4, "a [WORD] b"),
    "none": (0, "a 1234 b"),
    "a part": (2, "a [WORD]34 b"),
    "too much": (99, "a [WORD] b"),
    "less than none": (-3, "a 1234 b"),
    "yes": (True, "a [WORD]234 b"),
    "nothing": (None, "a "),
    "a text": ("4", "a "),
}
"""What a check says of `a 1234 b`, and which text leaves; half a word more or less is no fault."""


@pytest.mark.parametrize("tail", [" b", ""], ids=["within", "at the end"])
@pytest.mark.parametrize("window", [False, True], ids=["exact", "window"])
@pytest.mark.parametrize(("answer", "gives"), JUDGED.values(), ids=JUDGED)
async def test_what_the_check_of_a_pattern_says(answer: Any, gives: str, window: bool, tail: str) -> None:
    """A check that says too much is taken at its word's end; one that says no whole number fails."""
    seen = await watch(
        Pipeline([Judges(says=answer, window=window)]), Line([delta("a "), delta(f"1234{tail}")])
    )
    fails = not isinstance(answer, int)
    assert seen.result.text == ("" if fails and window else gives.removesuffix("" if tail else " b"))
    assert seen.result.status == ("blocked" if fails else "completed")
    if fails:
        assert seen.tripwire.metadata["cause"] == "error"


class Gives(Processor):
    """Gives for every text what it was told."""

    given: Callable[[], Any]

    def open(self, run: Run) -> Step:
        del run
        return lambda item: self.given() if getattr(item, "type", "") == "text-delta" else (item,)


async def _endless() -> AsyncIterator[Item]:
    yield delta("never")


def _half() -> Iterator[Item]:
    yield delta("half", "b")
    raise ValueError(FUSE)


async def _awaited(given: Any) -> Any:
    await checkpoint()
    return given


MISSHAPEN: Final[dict[str, tuple[Callable[[], Any], str, str]]] = {
    "nothing": (lambda: None, "", "TypeError"),
    "a text": (lambda: "text", "", "TypeError"),
    "texts": (lambda: ["text"], "", "TypeError"),
    "a chunk": (lambda: delta("x"), "", "TypeError"),
    "mappings": (lambda: [{"type": "start"}], "", "TypeError"),
    "an async generator": (_endless, "", "TypeError"),
    "a generator that raises": (_half, "half", "ValueError"),
    "a chunk and a text": (lambda: [delta("one", "b"), "two"], "one", "TypeError"),
    "nothing, later": (lambda: _awaited(None), "", "TypeError"),
    "texts, later": (lambda: _awaited(["text"]), "", "TypeError"),
    "a generator that raises, later": (lambda: _awaited(_half()), "half", "ValueError"),
}


@pytest.mark.parametrize(("given", "gives", "error"), MISSHAPEN.values(), ids=MISSHAPEN)
async def test_a_step_that_gives_the_wrong_thing(given: Callable[[], Any], gives: str, error: str) -> None:
    """What a step gives before it goes wrong leaves; then it is blocked in its name."""
    seen = await watch(Pipeline([Idle(), Gives(given=given)]), Line([*BEFORE, *AFTER]))
    assert text(seen.received) == gives
    balanced(seen.received)
    assert seen.tripwire.metadata == {"code": "processor.failed", "cause": "error", "error": error}
    assert seen.tripwire.processor_id == "gives"
    silent(seen, FUSE)


# --- the source


class Cards(TextProcessor):
    """Finds cards by asking about segments."""

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        await checkpoint()
        return [
            [
                Detection(found.start(), found.end(), "FOUND", "test.found")
                for found in re.finditer(CARDS, segment.text)
            ]
            for segment in segments
        ]


GUARDS: Final[dict[str, Make]] = {
    "pattern": lambda **how: Patterns(id="guard", find=CARDS, **how),
    "detector": lambda **how: Cards(id="guard", **how),
    "pattern in a group": lambda **how: Parallel(
        members=(SlowWords(id="calm", find="nowhere", patience=1), Patterns(id="guard", find=CARDS, **how))
    ),
    "detector in a group": lambda **how: Parallel(
        members=(Cards(id="guard", **how), Patterns(id="calm", find="nowhere"))
    ),
}
"""What finds cards."""


@dataclass(frozen=True)
class Break:
    """A source that stops half-way.

    Attributes:
        given: what it has given by then, beside `BEFORE`.
        redacted: what leaves of that under `redact`; all of it if None.
        kept: what leaves of it under `block`, with what closes the blocks that are open then; None if
            nothing is found.
    """

    given: list[Chunk]
    redacted: list[Chunk] | None = None
    kept: list[Chunk] | None = None


_START: Final = chunk("text-start", id="t")
_CALLING: Final = chunk("tool-call-input-streaming-start", **_CALL)
_NESTED: Final = nested("text-start", id="n")


def arguments(piece: str) -> Chunk:
    return chunk("tool-call-delta", **_CALL, argsTextDelta=piece)


def pictured(say: str) -> Chunk:
    return bare(type="object", object={"say": say})


BREAKS: Final[dict[str, Break]] = {
    "before anything": Break([]),
    "a text begun": Break([_START]),
    "mid-word": Break([_START, delta("Good.\nHalf a wo")]),
    "half a card": Break([_START, delta(f"Good.\nMy card is {HALF}")]),
    "a whole card": Break(
        [_START, delta(f"Good.\nMy card is {HALF}"), delta(CARD[len(HALF) :])],
        [_START, delta("Good.\nMy card is [FOUND]")],
        [_START, delta("Good.\nMy card is "), chunk("text-end", id="t")],
    ),
    "a call begun": Break([_CALLING]),
    "half a card in a call": Break([_CALLING, arguments('{"say": "4111 1')]),
    "a card in a call": Break(
        [_CALLING, arguments(f'{{"say": "{HALF}'), arguments(CARD[len(HALF) :])],
        [_CALLING, arguments('{"say": "[FOUND]')],
        [],
    ),
    "half a card in a snapshot": Break([pictured(HALF)]),
    "a card in a snapshot": Break([pictured(HALF), pictured(CARD)], [pictured("[FOUND]")] * 2, []),
    "half a card in a nested text": Break([_NESTED, nested("text-delta", id="n", text=HALF)]),
    "a card in a nested text": Break(
        [_NESTED, nested("text-delta", id="n", text=f"My card is {CARD}")],
        [_NESTED, nested("text-delta", id="n", text="My card is [FOUND]")],
        [_NESTED, nested("text-delta", id="n", text="My card is ")],
    ),
    "after its finish": Break(AFTER),
}


ENDED_BREAKS: Final = [(name, broken, error) for name, broken in BREAKS.items() for error in ENDS.values()]


@pytest.mark.parametrize("form", GUARDS)
async def test_a_broken_source_is_judged_as_far_as_it_came(form: str) -> None:
    """What is held leaves as if the text ended there; then its error is raised, or nothing is added."""
    for name, broken, error in ENDED_BREAKS:
        seen = await watch(Pipeline([GUARDS[form]()]), Line([*BEFORE, *broken.given], error))
        expected = broken.given if broken.redacted is None else broken.redacted
        assert transcript(seen.received) == transcript([*BEFORE, *expected]), name
        assert (seen.error, seen.result.tripwire) == (error, None), name
        assert seen.result.status == ("error" if error else "completed"), name
        finders = {one.processor_id for one in seen.result.findings}
        assert finders == (set() if broken.redacted is None else {"guard"}), name
        silent(seen, CARD)


@pytest.mark.parametrize("form", GUARDS)
async def test_a_refusal_of_what_is_held_wins_over_the_source(form: str) -> None:
    """What is refused as the source breaks off ends in a tripwire, and no error is raised."""
    for name, broken, error in ENDED_BREAKS:
        if broken.kept is None:
            continue
        pipeline = Pipeline([GUARDS[form](strategy="block")])
        seen = await watch(pipeline, Line([*BEFORE, *broken.given], error))
        at = len(seen.received) - len(STOPPED)
        assert transcript(seen.received[:at]) == transcript([*BEFORE, *broken.kept]), name
        assert types(seen.received[at:]) == list(STOPPED), name
        balanced(seen.received)
        assert (seen.error, seen.result.status, seen.tripwire.processor_id) == (None, "blocked", "guard")
        assert "cause" not in seen.tripwire.metadata
        silent(seen, CARD, HALF)


@pytest.mark.parametrize("form", STEP_FORMS)
async def test_a_broken_source_leaves_plain_steps_as_it_came(form: str) -> None:
    """Steps that find nothing pass on what a broken source gave, as the same chunks."""
    for name, broken, error in ENDED_BREAKS:
        source = [*BEFORE, *broken.given]
        seen = await watch(Pipeline([FORMS[form]()]), Line(source, error))
        assert (seen.received, seen.error) == (source, error), name


# --- the consumer


async def cancelled(pipeline: Pipeline, line: Line, count: int) -> tuple[list[Chunk], Result]:
    """Cancel a consumer soon after it has been given so many chunks; it is left as if it had broken off."""
    received: list[Chunk] = []
    enough, before = anyio.Event(), running()

    async def cancel(scope: anyio.CancelScope) -> None:
        with anyio.move_on_after(3):
            await enough.wait()
        await anyio.sleep(0.02)
        scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel, tasks.cancel_scope)
        async with pipeline.stream(line) as chunks:
            async for one in chunks:
                received.append(one)
                if len(received) == count:
                    enough.set()
        tasks.cancel_scope.cancel()
    settled(line, before)
    return received, chunks.result


async def test_leaving_after_any_chunk_closes_the_source() -> None:
    """Whoever breaks off after any number of chunks leaves nothing running, faults or not."""
    for form, make in FORMS.items():
        for leave in range(1, 10):
            line, before = Line(SCENES["text"].story(FUSE)), running()
            received: list[Chunk] = []
            async with Pipeline([make()]).stream(line) as chunks:
                async for one in chunks:
                    received.append(one)
                    if len(received) == leave:
                        break
            settled(line, before)
            refused_by_then = "tripwire" in types(received)
            assert chunks.result.status in (["blocked"] if refused_by_then else ["cancelled", "blocked"]), (
                form
            )


HANGING: Final = ["detector", "detector in a group", "async step", "check"]


@pytest.mark.parametrize("form", HANGING)
async def test_a_consumer_is_cancelled_while_a_processor_hangs(form: str) -> None:
    """A cancelled consumer waits for nobody: the question is cancelled, and there is no tripwire."""
    pipeline = Pipeline([FORMS[form]("hangs", timeout=None)])
    received, result = await cancelled(pipeline, Line(SCENES["text"].story(FUSE)), 7)
    assert transcript(received) == transcript([*BEFORE, _START, delta("Good.\n")])
    assert result.status == "cancelled"


@pytest.mark.parametrize("form", FORMS)
async def test_a_consumer_is_cancelled_while_the_source_hangs(form: str) -> None:
    """A cancelled consumer gets nothing of what is held, and the source is closed."""
    line = Line([*BEFORE, _START, delta("Good.\n"), delta(FUSE[:9])], hangs=True)
    passed = [delta(FUSE[:9])] if form in STEP_FORMS else []
    received, result = await cancelled(Pipeline([FORMS[form](at="end")]), line, 7 + len(passed))
    assert transcript(received) == transcript([*BEFORE, _START, delta("Good.\n"), *passed])
    assert result.status == "cancelled"


@pytest.mark.parametrize("form", FORMS)
async def test_a_slow_consumer_gets_the_same(form: str) -> None:
    """Neither a consumer that takes its time nor `run` changes what comes of a fault."""
    for way in faults_of(form):
        quick = await watch(Pipeline([FORMS[form](way)]), Line(SCENES["text"].story(FUSE)))
        slow = await read(Pipeline([FORMS[form](way)]), Line(SCENES["text"].story(FUSE)), pauses=30)
        assert (slow.received, slow.result) == (quick.received, quick.result)
        line = Line(SCENES["text"].story(FUSE))
        assert await Pipeline([FORMS[form](way)]).run(line) == quick.result
        assert (line.closed, line.strays) == (1, 0)


@pytest.mark.parametrize("pauses", [0, 30])
@pytest.mark.parametrize("form", FORMS)
async def test_a_slow_consumer_loses_nothing(form: str, pauses: int) -> None:
    """However long a consumer takes for each chunk, it gets all of them."""
    source = [delta(f"{number}\n") for number in range(30)]
    seen = await read(Pipeline([FORMS[form]()]), Line(source), pauses)
    assert seen.result.text == text(source)


@pytest.mark.parametrize("at", ["open", "look"])
@pytest.mark.parametrize("form", FORMS)
async def test_a_consumer_that_never_iterates(form: str, at: At) -> None:
    """Who leaves without a look has cancelled; the source is closed, and nothing was asked of it."""
    line, before = Line(SCENES["text"].story(FUSE)), running()
    async with Pipeline([FORMS[form](at=at)]).stream(line) as chunks:
        pass
    settled(line, before)
    assert (chunks.result.status, chunks.result.text, line.asked) == ("cancelled", "", 0)
    Pipeline([FORMS[form](at=at)]).stream(line)


# --- refusals


WORD: Final = "forbidden-77"

Does_: TypeAlias = Callable[[Run, Item], Any]


def refuse(run: Run, item: Item) -> Iterable[Item]:
    if says(item, WORD):
        run.block("no")
    return (item,)


async def refuse_later(run: Run, item: Item) -> Iterable[Item]:
    await checkpoint()
    return refuse(run, item)


def ask_to_refuse(run: Run) -> Step:
    """A step that holds everything from the word on, and asks a question which refuses."""
    held: list[Item] = []

    async def ask() -> None:
        await checkpoint()
        run.block("no")

    def step(item: Item) -> Iterable[Item]:
        if not held and not says(item, WORD):
            return (item,)
        if not held:
            run.start(ask)
        held.append(item)
        return [delta("leak")] if item is WAKE else ()

    return step


REFUSERS: Final[dict[str, Make]] = {
    "pattern": lambda: Patterns(id="guard", find=WORD, strategy="block"),
    "detector": lambda: SlowWords(id="guard", find=WORD, patience=1, strategy="block"),
    "pattern in a group": lambda: Parallel(
        members=(
            SlowWords(id="calm", find="nowhere", patience=1),
            Patterns(id="guard", find=WORD, strategy="block"),
        )
    ),
    "detector in a group": lambda: Parallel(
        members=(
            SlowWords(id="guard", find=WORD, patience=1, strategy="block"),
            Patterns(id="calm", find="nowhere"),
        )
    ),
    "step": lambda: does(refuse, "guard"),
    "async step": lambda: does(refuse_later, "guard"),
    "check": lambda: Does(id="guard", make=ask_to_refuse, slow=True),
}
"""What refuses the word."""

_ENDED: Final = ("tripwire", "finish")
_SAID_NESTED: Final = [_NESTED, nested("text-delta", id="n", text="Good.\n")]

REFUSALS: Final[dict[str, tuple[list[Chunk], list[Chunk], tuple[str, ...]]]] = {
    "the first delta": ([delta(WORD), *AFTER], [], _ENDED),
    "the first chunk, a call": ([chunk("tool-call", **_CALL, args={"say": WORD}), *AFTER], [], _ENDED),
    "the only chunk": ([bare(type="data-note", data=WORD)], [], _ENDED),
    "the last delta": ([*BEFORE, _START, delta(WORD)], [*BEFORE, _START], ("text-end", *STOPPED)),
    "after the finish": ([*BEFORE, *AFTER, delta(WORD)], [*BEFORE, *AFTER], ("tripwire",)),
    "a nested text": (
        [*BEFORE, *_SAID_NESTED, nested("text-delta", id="n", text=f"{WORD}.\n"), *AFTER],
        [*BEFORE, *_SAID_NESTED],
        STOPPED,
    ),
    "a nested call": (
        [*BEFORE, *_SAID_NESTED, nested("tool-call", toolCallId="i", toolName="l", args=[WORD]), *AFTER],
        [*BEFORE, *_SAID_NESTED],
        STOPPED,
    ),
    "a nested result": (
        [*BEFORE, *_SAID_NESTED, nested("tool-result", toolCallId="i", toolName="l", result=WORD), *AFTER],
        [*BEFORE, *_SAID_NESTED],
        STOPPED,
    ),
}
"""Where the word stands, what leaves before it, and how the stream ends."""


@pytest.mark.parametrize("form", REFUSERS)
async def test_a_refusal_at_the_edges(form: str) -> None:
    """At the first chunk, at the last and inside a nested stream, a refusal ends the stream whole."""
    for name, (given, kept, ends) in REFUSALS.items():
        seen = await watch(Pipeline([REFUSERS[form]()]), Line(given))
        at = len(seen.received) - len(ends)
        assert transcript(seen.received[:at]) == transcript(kept), name
        assert types(seen.received[at:]) == list(ends), name
        balanced(seen.received)
        assert (seen.tripwire.processor_id, seen.result.status) == ("guard", "blocked")
        assert WORD not in repr(seen.received)
        assert "cause" not in (seen.tripwire.metadata or {})
        silent(seen, WORD)


def _suppressed(run: Run, item: Item) -> Iterable[Item]:
    with suppress(BaseException):
        refuse(run, item)
    return (item,)


def _turned(run: Run, item: Item) -> Iterable[Item]:
    try:
        return refuse(run, item)
    except Exception as error:
        raise KeyError(WORD) from error


async def _suppressed_later(run: Run, item: Item) -> Iterable[Item]:
    with suppress(Exception):
        await refuse_later(run, item)
    await checkpoint()
    return [delta("leak") if says(item, WORD) else item]


async def _suppressed_in_tasks(run: Run, item: Item) -> Iterable[Item]:
    with suppress(BaseException):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refuse_later, run, item)
            tasks.start_soon(anyio.sleep, 60 if says(item, WORD) else 0)
    return (item,)


def _yielded(run: Run, item: Item) -> Iterator[Item]:
    try:
        yield from refuse(run, item)
    except Exception:  # noqa: BLE001 - what is tested
        yield item
    if says(item, WORD):
        yield delta("leak")


async def _hanging_after(run: Run, item: Item) -> Iterable[Item]:
    if says(item, WORD):
        with suppress(Exception):
            run.block("no")
        await anyio.sleep(60)
    return (item,)


SWALLOWING: Final[dict[str, Does_]] = {
    "suppressed": _suppressed,
    "turned into another": _turned,
    "suppressed later": _suppressed_later,
    "suppressed in tasks": _suppressed_in_tasks,
    "yielded on": _yielded,
    "late after it": _hanging_after,
}


@pytest.mark.parametrize("step", SWALLOWING.values(), ids=SWALLOWING)
async def test_an_except_around_a_refusal_undoes_nothing(step: Does_) -> None:
    """Whatever a processor does with its own refusal, it counts, and nothing given after it leaves."""
    pipeline = Pipeline([does(step, "guard", timeout=0.2)])
    seen = await watch(pipeline, Line([*BEFORE, _START, delta(f"{WORD}.\n"), *AFTER]))
    assert (seen.tripwire.reason, seen.tripwire.processor_id) == ("no", "guard")
    assert types(seen.received)[-4:] == ["text-end", *STOPPED]
    balanced(seen.received)
    assert WORD not in repr(seen.received)
    silent(seen, WORD)


# --- several at once


@pytest.mark.parametrize("form", FORMS)
async def test_two_runs_do_not_mix(form: str) -> None:
    """A fault in one stream changes nothing in another that goes on beside it, or in one that comes later."""
    clean = SCENES["text"].story("fine")
    for way in faults_of(form):
        pipeline, before = Pipeline([FORMS[form](way)]), running()
        lines = [Line(SCENES["text"].story(FUSE)), Line(clean), Line(SCENES["whole call"].story(FUSE))]
        seen: dict[int, Seen] = {}

        async def note(at: int, pipeline: Pipeline, line: Line, seen: dict[int, Seen]) -> None:
            seen[at] = await read(pipeline, line)

        async with anyio.create_task_group() as tasks:
            for at, line in enumerate(lines):
                tasks.start_soon(note, at, pipeline, line, seen)
        refused(seen[0], form, SCENES["text"])
        refused(seen[2], form, SCENES["whole call"])
        for line in lines:
            settled(line, before)
        for cleaned in (seen[1], await watch(pipeline, Line(clean))):
            assert transcript(cleaned.received) == transcript(clean)
            assert (cleaned.result.status, cleaned.error) == ("completed", None)


class Stubborn(TextProcessor):
    """A detector that hangs at the fuse and makes trouble when it is cancelled."""

    trouble: Literal["raises", "cleans up", "answers"]

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        try:
            await anyio.sleep(60 if any(FUSE in segment.text for segment in segments) else 0)
        except BaseException:
            if self.trouble == "raises":
                raise ValueError(FUSE) from None
            if self.trouble == "cleans up":
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.01)
                raise
        return [[] for _ in segments]


TROUBLE: Final = ["raises", "cleans up", "answers"]


@pytest.mark.parametrize("trouble", TROUBLE)
async def test_who_is_cancelled_by_anothers_fault_changes_nothing(trouble: Any) -> None:
    """A check that makes trouble as it is cancelled, since another failed, neither hides nor doubles that."""
    stubborn = Stubborn(id="stubborn", trouble=trouble, timeout=None)
    earlier = Stubborn(id="earlier", trouble=trouble, surfaces=("reasoning",), timeout=None)
    group = Parallel(members=(stubborn, FORMS["detector"]()))
    seen = await watch(Pipeline([earlier, group]), Line(SCENES["text"].story(FUSE)))
    refused(seen, "detector in a group", SCENES["text"])
    assert seen.tripwire.processor_id == "fused"


@pytest.mark.parametrize("trouble", TROUBLE)
async def test_who_is_cancelled_with_the_consumer_changes_nothing(trouble: Any) -> None:
    """A check that makes trouble as the consumer is cancelled makes none for the consumer."""
    pipeline = Pipeline([Stubborn(id="stubborn", trouble=trouble, timeout=None)])
    received, result = await cancelled(pipeline, Line(SCENES["text"].story(FUSE)), 7)
    assert transcript(received) == transcript([*BEFORE, _START, delta("Good.\n")])
    assert result.status == "cancelled"


async def test_two_that_fail_at_once_give_one_tripwire() -> None:
    """When several processors fail on the same text, alone and in a group, there is one tripwire."""
    for first in FORMS:
        for second in FORMS:
            processors = [FORMS[first](), _renamed(FORMS[second]())]
            seen = await watch(Pipeline(processors), Line(SCENES["text"].story(FUSE)))
            balanced(seen.received)
            assert seen.tripwire.processor_id == "fused"
            assert text(seen.received) == "Before.\nGood.\n"
            silent(seen, FUSE)


def _renamed(processor: Processor) -> Processor:
    """The same with other ids."""
    if isinstance(processor, Parallel):
        return Parallel(id="later", members=[_again(member) for member in processor.members])
    return _again(processor)


def _again(processor: Processor) -> Processor:
    return processor.model_copy(update={"id": f"later {processor.id}"})


@pytest.mark.parametrize("form", FORMS)
async def test_a_source_that_cannot_be_closed(form: str, caplog: pytest.LogCaptureFixture) -> None:
    """A source that fails as it is closed changes nothing about a fault; a warning says so."""
    line = Line(SCENES["text"].story(FUSE), fails_to_close=True)
    seen = await watch(Pipeline([FORMS[form]()]), line)
    refused(seen, form, SCENES["text"])
    assert "closing the source failed (OSError)" in caplog.text


async def test_a_listener_that_fails_changes_nothing() -> None:
    """A failing `on_finding` neither hides a finding nor a fault behind it."""

    def listen(finding: Finding) -> None:
        raise ValueError(f"{finding} {FUSE}")

    for form in TEXT_FORMS:
        processors = [Patterns(id="cards", find=CARDS), TEXT_FORMS[form]()]
        line = Line([delta(f"{CARD}.\n"), delta(f"{FUSE}.\n")])
        seen = await watch(Pipeline(processors, on_finding=listen), line)
        assert text(seen.received) == "[FOUND].\n"
        assert seen.tripwire.metadata["cause"] == "error"
        assert len(seen.result.findings) == 1


@pytest.mark.parametrize("form", FORMS)
def test_sync_callers_get_the_same(form: str) -> None:
    """The sync shell gives the same result of a fault, closes the source once and leaves no thread."""
    for way, (cause, _error) in faults_of(form).items():
        line = Line(SCENES["text"].story(FUSE))
        with Pipeline([FORMS[form](way)]).stream_sync(line) as chunks:
            received = list(chunks)
        assert types(received[len(BEFORE) :]) == SCENES["text"].ending(form)
        balanced(received)
        assert chunks.result.tripwire is not None
        assert chunks.result.tripwire.payload.metadata["cause"] == cause
        assert (line.closed, line.strays) == (1, 0)
        left = Line(SCENES["text"].story(FUSE))
        with Pipeline([FORMS[form](way)]).stream_sync(left) as chunks:
            next(chunks)
        assert (left.closed, left.strays) == (1, 0)


@pytest.mark.parametrize("form", FORMS)
async def test_no_message_leaves_when_an_input_processor_fails(form: str) -> None:
    """A fault in a message to the model leaves no message to send; the next call is not touched by it."""
    for way, (cause, error) in faults_of(form).items():
        guard, before = Pipeline([], input_processors=[FORMS[form](way)]), running()
        clean = {"role": "user", "content": "Good.\n"}
        guarded = await guard.guard_input([clean, {"role": "tool", "content": [{"result": f"{FUSE}.\n"}]}])
        assert guarded.messages == ()
        assert guarded.tripwire is not None
        told = guarded.tripwire.payload.metadata
        assert (told["cause"], told["error"]) == (cause, error)
        assert FUSE not in repr(guarded)
        assert (await guard.guard_input([clean])).messages == (clean,)
        assert running() == before
