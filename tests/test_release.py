"""Releasing step by step: a step is seen when all of it has been accepted, and a refused one never is."""

import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Final

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardrails import Chunk, Finding, Item, Parallel, Pipeline, Processor, Run, dump_chunk, parse_chunk
from guardrails.release import Release
from guardrails.testing import (
    BACKENDS,
    Idle,
    Patterns,
    SlowWords,
    Tape,
    chunks_of,
    cuttings,
    outcome,
    passages,
    texts_of,
    transcript,
    uncut,
)
from guardrails.testing.scripts import Passage
from tests.helpers import Source, answer, chunk, collect, delta, does, four, text, types

LONG: Final = 40
"""Texts of a few of these exceed the smallest buffer."""

TEXTS: Final = texts_of(["a@b.co", "1234", "bad word. ", "badly", "👍" * 8, "x" * LONG])

NOTE: Final = parse_chunk({"type": "data-note", "data": 1})

CHAINS: Final[dict[str, Callable[[], Sequence[Processor]]]] = {
    "idle": lambda: [Idle()],
    "redact": lambda: [four()],
    "block": lambda: [Idle(), four(strategy="block")],
    "slow": lambda: [SlowWords(find="bad"), four(strategy="block")],
    "group": lambda: [Parallel(members=(SlowWords(find="bad", strategy="block"), four(strategy="warn")))],
}

Cut = Callable[[str], list[str]]


def steps_of(steps: Sequence[Sequence[Passage]], cut: Cut) -> list[Chunk]:
    """An answer of several steps, each with its frame, something said between them."""
    begin, *_, end = chunks_of([], uncut)
    middle = [[*chunks_of(parts, cut)[1:-1], NOTE] for parts in steps]
    return [begin, *(each for step in middle for each in step), end]


def accepted(at_once: Sequence[Chunk]) -> list[Chunk]:
    """Of a blocked stream that was released at once, what is seen of it step by step."""
    kinds = types(at_once)
    before = kinds[: kinds.index("tripwire")]
    ends = [place + 1 for place, kind in enumerate(before) if kind in ("step-finish", "finish")]
    return list(at_once[: max(ends, default=int(kinds[0] == "start"))])


