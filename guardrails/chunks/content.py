"""What a model says: text, reasoning, sources, files, objects and application data."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import GetPydanticSchema
from pydantic_core import PydanticCustomError, core_schema

from guardrails.chunks._base import BaseChunk, Bytes, Flag, JsonObject, Part, Text, one_of

DATA_PREFIX = "data-"


class TextStartPayload(Part):
    """The text that opens: its id is that of the deltas to come."""

    id: Text
    provider_metadata: JsonObject | None = None


class TextStart(BaseChunk):
    """A text opens."""

    type: Literal["text-start"] = "text-start"
    payload: TextStartPayload


class TextDeltaPayload(Part):
    """A piece of the text `id`."""

    id: Text
    text: Text
    provider_metadata: JsonObject | None = None


class TextDelta(BaseChunk):
    """A piece of a text."""

    type: Literal["text-delta"] = "text-delta"
    payload: TextDeltaPayload


class TextEndPayload(Part):
    """The text that closes."""

    id: Text
    provider_metadata: JsonObject | None = None


class TextEnd(BaseChunk):
    """A text closes."""

    type: Literal["text-end"] = "text-end"
    payload: TextEndPayload


class ReasoningStartPayload(Part):
    """The reasoning that opens."""

    id: Text
    signature: Text | None = None
    provider_metadata: JsonObject | None = None


class ReasoningStart(BaseChunk):
    """A reasoning opens."""

    type: Literal["reasoning-start"] = "reasoning-start"
    payload: ReasoningStartPayload


class ReasoningDeltaPayload(Part):
    """A piece of the reasoning `id`."""

    id: Text
    text: Text
    provider_metadata: JsonObject | None = None


class ReasoningDelta(BaseChunk):
    """A piece of a reasoning."""

    type: Literal["reasoning-delta"] = "reasoning-delta"
    payload: ReasoningDeltaPayload


class ReasoningEndPayload(Part):
    """The reasoning that closes."""

    id: Text
    signature: Text | None = None
    provider_metadata: JsonObject | None = None


class ReasoningEnd(BaseChunk):
    """A reasoning closes."""

    type: Literal["reasoning-end"] = "reasoning-end"
    payload: ReasoningEndPayload


class ReasoningSignaturePayload(Part):
    """The provider's signature of the reasoning `id`."""

    id: Text
    signature: Text
    provider_metadata: JsonObject | None = None


class ReasoningSignature(BaseChunk):
    """The signature of a reasoning; it has no content."""

    type: Literal["reasoning-signature"] = "reasoning-signature"
    payload: ReasoningSignaturePayload


class RedactedReasoningPayload(Part):
    """A reasoning that the provider hands out in a form which only it can read."""

    id: Text
    data: Any
    provider_metadata: JsonObject | None = None


class RedactedReasoning(BaseChunk):
    """A reasoning that the provider keeps to itself."""

    type: Literal["redacted-reasoning"] = "redacted-reasoning"
    payload: RedactedReasoningPayload


class SourcePayload(Part):
    """A web page (`url`) or a document that content comes from."""

    id: Text
    source_type: Annotated[Literal["url", "document"], one_of("url", "document")]
    title: Text
    mime_type: Text | None = None
    filename: Text | None = None
    url: Text | None = None
    provider_metadata: JsonObject | None = None


class Source(BaseChunk):
    """Where content comes from."""

    type: Literal["source"] = "source"
    payload: SourcePayload


class FilePayload(Part):
    """A file's content and what it is."""

    data: Bytes
    base64: Text | None = None
    mime_type: Text
    filename: Text | None = None
    provider_metadata: JsonObject | None = None


class File(BaseChunk):
    """A file that the model made."""

    type: Literal["file"] = "file"
    payload: FilePayload


class ReasoningFilePayload(Part):
    """A file that is part of a reasoning."""

    data: Bytes
    base64: Text | None = None
    mime_type: Text
    provider_metadata: JsonObject | None = None


class ReasoningFile(BaseChunk):
    """A file within a reasoning."""

    type: Literal["reasoning-file"] = "reasoning-file"
    payload: ReasoningFilePayload


class CustomPayload(Part):
    """A provider's own kind of content."""

    kind: Text
    provider_metadata: JsonObject | None = None


class Custom(BaseChunk):
    """Content of a kind that only its provider knows."""

    type: Literal["custom"] = "custom"
    payload: CustomPayload


class Object(BaseChunk):
    """A snapshot of a structured output, which grows from one snapshot to the next; it has no payload."""

    type: Literal["object"] = "object"
    object: Any


class ObjectResult(BaseChunk):
    """The structured output when it is whole; it has no payload."""

    type: Literal["object-result"] = "object-result"
    object: Any


def _check_data_type(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith(DATA_PREFIX):
        words = f"a string that begins with {DATA_PREFIX}"
        raise PydanticCustomError("data_type", "wrong type of data", {"class": words})
    return value


DataType = Annotated[
    str,
    GetPydanticSchema(lambda _type, _handler: core_schema.no_info_plain_validator_function(_check_data_type)),
]
"""A type name `data-<name>`."""


class Data(BaseChunk):
    """A piece of an application's own data, of type `data-<name>`; it has no payload.

    Attributes:
        data: The data itself.
        id: By which a later piece can replace this one.
        transient: Whether it is only to be shown, and not to be kept.
    """

    type: DataType
    data: Any
    id: Text | None = None
    transient: Flag | None = None


_Delta = TypeVar("_Delta", bound=TextDelta | ReasoningDelta)
_Copied = TypeVar("_Copied", bound=Part)


def _copy_with(part: _Copied, name: str, value: object) -> _Copied:
    """A shallow copy with another value for a field that is set, at half of what `model_copy` costs."""
    kind = type(part)
    copy = kind.__new__(kind)
    extra = part.__pydantic_extra__
    put = object.__setattr__  # the model's own refuses, since it is frozen
    put(copy, "__dict__", {**part.__dict__, name: value})
    put(copy, "__pydantic_fields_set__", part.__pydantic_fields_set__)  # a frozen model never changes it
    put(copy, "__pydantic_extra__", extra and extra.copy())
    put(copy, "__pydantic_private__", None)
    return copy


def with_text(delta: _Delta, text: str) -> _Delta:
    """The same delta with another text.

    Args:
        delta: The delta to copy; it stays as it is.
        text: The text of the copy; it is not checked.

    Returns:
        A copy that is equal but for its text, unknown keys included.
    """
    return _copy_with(delta, "payload", _copy_with(delta.payload, "text", text))
