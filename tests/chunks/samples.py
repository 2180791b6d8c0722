"""A minimal valid chunk for each type, as JSON objects, and the recorded streams."""

import json
from pathlib import Path
from typing import Any

STREAMS = sorted((Path(__file__).parents[1] / "data" / "mastra").glob("*.jsonl"))

_CALL = {"toolCallId": "call-1", "toolName": "search"}
_TASK = {"taskId": "task-1", **_CALL}
_RUN = {**_TASK, "runId": "run-1", "agentId": "agent-1"}
_CHECK = {"iteration": 1, "passed": True, "results": [], "duration": 12.5, "timedOut": False}

LISTED_PAYLOADS: dict[str, Any] = {
    "text-start": {"id": "t1"},
    "text-delta": {"id": "t1", "text": "hello"},
    "text-end": {"id": "t1"},
    "reasoning-start": {"id": "r1"},
    "reasoning-delta": {"id": "r1", "text": "so"},
    "reasoning-end": {"id": "r1"},
    "reasoning-signature": {"id": "r1", "signature": "s"},
    "tool-call": _CALL,
    "tool-result": {**_CALL, "result": None},
    "tool-call-input-streaming-start": _CALL,
    "tool-call-delta": {"toolCallId": "call-1", "argsTextDelta": '{"q'},
    "tool-call-input-streaming-end": {"toolCallId": "call-1"},
    "tool-error": {**_CALL, "error": {"message": "no"}},
    "source": {"id": "s1", "sourceType": "url", "title": "A page"},
    "file": {"data": "AAAA", "mimeType": "image/png"},
    "start": {},
    "step-start": {},
    "step-finish": {},
    "raw": "anything",
    "finish": {},
    "error": {"error": "broken"},
    "abort": {},
    "tool-output": {"output": 1},
    "step-output": {"output": 1},
    "background-task-started": _TASK,
    "background-task-running": {**_RUN, "startedAt": "2026-01-02T03:04:05Z", "args": {}},
    "background-task-progress": {"taskIds": ["task-1"], "runningCount": 1, "elapsedMs": 5},
    "background-task-output": {**_RUN, "payload": {}},
    "background-task-completed": {**_RUN, "result": None, "completedAt": "2026-01-02T03:04:05Z"},
    "background-task-failed": {**_RUN, "error": {"message": "no"}, "completedAt": "2026-01-02T03:04:05Z"},
    "background-task-suspended": _RUN,
    "background-task-resumed": {**_RUN, "startedAt": "2026-01-02T03:04:05Z", "args": {}},
    "background-task-cancelled": {**_RUN, "completedAt": "2026-01-02T03:04:05Z"},
    "response-metadata": {},
    "watch": {},
    "goal": {
        **_CHECK,
        "objective": "write",
        "maxRuns": 3,
        "status": "active",
        "maxRunsReached": False,
        "suppressFeedback": False,
    },
    "tripwire": {"reason": "blocked"},
}

OTHER_PAYLOADS: dict[str, Any] = {
    "redacted-reasoning": {"id": "r1", "data": {"x": 1}},
    "reasoning-file": {"data": "AAAA", "mimeType": "image/png"},
    "custom": {"kind": "x.y"},
    "tool-call-approval": {**_CALL, "args": {}, "resumeSchema": "{}"},
    "tool-call-suspended": {**_CALL, "args": {}, "resumeSchema": "{}", "suspendPayload": None},
    "tool-output-denied": {**_CALL, "approval": {"id": "a1", "approved": False}},
    "is-task-complete": {**_CHECK, "maxIterationReached": False, "suppressFeedback": False},
}

CONTROL_TYPES = (
    "start",
    "step-start",
    "step-finish",
    "finish",
    "abort",
    "watch",
    "response-metadata",
    "raw",
)


def _envelope(name: str, **rest: Any) -> dict[str, Any]:
    return {"type": name, "runId": "run-1", "from": "AGENT", **rest}


LISTED: dict[str, dict[str, Any]] = {
    **{name: _envelope(name, payload=payload) for name, payload in LISTED_PAYLOADS.items()},
    "object": _envelope("object", object={"a": 1}),
}
"""The types of the protocol's reference page."""

SAMPLES: dict[str, dict[str, Any]] = {
    **LISTED,
    **{name: _envelope(name, payload=payload) for name, payload in OTHER_PAYLOADS.items()},
    "object-result": _envelope("object-result", object={"a": 1}),
}
"""Every type that has a class with a name of its own."""


def sample(name: str) -> dict[str, Any]:
    """A fresh copy of a type's minimal chunk."""
    copy: dict[str, Any] = json.loads(json.dumps(SAMPLES[name]))
    return copy
