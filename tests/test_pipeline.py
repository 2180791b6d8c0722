"""The pipeline: what goes in and out, who is to blame, and that nothing undoes a refusal."""

import asyncio
import logging
import tracemalloc
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any

import anyio
import pytest

from guardrails import (
    END,
    WAKE,
    Block,
    Chunk,
    ChunkError,
    Finding,
    Item,
    Parallel,
    Pipeline,
    Report,
    Run,
    dump_json,
    parse_chunk,
)
from guardrails.chunks import Error, Tripwire
from guardrails.testing import Idle, Patterns, Tape
from tests.helpers import Does, Source, answer, chunk, collect, delta, does, four, text, types

NOTE = parse_chunk({"type": "data-note", "data": 1})


async def read_all(chunks: AsyncIterator[Chunk], received: list[Chunk]) -> None:
    async for one in chunks:
        received.append(one)  # noqa: PERF401 - an exception must not lose what came before it


def tripwire_of(chunks: Iterable[Chunk]) -> Any:
    (found,) = [one for one in chunks if isinstance(one, Tripwire)]
    return found.payload


async def test_chunks_pass_as_the_same_objects() -> None:
    """Without anything to do, every chunk arrives as the object that was sent."""
    sent = answer("a", "", "b")
    received = await collect(Pipeline([Idle()]), sent)
    assert all(one is other for one, other in zip(received, sent, strict=True))


@pytest.mark.parametrize("form", [dump_json, lambda one: dump_json(one).encode()], ids=["text", "bytes"])
async def test_json_lines_are_read(form: Any) -> None:
    """JSON lines, as text or bytes, are a source; blank lines are passed over."""
    sent = answer("a", "b")
    lines = [line for one in sent for line in (form(one), form(one)[:0])]
    assert await collect(Pipeline([]), lines) == sent


async def test_a_malformed_chunk_is_an_error_after_what_came_before() -> None:
    """What is no chunk raises an error that says which item; text held before it is not lost."""
    pipeline = Pipeline([four()])
    received: list[Chunk] = []
    async with pipeline.stream([delta("call 12"), {"type": "text-delta", "payload": {"id": "t"}}]) as chunks:
        with pytest.raises(ChunkError, match=r"item 2 .*payload\.text"):
            await read_all(chunks, received)
    assert text(received) == "call 12"
    assert chunks.result.status == "error"


@pytest.mark.parametrize("source", ["text", b"bytes", {"type": "start"}, 3, None], ids=str)
async def test_what_is_no_source_is_refused(source: Any) -> None:
    """A single chunk, a string or no iterable at all is a type error at once."""
    with pytest.raises(TypeError, match="iterable of chunks"):
        Pipeline([]).stream(source)


async def test_doubled_ids_are_refused() -> None:
    """Two processors with one id are an error, in groups too."""
    group = Parallel(members=(Patterns(id="a", find="x"), Patterns(id="b", find="x")))
    with pytest.raises(ValueError, match="used twice: b"):
        Pipeline([group, Idle(id="b")])


async def test_a_stream_is_used_in_its_block_and_once() -> None:
    """Iterating outside the block, entering twice and asking for an early result say what is wrong."""
    stream = Pipeline([]).stream(answer("a"))
    with pytest.raises(RuntimeError, match="async with"):
        await anext(stream)
    async with stream as chunks:
        await anext(chunks)
        with pytest.raises(RuntimeError, match="not ended"):
            _ = chunks.result
    with pytest.raises(RuntimeError, match="once"):
        await stream.__aenter__()
    with pytest.raises(RuntimeError, match="async with"):
        await anext(stream)
    assert stream.result.status == "cancelled"


async def test_a_finished_stream_stays_finished() -> None:
    """Asking on after the end gives the end again."""
    async with Pipeline([]).stream([delta("a")]) as chunks:
        assert [one async for one in chunks] == [delta("a")]
        assert [one async for one in chunks] == []


