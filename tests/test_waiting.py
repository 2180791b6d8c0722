"""Slow checks, silence, cancelling: what goes on beside the stream, and that nothing of it is left."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

import anyio
import pytest
from anyio.lowlevel import checkpoint

from guardrails import (
    END,
    WAKE,
    Check,
    Chunk,
    Detection,
    Item,
    Parallel,
    Pipeline,
    Processor,
    Run,
    Segment,
    Step,
    TextProcessor,
)
from guardrails.testing import Idle, Patterns, SlowWords
from tests.helpers import Does, Source, answer, chunk, delta, does, four, text, types


class Timed(TextProcessor):
    """Answers each segment after the seconds that its text names."""

    longest_segment: ClassVar[int] = 40

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        """`0.2` in a segment is how long it takes; `bad` in it is found; `boom` fails."""
        for segment in segments:
            if "boom" in segment.text:
                raise ValueError(segment.text)
            seconds = [float(word) for word in segment.text.split() if word.startswith("0")]
            await anyio.sleep(sum(seconds))
        return [
            [Detection(at, at + 3, "BAD", "test.bad")] if (at := segment.text.find("bad")) >= 0 else []
            for segment in segments
        ]


async def test_checks_overlap_and_are_released_in_order() -> None:
    """Ten checks of a fifth of a second take little more than one; their texts leave in order."""
    source = answer(*(f"wait 0.2 for {letter}.\n" for letter in "abcdefghij"))
    started = time.monotonic()
    result = await Pipeline([Timed()]).run(source)
    assert result.text == text(source)
    assert time.monotonic() - started < 1.0


async def test_an_early_answer_waits_for_its_turn() -> None:
    """An answer that comes first does not overtake; what is in front leaves as soon as it is answered."""
    received: list[tuple[str, float]] = []
    started = time.monotonic()
    async with Pipeline([Timed()]).stream(answer("a 0.1 .\n", "b 0 .\n", "c 0.9 .\n")) as chunks:
        async for one in chunks:
            received += [(text([one]), time.monotonic() - started)] if one.type == "text-delta" else []
    assert [piece for piece, _ in received] == ["a 0.1 .\nb 0 .\n", "c 0.9 .\n"]
    assert received[0][1] < 0.6 < received[1][1]


async def test_reading_waits_when_too_many_checks_are_under_way() -> None:
    """With as many checks under way as may be, the source is left alone until one is done."""
    source = Source([delta(f"{n} 0.05 .\n") for n in range(20)])
    most = 0

    async def watch() -> AsyncIterator[Chunk]:
        nonlocal most
        async for one in source.play():
            most = max(most, source.asked - released)
            yield one

    released = 0
    async with Pipeline([Timed()], max_checks=3).stream(watch()) as chunks:
        async for one in chunks:
            released += text([one]).count("\n")
    assert released == 20
    assert most <= 5


async def test_a_failed_check_blocks_at_once() -> None:
    """A detector that raises blocks without waiting for slower ones, naming its class alone."""
    started = time.monotonic()
    async with Pipeline([Timed(id="judge")]).stream(answer("wait 03 .\n", "boom secret 1234 .\n")) as chunks:
        received = [one async for one in chunks]
    assert time.monotonic() - started < 2
    assert chunks.result.tripwire is not None
    payload = chunks.result.tripwire.payload
    assert (payload.processor_id, payload.metadata["error"]) == ("judge", "ValueError")
    assert text(received) == ""


async def test_a_failed_check_may_pass(caplog: pytest.LogCaptureFixture) -> None:
    """With `on_error: pass` the text passes without a finding, and a warning says so without the text."""
    result = await Pipeline([Timed(on_error="pass")]).run(answer("boom 1234 .\n", "bad 0 ."))
    assert result.text == "boom 1234 .\n[BAD] 0 ."
    assert "timed failed (ValueError)" in caplog.text
    assert "1234" not in caplog.text


async def test_a_slow_check_runs_past_its_limit() -> None:
    """A check that takes longer than `timeout` blocks with the cause `timeout`."""
    result = await Pipeline([Timed(timeout=0.05)]).run(answer("wait 0.9 ."))
    assert result.tripwire is not None
    assert result.tripwire.payload.metadata["cause"] == "timeout"


@pytest.mark.parametrize(
    "answers",
    [[], [[], []], [[Detection(0, 99, "X", "x")]], [[Detection(2, 2, "X", "x")]], [None], None],
    ids=["none", "too many", "beyond", "empty", "no list", "nothing"],
)
async def test_a_wrong_answer_blocks(answers: Any) -> None:
    """An answer that does not fit its segments is a failure of the detector."""

    class Wrong(TextProcessor):
        async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
            del segments
            return answers  # type: ignore[no-any-return]

    result = await Pipeline([Wrong()]).run(answer("one segment"))
    assert result.status == "blocked"


async def test_starting_a_check_needs_to_be_declared() -> None:
    """A processor that starts a check without declaring `waits` is told so, and blocks."""

    def step(run: Run, item: Item) -> Iterable[Item]:
        run.start(anyio.sleep, 0)
        return [item]

    result = await Pipeline([does(step)]).run(answer("a"))
    assert result.tripwire is not None
    assert result.tripwire.payload.metadata["error"] == "RuntimeError"


async def test_a_check_tells_when_it_is_done() -> None:
    """A step gets `WAKE` when its check is done, and the answer; before that there is none."""
    seen: list[Any] = []

    def make(run: Run) -> Step:
        checks: list[Check[int]] = []

        async def ask(number: int) -> int:
            await checkpoint()
            return number * 2

        def step(item: Item) -> Iterable[Item]:
            if item is WAKE:
                seen.extend(check.value for check in checks if check.done)
            elif item is not END and not checks:
                checks.append(run.start(ask, 21))
                with pytest.raises(RuntimeError, match="not done"):
                    _ = checks[0].value
            return [item]

        return step

    assert (await Pipeline([Does(make=make, slow=True)]).run(answer("a"))).status == "completed"
    assert seen == [42]


async def test_silence_wakes_those_who_asked() -> None:
    """A step that works by time gets `WAKE` while the source is silent; others do not."""
    woken: list[str] = []

    def note(name: str) -> Callable[[Run, Item], Iterable[Item]]:
        def step(_run: Run, item: Item) -> Iterable[Item]:
            if item is WAKE:
                woken.append(name)
                return [delta("tick")] if name == "clock" else []
            return [item]

        return step

    async def source() -> AsyncIterator[Chunk]:
        yield delta("a")
        await anyio.sleep(0.2)
        yield delta("b")

    clock = does(note("clock"), "clock", quiet=0.05)
    other = does(note("other"), "other", slow=True)
    async with Pipeline([clock, other]).stream(source()) as chunks:
        received = [text([one]) async for one in chunks]
    assert set(woken) == {"clock"}
    assert received[0] == "a"
    assert received[-1] == "b"
    assert "tick" in received[1:-1]


async def test_a_group_does_not_wait_for_siblings_of_a_failed_one() -> None:
    """When one of a group fails, the others are cancelled and ended before the stream is left."""
    marks: list[str] = []

    class Marks(TextProcessor):
        async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
            try:
                await anyio.sleep(3)
            finally:
                marks.append(f"{len(segments)} cancelled")
            return []

    started = time.monotonic()
    result = await Pipeline([Parallel(members=(Timed(id="boom"), Marks()))]).run(answer("boom"))
    assert time.monotonic() - started < 2
    assert result.tripwire is not None
    assert result.tripwire.payload.processor_id == "boom"
    assert marks == ["1 cancelled"]


async def test_checks_are_cancelled_by_a_refusal_even_if_nobody_leaves() -> None:
    """A refusal further on cancels the checks that it made pointless, at once."""
    cancelled = anyio.Event()

    async def ask() -> None:
        try:
            await anyio.sleep(60)
        finally:
            cancelled.set()

    def make(run: Run) -> Step:
        checks: list[Any] = []

        def step(item: Item) -> Iterable[Item]:
            checks.append(run.start(ask))
            return [item]

        return step

    def refuse(run: Run, item: Item) -> Iterable[Item]:
        if getattr(item, "type", "") == "text-delta":
            run.block("no")
        return [item]

    async with Pipeline([Does(id="slow", make=make, slow=True), does(refuse)]).stream(
        answer("a", "b")
    ) as chunks:
        async for _ in chunks:
            pass
        with anyio.fail_after(1):
            await cancelled.wait()


MAKERS: dict[str, Callable[[], Sequence[Processor]]] = {
    "direct": lambda: [four()],
    "waiting": lambda: [four(), SlowWords(find="bad", patience=3)],
    "blocked": lambda: [SlowWords(find="bad", strategy="block"), Idle()],
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("steps", range(0, 60, 3))
async def test_cancelling_at_any_time_leaves_nothing(maker: str, steps: int) -> None:
    """Cancelled after any number of turns of the loop, the source is closed once and no task is left."""
    source = Source(answer("a 1234. ", "good. ", "bad. ", "end 12"), pauses=True)

    async def consume() -> None:
        async with Pipeline(MAKERS[maker]()).stream(source.play()) as chunks:
            async for _ in chunks:
                await checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(consume)
        for _ in range(steps):
            await checkpoint()
        tasks.cancel_scope.cancel()
    gc.collect()
    assert source.closed == (source.asked > 0)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("maker", MAKERS)
async def test_asyncio_cancellation_passes_through(anyio_backend: str, maker: str) -> None:
    """A time limit of asyncio's own around a stream raises as usual; no task is left behind."""
    del anyio_backend
    before = asyncio.all_tasks()

    async def endless() -> AsyncIterator[Chunk]:
        while True:
            await asyncio.sleep(0.001)
            yield delta("good. ")

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(Pipeline(MAKERS[maker]()).run(endless()), 0.05)
    assert asyncio.all_tasks() == before


