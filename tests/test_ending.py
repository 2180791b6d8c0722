"""How a blocked stream ends (contract rule 5)."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from guardrails import END, Chunk, Item, Pipeline, Processor, Run, dump_chunk
from guardrails.testing import Patterns
from tests.helpers import Source, answer, chunk, collect, delta, does, types


async def guarded(source: Any, *processors: Processor) -> list[Chunk]:
    """What comes of a stream in which a word is refused, unless other processors are given."""
    guard = Patterns(find="bad", strategy="block", id="guard")
    return await collect(Pipeline(processors or [guard]), source)


def ending(received: Sequence[Chunk]) -> list[dict[str, Any]]:
    """The tripwire and what follows it."""
    return [dump_chunk(one) for one in received[types(received).index("tripwire") :]]


async def test_a_blocked_answer_ends_whole() -> None:
    """Open blocks are closed, the tripwire says why, step and stream finish; every chunk is complete."""
    received = await guarded(answer("good bad", "never"))
    assert types(received) == [
        "start",
        "step-start",
        "text-start",
        "text-delta",
        "text-end",
        "tripwire",
        "step-finish",
        "finish",
    ]
    outcome = {
        "stepResult": {"reason": "tripwire", "warnings": [], "isContinued": False},
        "output": {},
        "metadata": {},
        "messages": {"all": [], "user": [], "nonUser": []},
    }
    envelope = {"runId": "run", "from": "AGENT"}
    metadata = {"code": "test.found", "label": "FOUND", "surface": "text", "channel": "t", "score": 1.0}
    assert ending(received) == [
        {
            "type": "tripwire",
            **envelope,
            "payload": {
                "reason": "guard found FOUND in the text.",
                "retry": False,
                "metadata": metadata,
                "processorId": "guard",
            },
        },
        {"type": "step-finish", **envelope, "payload": {**outcome, "messageId": "m"}},
        {"type": "finish", **envelope, "payload": {**outcome, "response": {}}},
    ]


async def test_every_kind_of_open_block_is_closed_in_order() -> None:
    """Text, reasoning and tool input that are open are closed; those that are closed are not."""
    source = [
        chunk("text-start", id="done"),
        chunk("text-end", id="done"),
        chunk("reasoning-start", id="r"),
        chunk("tool-call-input-streaming-start", toolCallId="c", toolName="look"),
        chunk("tool-call-input-streaming-start", toolCallId="called", toolName="look"),
        chunk("tool-call", toolCallId="called", toolName="look", args={}),
        chunk("text-start", id="t"),
        delta("bad "),
    ]
    received = await guarded(source)
    closing = [(one.type, dump_chunk(one)["payload"]) for one in received[len(source) - 1 : -2]]
    assert closing == [
        ("reasoning-end", {"id": "r"}),
        ("tool-call-input-streaming-end", {"toolCallId": "c"}),
        ("text-end", {"id": "t"}),
    ]


async def test_without_a_step_only_the_stream_finishes() -> None:
    """Where no step was opened, none is closed."""
    assert types(await guarded([delta("bad")])) == ["tripwire", "finish"]


async def test_a_stream_that_has_finished_is_not_finished_again() -> None:
    """A refusal after the `finish` chunk adds the tripwire alone; one in a further step finishes that too."""
    over = [chunk("finish", stepResult={"reason": "stop"})]
    assert types(await guarded([*over, delta("bad")])) == ["finish", "tripwire"]
    further = [*over, chunk("step-start"), delta("bad")]
    assert types(await guarded(further)) == ["finish", "step-start", "tripwire", "step-finish", "finish"]


async def test_made_chunks_have_a_run_when_the_source_names_none() -> None:
    """Without a run id in the source, that of the stream is used; the origin is the agent."""
    source = [{"type": "text-delta", "payload": {"id": "t", "text": "bad"}}]
    async with Pipeline([Patterns(find="bad", strategy="block")]).stream(source, run_id="mine") as chunks:
        received = [one async for one in chunks]
    assert {(one.run_id, one.from_) for one in received} == {("mine", "AGENT")}
    received = await guarded(source)
    assert all(one.run_id for one in received)


async def test_usage_is_what_is_known() -> None:
    """The usage of past steps is in `finish`; that of the open step is absent until the source told it."""
    step = chunk("step-finish", stepResult={"reason": "tool-calls"}, output={"usage": {"inputTokens": 5}})
    source = [chunk("step-start"), step, chunk("step-start"), delta("bad")]
    made = ending(await guarded(source))
    assert made[1]["payload"]["output"] == {}
    assert made[2]["payload"]["output"] == {"usage": {"inputTokens": 5}}


async def test_usage_told_behind_held_text_counts() -> None:
    """A step that is refused at its very end has told its usage already."""

    def late(run: Run, item: Item) -> Iterable[Item]:
        if item is END:
            run.block("late")
        return [item] if getattr(item, "type", "") == "step-start" else []

    made = ending(await guarded(answer("a"), does(late)))
    usage = {"inputTokens": 3, "outputTokens": 4}
    assert [one["payload"]["output"] for one in made[1:]] == [{"usage": usage}, {"usage": usage}]


async def test_the_source_is_closed_before_the_ending_is_read() -> None:
    """A refusal closes the source at once, and nothing more is asked of it."""
    source = Source(answer("bad bad", "never", "asked"))
    async with Pipeline([Patterns(find="bad ", strategy="block")]).stream(source.play()) as chunks:
        async for one in chunks:
            if one.type == "text-end":
                break
        assert source.closed == 1
        asked = source.asked
        async for _ in chunks:
            pass
    assert source.asked == asked == 4
    assert chunks.result.status == "blocked"


@pytest.mark.parametrize("retry", [True, False])
async def test_retry_is_said_in_the_tripwire(retry: bool) -> None:
    """Whether the processor asks for another attempt is in the chunk, for whoever can make one."""
    received = await guarded(answer("bad"), Patterns(find="bad", strategy="block", retry=retry))
    assert ending(received)[0]["payload"]["retry"] is retry


async def test_nothing_is_added_without_a_refusal() -> None:
    """A stream that just stops is not given an end it did not have."""
    source = [chunk("start"), chunk("text-start", id="t"), delta("a")]
    assert await guarded(source) == source