async def test_the_result_holds_what_was_let_out() -> None:
    """Texts by the order of their ids, tool calls, object, usage, reason and findings."""
    source = [
        chunk("text-start", id="b"),
        delta("first ", "b"),
        delta("second", "a"),
        delta("1234", "b"),
        chunk("reasoning-delta", id="a", text="why"),
        chunk("tool-call", toolCallId="c", toolName="look", args={"x": 1}),
        {"type": "object", "runId": "run", "from": "AGENT", "object": {"half": 1}},
        {"type": "object-result", "runId": "run", "from": "AGENT", "object": {"whole": 2}},
        chunk("step-finish", output={"usage": {"inputTokens": 3}}),
        chunk("step-finish", output={"usage": {"inputTokens": 4, "outputTokens": 2}}),
        chunk("finish", stepResult={"reason": "stop"}),
    ]
    result = await Pipeline([four()]).run(source)
    assert (result.text, result.reasoning) == ("first [FOUND]second", "why")
    assert [call.payload.tool_name for call in result.tool_calls] == ["look"]
    assert result.object == {"whole": 2}
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 2)
    assert result.usage.total_tokens is None
    assert (result.status, result.finish_reason, result.tripwire) == ("completed", "stop", None)
    found = Finding("test.found", "FOUND", 1.0, 6, 10, "text", "b", "patterns", "redact")
    assert result.findings == (found,)


async def test_nothing_is_kept_without_collect() -> None:
    """With `collect=False` the result has how it ended, not what was said."""
    async with Pipeline([Patterns(find="a")]).stream(answer("a"), collect=False) as chunks:
        async for _ in chunks:
            pass
    assert (chunks.result.text, chunks.result.findings) == ("", ())
    assert chunks.result.finish_reason == "stop"


async def test_findings_are_told_as_they_leave(caplog: pytest.LogCaptureFixture) -> None:
    """The callback hears of each finding; one that fails is logged and harms nothing."""
    heard: list[Finding] = []

    def listen(finding: Finding) -> None:
        heard.append(finding)
        raise ValueError("secret 1234")

    with caplog.at_level(logging.INFO, "guardrails"):
        result = await Pipeline([four()], on_finding=listen).run(answer("no. 1234."))
    assert tuple(heard) == result.findings
    assert result.text == "no. [FOUND]."
    assert "ValueError" in caplog.text
    assert "1234" not in caplog.text


async def test_pipelines_nest() -> None:
    """A guarded stream is a source; the inner one ends with the outer one."""
    source = Source(answer("a 1234 b"))
    inner = Pipeline([four()]).stream(source.play())
    result = await Pipeline([Patterns(find="a")]).run(inner)
    assert result.text == "[FOUND] [FOUND] b"
    assert source.closed == 1
    assert inner.result.status == "completed"


async def test_the_source_error_is_raised_after_what_it_said() -> None:
    """`run` raises the source's own exception; a stream gives out what was held before it."""
    error = OSError("line is down")
    pipeline = Pipeline([four()])
    with pytest.raises(OSError, match="line is down"):
        await pipeline.run(Source(answer("a"), error).play())
    received: list[Chunk] = []
    async with pipeline.stream(Source([delta("tail 123")], error).play()) as chunks:
        with pytest.raises(OSError, match="line is down"):
            await read_all(chunks, received)
    assert text(received) == "tail 123"


async def test_a_refusal_wins_over_the_source_error() -> None:
    """When held text is refused as the source fails, the tripwire is what the consumer gets."""
    pipeline = Pipeline([Patterns(find=r"\d{3,4}", strategy="block")])
    result = await pipeline.run(Source([delta("tail 123")], OSError("down")).play())
    assert result.status == "blocked"


async def test_an_error_chunk_follows_the_held_text() -> None:
    """An `error` chunk is no tripwire: it waits its turn behind held text."""
    source = [delta("tail 123"), chunk("error", error={"message": "x"})]
    received = await collect(Pipeline([four()]), source)
    assert text(received[:-1]) == "tail 123"
    assert isinstance(received[-1], Error)