async def test_an_anyio_time_limit_passes_through() -> None:
    """So does a cancel scope around the stream; after one around a single step the stream goes on."""

    async def source() -> AsyncIterator[Chunk]:
        yield delta("a")
        await anyio.sleep(0.1)
        yield delta("b")

    for maker in MAKERS.values():
        async with Pipeline(maker()).stream(source()) as chunks:
            await anext(chunks) if maker is MAKERS["direct"] else None
            with anyio.move_on_after(0.02) as scope:
                await anyio.sleep(1)
            assert scope.cancelled_caught
        with anyio.move_on_after(0.01) as scope:
            await Pipeline(maker()).run(source())
        assert scope.cancelled_caught
    async with Pipeline(MAKERS["waiting"]()).stream(source()) as chunks:
        with anyio.move_on_after(0.02):
            await anext(chunks)
        received = [one async for one in chunks]
    assert text(received) == "ab"


async def test_an_endless_sync_source_can_be_cancelled() -> None:
    """A sync source never waits; the stream lets cancellation in all the same."""

    def source() -> Iterator[Chunk]:
        while True:
            yield delta("good. ")

    with anyio.move_on_after(0.05) as scope:
        await Pipeline([Idle()]).run(source())
    assert scope.cancelled_caught


@pytest.mark.parametrize("maker", MAKERS)
async def test_a_source_with_a_cancel_scope_is_read_and_closed_in_one_task(
    maker: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A source may hold a cancel scope open between its chunks, and wait in its closing."""
    ended = 0

    async def source() -> AsyncIterator[Chunk]:
        nonlocal ended
        with anyio.fail_after(60):
            try:
                for one in answer("good. ", "more. ", "day"):
                    yield one
            finally:
                await checkpoint()
                ended += 1

    assert (await Pipeline(MAKERS[maker]()).run(source())).text == "good. more. day"
    async with Pipeline(MAKERS[maker]()).stream(source()) as chunks:
        await anext(chunks)
    assert ended == 2
    assert caplog.text == ""


@pytest.mark.parametrize("maker", MAKERS)
async def test_a_source_may_wait_while_a_cancelled_consumer_closes_it(maker: str) -> None:
    """A consumer that is cancelled between two chunks still gives the source time to clean up."""
    ended = anyio.Event()

    async def source() -> AsyncIterator[Chunk]:
        try:
            for one in answer("good. ", "more. "):
                yield one
        finally:
            await anyio.sleep(0.01)
            ended.set()

    with anyio.move_on_after(0.05):
        async with Pipeline(MAKERS[maker]()).stream(source()) as chunks:
            await anext(chunks)
            await anyio.sleep(60)
    assert ended.is_set()


async def test_a_source_that_cannot_be_closed_does_not_hold_the_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An error in the source's own closing is logged; what it said stands."""

    async def source() -> AsyncIterator[Chunk]:
        try:
            for one in answer("a"):
                yield one
        finally:
            raise OSError("secret")

    async with Pipeline([]).stream(source()) as chunks:
        assert types([await anext(chunks)]) == ["start"]
    assert "closing the source failed (OSError)" in caplog.text
    assert "secret" not in caplog.text


async def test_what_has_an_aclose_or_close_is_closed() -> None:
    """Iterables that are no generators are closed by what they offer, once."""

    class Closable:
        def __init__(self) -> None:
            self.closed: list[str] = []

        def __iter__(self) -> Iterator[Chunk]:
            return iter([delta("a")])

        def close(self) -> None:
            self.closed.append("close")

    class AsyncClosable(Closable):
        def __aiter__(self) -> AsyncIterator[Chunk]:
            return Source([delta("a")]).play()

        async def aclose(self) -> None:
            self.closed.append("aclose")

    for source, expected in ((Closable(), ["close"]), (AsyncClosable(), ["aclose"])):
        assert (await Pipeline([]).run(source)).text == "a"
        assert source.closed == expected


@pytest.mark.parametrize("maker", MAKERS)
async def test_a_source_closes_in_peace_when_the_consumer_is_cancelled(maker: str) -> None:
    """A source that must wait for its connection to close can do so, whatever it was cancelled in."""

    class Connection:
        closed = 0

        def __aiter__(self) -> Self:
            return self

        async def __anext__(self) -> Chunk:
            await anyio.sleep(60)
            raise StopAsyncIteration

        async def aclose(self) -> None:
            await anyio.sleep(0.02)
            self.closed += 1

    source = Connection()
    with anyio.move_on_after(0.05):
        await Pipeline(MAKERS[maker]()).run(source)
    assert source.closed == 1


async def test_a_source_that_is_a_context_manager_is_entered_and_left() -> None:
    """What must be entered is, and is left in the end."""

    class Managed:
        entered = left = 0

        async def __aenter__(self) -> Self:
            self.entered += 1
            return self

        async def __aexit__(self, *_error: object) -> None:
            self.left += 1

        def __aiter__(self) -> AsyncIterator[Chunk]:
            return Source([chunk("start")]).play()

    for maker in MAKERS.values():
        source = Managed()
        await Pipeline(maker()).run(source)
        assert (source.entered, source.left) == (1, 1)


async def test_an_answer_that_is_there_when_the_source_ends_is_no_overflow() -> None:
    """Text that waits for an answered check is not refused because the source ends just then."""

    class Quick(TextProcessor):
        async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
            return [[] for _ in segments]

    holds = Patterns(id="holds", find="x{1,500}y")
    for size in (100, 400, 2_000):
        source = [delta("good. " * size), delta("x" * 300)]
        result = await Pipeline([holds, Quick(max_hold=64, max_waiting=256)]).run(source)
        assert result.text == text(source)


async def test_later_answers_leave_while_an_earlier_stage_ends() -> None:
    """At the end, text answered in a later stage does not wait for an earlier one."""
    received: list[float] = []
    started = time.monotonic()
    stages = [Timed(id="first", surfaces=("reasoning",)), Timed(id="second", surfaces=("text",))]
    source = [delta("quick 0.1 .\n"), chunk("reasoning-delta", id="r", text="slow 0.9 .\n")]
    async with Pipeline(stages).stream(source) as chunks:
        async for one in chunks:
            received += [time.monotonic() - started] if one.type == "text-delta" else []
    assert received[0] < 0.7


async def test_each_is_woken_after_its_own_silence() -> None:
    """A step that asked for a long silence is not woken by the short one of another."""
    woken: list[str] = []

    def note(name: str) -> Callable[[Run, Item], Iterable[Item]]:
        def step(_run: Run, item: Item) -> Iterable[Item]:
            woken.extend([name] if item is WAKE else [])
            return [item]

        return step

    async def source() -> AsyncIterator[Chunk]:
        yield delta("a")
        await anyio.sleep(0.3)

    await Pipeline([does(note("short"), "short", quiet=0.05), does(note("long"), "long", quiet=30)]).run(
        source()
    )
    assert set(woken) == {"short"}


async def test_a_detector_that_cancels_itself_fails() -> None:
    """A cancellation from within a detector is its failure, and no cancellation of the caller."""

    class Cancels(TextProcessor):
        async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
            del segments
            with anyio.CancelScope() as scope:
                scope.cancel()
                await checkpoint()
            raise asyncio.CancelledError

    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        return  # a stray cancellation of another library means nothing to trio
    result = await Pipeline([Cancels()]).run(answer("a"))
    assert result.tripwire is not None
    assert result.tripwire.payload.metadata["error"] == "RuntimeError"


async def test_a_source_that_cannot_be_opened_is_closed_all_the_same() -> None:
    """An error on the way into a source is raised where it is read, and the source is closed."""

    class Broken:
        closed = 0

        def __aiter__(self) -> AsyncIterator[Chunk]:
            raise OSError("no line")

        async def aclose(self) -> None:
            self.closed += 1

    for maker in MAKERS.values():
        source = Broken()
        with pytest.raises(OSError, match="no line"):
            await Pipeline(maker()).run(source)
        assert source.closed == 1


async def test_a_source_that_hangs_on_its_way_in_can_be_left() -> None:
    """A caller who is cancelled while the source is being entered does not wait for it."""

    class Hangs:
        async def __aenter__(self) -> Self:
            await anyio.sleep(60)
            return self

        async def __aexit__(self, *_error: object) -> None:
            return None

        def __aiter__(self) -> AsyncIterator[Chunk]:
            return Source([]).play()

    started = time.monotonic()
    for maker in MAKERS.values():
        with anyio.move_on_after(0.05):
            await Pipeline(maker()).run(Hangs())
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("outer", MAKERS)
@pytest.mark.parametrize("inner", MAKERS)
async def test_nested_streams_can_be_cancelled(outer: str, inner: str) -> None:
    """A guarded stream as the source of another is left in order when the consumer is cancelled."""

    async def source() -> AsyncIterator[Chunk]:
        while True:
            yield delta("word. ")
            await anyio.sleep(0.02)

    with anyio.move_on_after(0.1) as scope:
        nested = Pipeline(MAKERS[inner]()).stream(source())
        async with Pipeline(MAKERS[outer]()).stream(nested) as chunks:
            async for _ in chunks:
                pass
    assert scope.cancelled_caught
    await checkpoint()
    assert nested.result.status == "cancelled"


async def test_an_interrupted_stream_says_so() -> None:
    """Cancelled half-way through reading or an awaited step, a stream does not just go on."""

    async def source() -> AsyncIterator[Chunk]:
        yield delta("card 4111 11")
        await anyio.sleep(0.2)
        yield delta("11 1111 1111 end.")

    async def later(item: Item) -> Iterable[Item]:
        await anyio.sleep(0.2)
        return [item]

    for processors in ([four()], [does(lambda _run, item: later(item), slow=True)]):
        async with Pipeline(processors).stream(source()) as chunks:
            with pytest.raises(RuntimeError, match="interrupted"):
                while True:
                    with anyio.move_on_after(0.05):
                        await anext(chunks)
        assert chunks.result.status == "cancelled"


class Exits(TextProcessor):
    """Wants the program to end."""

    error: ClassVar[type[BaseException]] = SystemExit

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        """End it."""
        del segments
        raise self.error


class Quits(Exits):
    """The same by another way."""

    error: ClassVar[type[BaseException]] = KeyboardInterrupt


@pytest.mark.parametrize("processor", [Exits(), Quits()])
async def test_a_check_may_end_the_program(processor: Exits) -> None:
    """What is no error of a check reaches the consumer as it was raised, and nothing leaves."""
    source = Source(answer("a"))
    with pytest.raises(processor.error):
        await Pipeline([processor]).run(source.play())
    assert source.closed == 1


@pytest.mark.parametrize("processor", [Exits(), Quits()])
def test_a_check_may_end_a_program_that_blocks(processor: Exits) -> None:
    """The same where the caller waits in another thread than the checks run in."""
    with pytest.raises(processor.error):
        Pipeline([processor]).run_sync(answer("a"))


async def test_a_sync_source_that_takes_time_lets_others_run() -> None:
    """However few chunks it gives, others have their turn."""

    def source() -> Iterator[Chunk]:
        for _ in range(10):
            time.sleep(0.006)
            yield delta("good. ")

    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        await Pipeline([Patterns(find="never")]).run(source())
        tasks.cancel_scope.cancel()
    assert turns >= 9
