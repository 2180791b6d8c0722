"""What the tests look with: `unbalanced` tells each way in which a stream is not closed as it should be."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from guardrails import Chunk, parse_chunk
from guardrails.testing.endings import unbalanced
from tests.helpers import chunk, delta

STOP: Final[dict[str, Any]] = {"stepResult": {"reason": "tripwire"}}
CALL: Final = {"toolCallId": "c", "toolName": "look"}

OPENING: Final = [chunk("start"), chunk("step-start")]
TEXT: Final = [chunk("text-start", id="t"), delta("a"), chunk("text-end", id="t")]
THOUGHT: Final = [
    chunk("reasoning-start", id="t"),
    chunk("reasoning-delta", id="t", text="a"),
    chunk("reasoning-end", id="t"),
]
INPUT: Final = [
    chunk("tool-call-input-streaming-start", **CALL),
    chunk("tool-call-delta", **CALL, argsTextDelta="{}"),
    chunk("tool-call-input-streaming-end", toolCallId="c"),
]
TRIPWIRE: Final = chunk("tripwire", reason="no", retry=False)
STEP, FINISH = chunk("step-finish", **STOP), chunk("finish", **STOP)
ENDING: Final = [TRIPWIRE, STEP, FINISH]

WHOLE: Final[dict[str, Sequence[Chunk]]] = {
    "refused": [*OPENING, *TEXT, *THOUGHT, *INPUT, *ENDING],
    "side by side": [*OPENING, TEXT[0], THOUGHT[0], delta("a"), *THOUGHT[1:], TEXT[2], *ENDING],
    "refused after a step": [*OPENING, STEP, TRIPWIRE, FINISH],
    "refused after the finish": [*OPENING, STEP, FINISH, TRIPWIRE],
    "refused in a step after the finish": [*OPENING, STEP, FINISH, OPENING[1], *ENDING],
    "refused at once": [TRIPWIRE, FINISH],
    "not refused": [*OPENING, *TEXT, STEP, FINISH],
    "just stopped": [*OPENING, *TEXT, STEP],
    "nothing": [],
}


@pytest.mark.parametrize("chunks", WHOLE.values(), ids=WHOLE)
def test_a_whole_stream(chunks: Sequence[Chunk]) -> None:
    """Nothing is wrong with a stream in which everything is closed."""
    assert unbalanced(chunks) == []


BROKEN: Final[dict[str, tuple[Sequence[Chunk], str]]] = {
    **{
        f"{block[0].type} left open": ([*block[:2], *ending], "left open")
        for block in (TEXT, THOUGHT, INPUT)
        for ending in ([], [TRIPWIRE, FINISH])
    },
    **{f"{block[1].type} outside": ([block[1]], "not open") for block in (TEXT, THOUGHT, INPUT)},
    **{f"{block[2].type} alone": ([block[2]], "not open") for block in (TEXT, THOUGHT, INPUT)},
    "a text of another id": ([TEXT[0], delta("a", "u"), TEXT[2]], "text u was not open"),
    "opened twice": ([TEXT[0], *TEXT], "text t was open"),
    "closed after the tripwire": ([*TEXT[:2], TRIPWIRE, TEXT[2], FINISH], "after the tripwire"),
    "a step left open": (OPENING, "step was left open"),
    "a step closed twice": ([*OPENING, STEP, STEP], "step was not open"),
    "a step left open by a refusal": ([*OPENING, TRIPWIRE, FINISH], "after the tripwire"),
    "no finish": ([*OPENING, TRIPWIRE, STEP], "after the tripwire"),
    "finished twice": ([*OPENING, STEP, FINISH, TRIPWIRE, FINISH], "after the tripwire"),
    "another tripwire": ([TRIPWIRE, TRIPWIRE, FINISH], "after the tripwire"),
    "something after the finish": ([TRIPWIRE, FINISH, delta("a")], "after the tripwire"),
    "another reason": ([TRIPWIRE, chunk("finish", stepResult={"reason": "stop"})], "another reason"),
    "no reason": ([TRIPWIRE, chunk("finish")], "another reason"),
    "no run": ([TRIPWIRE, parse_chunk({"type": "finish", "payload": STOP})], "names no run"),
}


@pytest.mark.parametrize(("chunks", "told"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_closed(chunks: Sequence[Chunk], told: str) -> None:
    """What is wrong with a stream that is broken in one way is said."""
    assert told in "; ".join(unbalanced(chunks))
