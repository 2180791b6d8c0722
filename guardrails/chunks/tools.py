"""Tool calls: their arguments as they stream, the calls, what came of them."""

from typing import Any, Literal

from guardrails.chunks._base import BaseChunk, Flag, JsonObject, Part, Text


class ToolCallPayload(Part):
    """A call with its whole arguments."""

    tool_call_id: Text
    tool_name: Text
    args: JsonObject | None = None
    provider_executed: Flag | None = None
    output: Any = None
    dynamic: Flag | None = None
    title: Text | None = None
    provider_metadata: JsonObject | None = None


class ToolCall(BaseChunk):
    """A tool is called."""

    type: Literal["tool-call"] = "tool-call"
    payload: ToolCallPayload


class ToolResultPayload(Part):
    """What the call `tool_call_id` returned."""

    tool_call_id: Text
    tool_name: Text
    result: Any
    is_error: Flag | None = None
    provider_executed: Flag | None = None
    args: Any = None
    dynamic: Flag | None = None
    provider_metadata: JsonObject | None = None


class ToolResult(BaseChunk):
    """A tool returned."""

    type: Literal["tool-result"] = "tool-result"
    payload: ToolResultPayload


class ToolCallInputStreamingStartPayload(Part):
    """The call whose arguments begin to stream."""

    tool_call_id: Text
    tool_name: Text
    provider_executed: Flag | None = None
    dynamic: Flag | None = None
    title: Text | None = None
    provider_metadata: JsonObject | None = None


class ToolCallInputStreamingStart(BaseChunk):
    """The arguments of a call begin to stream."""

    type: Literal["tool-call-input-streaming-start"] = "tool-call-input-streaming-start"
    payload: ToolCallInputStreamingStartPayload


class ToolCallDeltaPayload(Part):
    """A piece of the arguments' JSON text."""

    args_text_delta: Text
    tool_call_id: Text
    tool_name: Text | None = None
    provider_metadata: JsonObject | None = None


class ToolCallDelta(BaseChunk):
    """A piece of the arguments of a call."""

    type: Literal["tool-call-delta"] = "tool-call-delta"
    payload: ToolCallDeltaPayload


class ToolCallInputStreamingEndPayload(Part):
    """The call whose arguments are complete."""

    tool_call_id: Text
    provider_metadata: JsonObject | None = None


class ToolCallInputStreamingEnd(BaseChunk):
    """The arguments of a call are complete."""

    type: Literal["tool-call-input-streaming-end"] = "tool-call-input-streaming-end"
    payload: ToolCallInputStreamingEndPayload


class ToolErrorPayload(Part):
    """How the call `tool_call_id` failed."""

    id: Text | None = None
    tool_call_id: Text
    tool_name: Text
    args: Any = None
    error: Any
    provider_executed: Flag | None = None
    provider_metadata: JsonObject | None = None


class ToolError(BaseChunk):
    """A tool failed."""

    type: Literal["tool-error"] = "tool-error"
    payload: ToolErrorPayload


class ToolOutputPayload(Part):
    """What a tool streams: a nested chunk of a sub-agent, or any value."""

    output: Any
    tool_call_id: Text | None = None
    tool_name: Text | None = None


class ToolOutput(BaseChunk):
    """A tool streams while it runs."""

    type: Literal["tool-output"] = "tool-output"
    payload: ToolOutputPayload


class StepOutputPayload(Part):
    """What a workflow step streams: a nested chunk, or any value."""

    output: Any


class StepOutput(BaseChunk):
    """A workflow step streams while it runs."""

    type: Literal["step-output"] = "step-output"
    payload: StepOutputPayload


class ToolCallApprovalPayload(Part):
    """The call that waits, and the JSON schema (as text) of the answer."""

    tool_call_id: Text
    tool_name: Text
    args: JsonObject
    resume_schema: Text


class ToolCallApproval(BaseChunk):
    """A call waits for somebody's approval."""

    type: Literal["tool-call-approval"] = "tool-call-approval"
    payload: ToolCallApprovalPayload


class ToolCallSuspendedPayload(Part):
    """The call that was suspended, why, and the JSON schema (as text) of what resumes it."""

    tool_call_id: Text
    tool_name: Text
    suspend_payload: Any
    args: JsonObject
    resume_schema: Text


class ToolCallSuspended(BaseChunk):
    """A call was suspended by its tool."""

    type: Literal["tool-call-suspended"] = "tool-call-suspended"
    payload: ToolCallSuspendedPayload


class Denial(Part):
    """Who was asked for approval and why it was not given."""

    id: Text
    approved: Flag
    reason: Text | None = None


class ToolOutputDeniedPayload(Part):
    """The call that was not approved."""

    tool_call_id: Text
    tool_name: Text
    args: JsonObject | None = None
    approval: Denial


class ToolOutputDenied(BaseChunk):
    """A call was not approved, so there is no result."""

    type: Literal["tool-output-denied"] = "tool-output-denied"
    payload: ToolOutputDeniedPayload
