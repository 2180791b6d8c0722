"""The frame of a stream: where it and its steps begin and end, errors, the provider's own data.

Producers differ in what they say here, so any key may be absent; a key that is there has its type.
"""

from typing import Any, Literal

from pydantic import Field

from guardrails.chunks._base import BaseChunk, Flag, JsonArray, JsonObject, Number, Part, Text


class StartPayload(Part):
    """What the producer says of the stream."""

    id: Text | None = None
    message_id: Text | None = None


class Start(BaseChunk):
    """The stream opens."""

    type: Literal["start"] = "start"
    payload: StartPayload = Field(default_factory=StartPayload)


class StepStartPayload(Part):
    """What the model was asked.

    Attributes:
        message_id: The message that the step writes.
        started_at: Milliseconds since 1970.
        request: What was sent to the provider; it repeats the prompt.
        input_messages: The prompt.
        warnings: The provider's warnings on the request.
    """

    message_id: Text | None = None
    started_at: Number | None = None
    request: JsonObject | None = None
    input_messages: JsonArray | None = None
    warnings: JsonArray | None = None


class StepStart(BaseChunk):
    """A call of the model opens."""

    type: Literal["step-start"] = "step-start"
    payload: StepStartPayload = Field(default_factory=StepStartPayload)


class StepResult(Part):
    """How a step ended.

    Attributes:
        reason: `stop`, `length`, `content-filter`, `tool-calls`, `error`, `other`, `unknown`, `tripwire` or
            `retry`; another producer may say something else.
        raw_reason: The provider's own word for it.
        warnings: The provider's warnings.
        is_continued: Whether another step follows.
    """

    reason: Text | None = None
    raw_reason: Text | None = None
    warnings: JsonArray | None = None
    is_continued: Flag | None = None


class Usage(Part):
    """Tokens used; what is not known is absent or null, never zero."""

    input_tokens: Number | None = None
    output_tokens: Number | None = None
    total_tokens: Number | None = None
    reasoning_tokens: Number | None = None
    cached_input_tokens: Number | None = None


class Output(Part):
    """What a step or a stream produced: its usage, and copies of what was said.

    Attributes:
        usage: Tokens used.
        text: All text, once more.
        tool_calls: All tool calls, once more.
        steps: The steps so far, each with its content.
    """

    usage: Usage | None = None
    text: Text | None = None
    tool_calls: JsonArray | None = None
    steps: JsonArray | None = None


class Messages(Part):
    """The conversation so far; copies of what was said, the user's words included."""

    all: JsonArray | None = None
    user: JsonArray | None = None
    non_user: JsonArray | None = None


class FinishPayload(Part):
    """How the stream ended and what it produced."""

    message_id: Text | None = None
    step_result: StepResult | None = None
    output: Output | None = None
    metadata: JsonObject | None = None
    messages: Messages | None = None
    total_usage: Usage | None = None
    response: JsonObject | None = None
    provider_metadata: JsonObject | None = None


class StepFinishPayload(FinishPayload):
    """How a step ended and what it produced."""

    id: Text | None = None


class StepFinish(BaseChunk):
    """A call of the model closes."""

    type: Literal["step-finish"] = "step-finish"
    payload: StepFinishPayload = Field(default_factory=StepFinishPayload)


class Finish(BaseChunk):
    """The stream is complete."""

    type: Literal["finish"] = "finish"
    payload: FinishPayload = Field(default_factory=FinishPayload)


class AbortPayload(Part):
    """What the producer says of the abort."""


class Abort(BaseChunk):
    """The stream was aborted."""

    type: Literal["abort"] = "abort"
    payload: AbortPayload = Field(default_factory=AbortPayload)


class WatchPayload(Part):
    """A workflow's state at a time, in milliseconds since 1970."""

    workflow_state: JsonObject | None = None
    event_timestamp: Number | None = None


class Watch(BaseChunk):
    """A note for those who observe a workflow."""

    type: Literal["watch"] = "watch"
    payload: WatchPayload = Field(default_factory=WatchPayload)


class ResponseMetadataPayload(Part):
    """What the provider says of its answer."""

    signature: Text | None = None


class ResponseMetadata(BaseChunk):
    """The metadata of the provider's answer."""

    type: Literal["response-metadata"] = "response-metadata"
    payload: ResponseMetadataPayload = Field(default_factory=ResponseMetadataPayload)


class Raw(BaseChunk):
    """The provider's own data; any value."""

    type: Literal["raw"] = "raw"
    payload: Any = None


class ErrorPayload(Part):
    """What went wrong, as the producer says it."""

    error: Any


class Error(BaseChunk):
    """An error in the stream."""

    type: Literal["error"] = "error"
    payload: ErrorPayload