several = st.lists(passages(TEXTS), min_size=1, max_size=3)
text_alone = st.lists(passages(TEXTS, everywhere=False), min_size=1, max_size=3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("chain", CHAINS)
@settings(deadline=None, max_examples=40)
@given(steps=several, cut=cuttings)
def test_accepted_steps_are_seen_whole(
    backend: str, chain: str, steps: Sequence[Sequence[Passage]], cut: Cut
) -> None:
    """What is seen is what leaves otherwise, up to the end of the last accepted step."""

    async def play() -> None:
        script = steps_of(steps, cut)
        at_once = await outcome(Pipeline(CHAINS[chain]()), Tape(script))
        held = await outcome(Pipeline(CHAINS[chain](), release="step"), Tape(script))
        assert held.result.findings == at_once.result.findings
        assert held.result.status == at_once.result.status
        if held.result.status == "completed":
            assert held.read == at_once.read
            return
        seen = held.chunks[: types(held.chunks).index("tripwire")]
        assert transcript(seen) == transcript(accepted(at_once.chunks))
        assert types(held.chunks[len(seen) :]) == ["tripwire", "finish"]
        assert held.result.tripwire == at_once.result.tripwire
        if not any(processor.waits for processor in CHAINS[chain]()):  # else it is a matter of time
            assert held.result.usage == at_once.result.usage

    anyio.run(play, backend=backend)


@pytest.mark.parametrize("chain", CHAINS)
@settings(deadline=None, max_examples=40)
@given(steps=text_alone, cut=cuttings, max_buffer=st.integers(64, 200))
def test_neither_the_cutting_nor_empty_deltas_decide_about_the_limit(
    chain: str, steps: Sequence[Sequence[Passage]], cut: Cut, max_buffer: int
) -> None:
    """Cut anyhow, within characters and with empty deltas anywhere, the same is seen, found and refused."""

    async def play() -> None:
        pipeline = Pipeline(CHAINS[chain](), release="step", max_buffer=max_buffer)
        whole = await outcome(pipeline, Tape(steps_of(steps, uncut)))
        empty = [delta("", "t1"), delta("", "t2")]
        script = [
            one
            for each in steps_of(steps, cut)
            for one in ([*empty, each, *empty] if each.type == "text-delta" else [each])
        ]
        pieces = await outcome(pipeline, Tape(script))
        assert pieces.comparable == whole.comparable

    anyio.run(play)


@settings(deadline=None)
@given(steps=several, cut=cuttings, data=st.data())
def test_a_failing_source_lets_out_what_is_held(
    steps: Sequence[Sequence[Passage]], cut: Cut, data: st.DataObject
) -> None:
    """A source that breaks anywhere loses nothing: what it said is decided and read; then it raises."""

    async def play() -> None:
        script = steps_of(steps, cut)
        place = data.draw(st.integers(0, len(script) - 1))
        at_once = await outcome(Pipeline(CHAINS["redact"]()), Tape(script, fails_at=place))
        held = await outcome(Pipeline(CHAINS["redact"](), release="step"), Tape(script, fails_at=place))
        assert held.result.status == at_once.result.status == "error"
        assert held.read == at_once.read

    anyio.run(play)


async def test_a_step_leaves_when_it_has_ended() -> None:
    """`start` leaves at once, a step with its `step-finish`, what stands between two with the second."""
    tape = Tape(
        steps_of([[(("text", "t1"), "one two")], [(("text", "t1"), "three")]], lambda it: it.split(" "))
    )
    came = await outcome(Pipeline([Idle()], release="step"), tape)
    assert types(tape.chunks) == [
        "start",
        *("step-start", "text-start", "text-delta", "text-delta", "text-end", "step-finish"),
        "data-note",
        *("step-start", "text-start", "text-delta", "text-end", "step-finish"),
        *("data-note", "finish"),
    ]
    assert tape.marks == [0, *[1] * 6, *[6] * 6, 12, 12]
    assert text(came.chunks[:6]) == "onetwo"
    assert len(came.chunks) == 14


async def test_neighbouring_pieces_of_one_text_leave_as_one() -> None:
    """A text leaves as one delta, halves of characters joined; a delta alone is the same object."""
    single, noted = delta("b", "u"), chunk("text-delta", id="t", text="c", providerMetadata={"p": {"k": 1}})
    source = [delta("a"), delta("\ud83d"), delta("\udc4d"), single, delta(""), noted, noted, delta("d")]
    received = await collect(Pipeline([Idle()], release="step"), source)
    assert received == [delta("a👍"), single, noted, noted, delta("d")]
    assert received[1] is single
    assert received[2] is noted


@pytest.mark.parametrize("end", ["step-finish", "finish", None])
async def test_chunks_without_a_frame_are_a_step(end: str | None) -> None:
    """Without a `step-start`, a step begins with the first chunk and ends as any other."""
    source = [delta("good "), delta("bad"), *([chunk(end)] if end else [])]
    assert await collect(Pipeline([], release="step"), source) == [delta("good bad"), *source[2:]]
    pipeline = Pipeline([Patterns(find="bad", strategy="block")], release="step")
    assert types(await collect(pipeline, source)) == ["tripwire", "finish"]


async def test_a_refused_step_is_not_seen() -> None:
    """Earlier steps have left; of the refused one nothing does, and what was open before it is closed."""
    source = [
        *answer("fine")[:-1],
        chunk("text-start", id="open"),
        chunk("step-finish"),
        *answer("good ", "bad", "never")[1:],
    ]
    heard: list[Finding] = []
    pipeline = Pipeline(
        [Patterns(find="bad", strategy="block"), Patterns(id="good", find="good")],
        release="step",
        on_finding=heard.append,
    )
    async with pipeline.stream(source) as chunks:
        received = [one async for one in chunks]
    assert received[:8] == source[:8]
    assert types(received[8:]) == ["text-end", "tripwire", "finish"]
    assert (chunks.result.text, chunks.result.status) == ("fine", "blocked")
    assert [finding.processor_id for finding in chunks.result.findings] == ["good", "patterns"]
    assert tuple(heard) == chunks.result.findings


async def test_the_usage_of_a_refused_step_counts() -> None:
    """What the source has told of a step that is refused at its end is in the made `finish`."""

    def late(run: Run, item: Item) -> Iterable[Item]:
        if getattr(item, "type", "") == "step-finish" and item.payload.id == "2":  # type: ignore[union-attr]
            run.block("late")
        return [item]

    told = [{"usage": {"inputTokens": count}} for count in (3, 4)]
    first, second = (chunk("step-finish", id=str(place), output=out) for place, out in enumerate(told, 1))
    source = [chunk("step-start"), first, chunk("step-start"), delta("a"), second, delta("never")]
    received = await collect(Pipeline([does(late)], release="step"), source)
    assert types(received) == ["step-start", "step-finish", "tripwire", "finish"]
    assert dump_chunk(received[-1])["payload"]["output"] == {"usage": {"inputTokens": 7}}


@pytest.mark.parametrize("slow", [False, True])
async def test_who_is_cancelled_sees_nothing_of_the_step(slow: bool) -> None:
    """Cancelling lets nothing out, closes the source and leaves no result of the step."""

    async def stalls() -> AsyncIterator[Chunk]:
        for one in answer("held")[:5]:
            yield one
        try:
            await anyio.sleep_forever()
        finally:
            closed.append(True)

    closed: list[bool] = []
    received: list[Chunk] = []
    processor = does(lambda _run, item: [item], slow=slow)
    async with Pipeline([processor], release="step").stream(stalls()) as chunks:
        with anyio.move_on_after(0.05):
            async for one in chunks:
                received.append(one)  # noqa: PERF401 - what came before the cancellation counts
    assert types(received) == ["start"]
    assert (chunks.result.status, chunks.result.text) == ("cancelled", "")
    assert closed == [True]


async def test_who_leaves_while_a_last_step_is_read_has_left_early() -> None:
    """What leaves because the source has ended is still being read."""
    async with Pipeline([], release="step").stream([delta("a"), chunk("text-end", id="t")]) as chunks:
        await anext(chunks)
    assert chunks.result.status == "cancelled"


@pytest.mark.parametrize("processors", [[], [Idle()], [SlowWords(find="never")]], ids=len)
async def test_a_step_that_is_too_long_blocks(processors: Sequence[Processor]) -> None:
    """One character more than may be held ends the stream in the name of the pipeline."""
    source = Source([chunk("start"), *[delta("y")] * 65, delta("never")])
    async with Pipeline(processors, release="step", max_buffer=64).stream(source.play()) as chunks:
        received = [one async for one in chunks]
    assert types(received) == ["start", "tripwire", "finish"]
    assert dump_chunk(received[1])["payload"] == {
        "reason": "A step is longer than the 64 characters that may wait for its end.",
        "retry": False,
        "metadata": {"code": "limit.buffer", "cause": "limit"},
        "processorId": "pipeline",
    }
    assert source.closed == 1
    assert (chunks.result.status, chunks.result.text) == ("blocked", "")


@pytest.mark.parametrize(
    ("words", "fits"), [("y" * 64, True), ("y" * 65, False), ("👍" * 32, True), ("👍" * 33, False)]
)
async def test_the_limit_is_exact(words: str, fits: bool) -> None:
    """As many UTF-16 units as the limit says are held, in each step anew; `stream` has no limit."""
    source = [delta(words), chunk("step-finish"), delta("y" * 64), chunk("step-finish")]
    received = await collect(Pipeline([Idle()], release="step", max_buffer=64), source)
    assert received == source if fits else types(received) == ["tripwire", "finish"]
    assert await collect(Pipeline([Idle()], max_buffer=64), source) == source


async def test_no_single_chunk_fills_the_buffer() -> None:
    """Another chunk counts as long as it is written out, a large one as a quarter; the end does not wait."""
    large = chunk("file", data="y" * 1000, mimeType="image/png")
    end = chunk("finish", response={"body": "y" * 1000})
    pipeline = Pipeline([], release="step", max_buffer=400)
    assert await collect(pipeline, [*[large] * 4, end]) == [*[large] * 4, end]
    assert types(await collect(pipeline, [*[large] * 5, end])) == ["tripwire", "finish"]


async def test_what_is_too_long_first_is_told() -> None:
    """A refusal behind text that is too long was never reached, however the two came."""
    pipeline = Pipeline([Patterns(find="bad", strategy="block"), Idle()], release="step", max_buffer=64)
    for texts in (["y" * 65 + "bad"], ["y" * 65, "bad"], ["y" * 64 + "bad"]):
        result = await pipeline.run(map(delta, texts))
        assert result.tripwire is not None
        expected = "patterns" if texts[0] == "y" * 64 + "bad" else "pipeline"
        assert result.tripwire.payload.processor_id == expected
        assert len(result.findings) == (expected == "patterns")


async def test_text_given_back_at_the_end_can_be_too_long() -> None:
    """Text that is held to the end of the source counts when it is given back; no error is raised then."""
    pipeline = Pipeline([Patterns(find=r"y{1,90}z", id="holds")], release="step", max_buffer=64)
    result = await pipeline.run(Source([delta("y" * 65)], OSError("down")).play())
    assert result.tripwire is not None
    assert result.tripwire.payload.processor_id == "pipeline"


async def test_memory_is_bounded_by_the_text() -> None:
    """What is held does not grow with the number of deltas, empty ones of several texts among them."""

    async def source() -> AsyncIterator[Chunk]:
        for _ in range(4_000):
            for one in (delta("y"), delta(""), delta("", "u")):
                yield one
        sizes.append(tracemalloc.get_traced_memory()[0])

    sizes: list[int] = []
    tracemalloc.start()
    try:
        received = await collect(Pipeline([Idle()], release="step"), source())
    finally:
        tracemalloc.stop()
    assert received == [delta("y" * 4_000)]
    assert sizes[0] < 200_000


@pytest.mark.parametrize("refusing", ["inner", "outer"])
@pytest.mark.parametrize("inner", ["stream", "step"])
@pytest.mark.parametrize("outer", ["stream", "step"])
async def test_pipelines_nest(inner: Release, outer: Release, refusing: str) -> None:
    """The pipeline that refuses lets nothing of the step out if it releases by the step."""
    guards = [four(), Patterns(id="block", find="bad", strategy="block")]
    first, second = guards if refusing == "outer" else guards[::-1]
    source = [*answer("one 1234")[:-1], *answer("two ", "bad")[1:]]
    received = await collect(
        Pipeline([second], release=outer), Pipeline([first], release=inner).stream(source)
    )
    seen = {"inner": inner, "outer": outer}[refusing] == "stream"
    assert text(received) == ("one [FOUND]two " if seen else "one [FOUND]")
    assert types(received).count("step-start") == types(received).count("step-finish") == 1 + seen
    assert types(received).count("tripwire") == 1
    assert types(received)[-1] == "finish"


def test_sync_callers_get_whole_steps() -> None:
    """The sync shell gives a step when it has ended, and nothing of a refused one."""
    pipeline = Pipeline([Patterns(find="bad", strategy="block")], release="step")
    with pipeline.stream_sync([*answer("fine")[:-1], *answer("so ", "bad")[1:]]) as chunks:
        received = list(chunks)
    assert text(received) == chunks.result.text == "fine"
    assert types(received)[-2:] == ["tripwire", "finish"]
    assert pipeline.run_sync(answer("fine")).status == "completed"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"release": "chunk"}, "release must be one of stream, step, not 'chunk'"),
        ({"max_buffer": 63}, "max_buffer must be at least 64 characters"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    """A setting that is none of its choices is an error that names them."""
    with pytest.raises(ValueError, match=message):
        Pipeline([], **wrong)