async def test_a_failing_step_blocks_in_its_own_name() -> None:
    """A processor that raises blocks with its class, never its message; what it gave before leaves."""

    def step(_run: Run, item: Item) -> Iterable[Item]:
        yield item
        if item is not END and item.type == "text-delta":  # type: ignore[union-attr]
            raise ValueError("secret 1234")

    received = await collect(Pipeline([Idle(), does(step, "boom")]), answer("one", "two"))
    assert text(received) == "one"
    payload = tripwire_of(received)
    assert payload.processor_id == "boom"
    assert payload.metadata == {"code": "processor.failed", "cause": "error", "error": "ValueError"}
    assert "1234" not in "".join(map(dump_json, received))


@pytest.mark.parametrize("given", [None, ["text"], [{"type": "start"}], 7], ids=repr)
async def test_a_step_that_gives_no_chunks_blocks(given: Any) -> None:
    """What a step gives must be chunks; anything else blocks in its name."""
    received = await collect(Pipeline([does(lambda _run, _item: given, "odd")]), answer("a"))
    assert tripwire_of(received).metadata["error"] == "TypeError"


async def test_a_processor_that_cannot_open_blocks() -> None:
    """A processor that fails to open a stream blocks it before anything leaves."""

    def fail(_run: Run) -> Any:
        raise OSError("no model")

    received = await collect(Pipeline([Does(make=fail)]), answer("a"))
    assert types(received) == ["tripwire", "finish"]


async def test_an_awaited_step_runs_under_its_limit() -> None:
    """A step may answer later; past its limit it blocks with the cause `timeout`."""

    async def later(item: Item, seconds: float) -> Iterable[Item]:
        await anyio.sleep(seconds)
        return [item]

    quick = does(lambda _run, item: later(item, 0))
    assert await collect(Pipeline([quick]), answer("a", "b")) == answer("a", "b")
    slow = does(lambda _run, item: later(item, 30), timeout=0.01)
    assert tripwire_of(await collect(Pipeline([slow]), answer("a"))).metadata["cause"] == "timeout"


async def test_a_refusal_cannot_be_swallowed() -> None:
    """Catching a refusal, yielding on, returning or raising something else after it undo nothing."""

    def step(run: Run, item: Item) -> Iterable[Item]:
        yield item
        if item is not END and item.type == "text-start":  # type: ignore[union-attr]
            with suppress(Exception):
                run.block("no")
            yield delta("leak")
            raise ValueError("leak")

    received = await collect(Pipeline([does(step)]), answer("a"))
    assert types(received) == [
        "start",
        "step-start",
        "text-start",
        "text-end",
        "tripwire",
        "step-finish",
        "finish",
    ]
    assert tripwire_of(received).reason == "no"


async def test_a_refusal_in_a_task_group_counts() -> None:
    """A refusal that comes out wrapped in an exception group is the refusal."""

    async def step(run: Run, item: Item) -> Iterable[Item]:
        async def refuse() -> None:
            run.block("no")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(refuse)
        return [item]

    assert tripwire_of(await collect(Pipeline([does(step)]), answer("a"))).reason == "no"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_gather_does_not_undo_a_refusal(anyio_backend: str) -> None:
    """`gather(return_exceptions=True)` turns a refusal into a value; it is still one."""
    del anyio_backend

    async def refuse(run: Run) -> None:
        run.block("no")

    async def step(run: Run, item: Item) -> Iterable[Item]:
        await asyncio.gather(refuse(run), return_exceptions=True)
        return [item]

    assert tripwire_of(await collect(Pipeline([does(step)]), answer("a"))).reason == "no"


async def test_a_block_raised_by_hand_is_a_refusal() -> None:
    """Whoever keeps a `Block` and raises it again refuses."""

    def step(run: Run, item: Item) -> Iterable[Item]:
        try:
            run.block("no", retry=True, metadata={"x": 1})
        except Block as block:
            raise Block(block.refusal) from None
        return [item]

    payload = tripwire_of(await collect(Pipeline([does(step)]), answer("a")))
    assert (payload.reason, payload.retry, payload.metadata) == ("no", True, {"x": 1})


async def test_a_later_step_that_refuses_found_something_earlier() -> None:
    """What stood before a refusal is decided by the later steps; the one that refuses there is named."""
    first = Patterns(id="first", find="bbbb", strategy="block")
    second = Patterns(id="second", find=r"a\d{2,4}", strategy="block")
    received = await collect(Pipeline([first, second]), answer("x a12bbbb"))
    assert text(received) == "x "
    assert tripwire_of(received).processor_id == "second"


async def test_signals_are_not_let_out_or_doubled() -> None:
    """A step that passes on everything, signals too, neither ends the next one early nor twice."""
    ends: list[Item] = []

    def watch(_run: Run, item: Item) -> Iterable[Item]:
        ends.extend([item] if item in (END, WAKE) else [])
        return [item]

    received = await collect(Pipeline([Idle(id="a"), Idle(id="b"), does(watch)]), answer("a"))
    assert received == answer("a")
    assert ends == [END]


async def test_a_step_may_add_and_drop_chunks() -> None:
    """One item in, none or several out; a report from a step of one's own reaches the result."""
    finding = Finding("x", "X", 0.5, 0, 1, "text", "t", "mine", "warn")

    def step(_run: Run, item: Item) -> Iterable[Item]:
        match getattr(item, "type", ""):
            case "start":
                return []
            case "text-delta":
                return [Report(finding), item, NOTE]
            case _:
                return [item]

    async with Pipeline([does(step)]).stream(answer("a")) as chunks:
        received = [one async for one in chunks]
    assert types(received)[:4] == ["step-start", "text-start", "text-delta", "data-note"]
    assert chunks.result.findings == (finding,)


async def test_an_interrupt_passes_through() -> None:
    """What is no `Exception` is nobody's refusal."""

    def step(_run: Run, _item: Item) -> Iterable[Item]:
        raise SystemExit(7)

    source = Source(answer("a"))
    async with Pipeline([does(step)]).stream(source.play()) as chunks:
        with pytest.raises(SystemExit):
            await anext(chunks)
    assert source.closed == 1
    assert chunks.result.status == "cancelled"


async def test_the_consumers_own_error_is_raised_as_it_is() -> None:
    """An exception in the block comes out unwrapped, and the source is closed."""
    for processor in (Idle(), does(lambda _run, item: [item], slow=True)):
        source = Source(answer("a"))
        with pytest.raises(KeyError, match="mine"):
            async with Pipeline([processor]).stream(source.play()) as chunks:
                async for _ in chunks:
                    raise KeyError("mine")
        assert source.closed == 1


@pytest.mark.parametrize("collect_all", [True, False])
async def test_memory_does_not_grow_with_the_stream(collect_all: bool) -> None:
    """A long stream with findings keeps only what the result needs."""

    async def source() -> AsyncIterator[Chunk]:
        for _ in range(4_000):
            yield delta("call 1234 now. ")

    pipeline = Pipeline([four()])
    tracemalloc.start()
    try:
        async with pipeline.stream(source(), collect=collect_all) as chunks:
            async for _ in chunks:
                pass
        size, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 500_000 if collect_all else size < 200_000


async def test_streams_share_a_pipeline() -> None:
    """A refusal in one stream leaves the next one alone."""
    pipeline = Pipeline([Patterns(find="bad", strategy="block")])
    assert (await pipeline.run(answer("bad"))).status == "blocked"
    tape = Tape(answer("good"))
    assert (await pipeline.run(tape.play())).text == "good"
    assert tape.closed == 1


async def test_a_failure_is_logged_with_its_place(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the class and the line of what a processor failed with, and not its message."""

    def step(_run: Run, _item: Item) -> Iterable[Item]:
        raise ValueError("secret 1234")

    await Pipeline([does(step, "boom")]).run(answer("a"))
    assert "boom failed (ValueError at " in caplog.text
    assert "test_pipeline.py:" in caplog.text
    assert "1234" not in caplog.records[0].getMessage()
