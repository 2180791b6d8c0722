"""Guarding what goes to a model: the texts of its messages as a stream, and back into the messages."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from operator import is_
from typing import Any, Final, Literal, TypeAlias, TypeGuard

from guardrails.chunks import Chunk, TextDelta, TextDeltaPayload, TextEnd, TextEndPayload, Tripwire
from guardrails.processor import Finding, Processor
from guardrails.stream import GuardedStream
from guardrails.surfaces import Surface
from guardrails.text.processor import TextProcessor

Message: TypeAlias = Mapping[str, Any]
"""A message as chat APIs and agent frameworks take it: a role, and content or parts."""

_SURFACE: Final[Surface] = "text"
"""Where all texts of messages stand: they are shown to processors as text deltas."""

UNGUARDED_ROLES: Final = ("system", "developer")
"""Roles whose messages are the application's own words."""

# The rest of this table is about one question: which strings of a message say something. A message is made of
# parts, whose keys are known. Under a key that nobody knows, and in what a tool gave (its `name` or `url` may
# say anything), each string is content: what an API adds is guarded then, and never passed unseen.

_PARTS: Final = frozenset(
    {"parts", "details", "summary", "source", "document", "resource", "citations", "annotations", "results"}
    | {"outputs", "toolInvocation", "toolInvocations", "tool_calls", "function_call", "function", "custom"}
    | {"functionCall", "functionResponse", "reasoning_details", "thinking_blocks", "attachments"}
    | {"experimental_attachments"}
)
"""Keys of messages and parts under which there are parts again.

`content` is another one, but may be the JSON of a tool as well: a part in it says its `type`, or has `parts`.
"""

_NAMES: Final = frozenset(
    {"role", "type", "id", "name", "toolName", "tool_name", "state", "status", "format", "detail", "created"}
    | {"mimeType", "mediaType", "media_type", "contentType", "signature", "thoughtSignature"}
    | {"thought_signature", "encrypted_content", "encrypted_index"}
)
_NAME_ENDINGS: Final = ("_id", "Id", "_at", "At")
"""Keys of parts whose string names something and does not say it, or is a seal that a change would break."""

_SETTINGS: Final = frozenset(
    {"providerOptions", "providerMetadata", "callProviderMetadata", "experimental_providerMetadata"}
    | {"provider_options", "cache_control"}
)
"""Keys of parts under which the application tells an API what to do."""

_CALLS: Final = frozenset({"args", "input", "rawInput", "arguments"})
"""Keys of parts for what the model says to a tool, which is a surface of its own."""

_FILES: Final = frozenset(
    {"image", "image_url", "url", "file", "file_data", "file_url", "input_audio", "bytes"}
    | {"inlineData", "inline_data", "fileData"}
)
"""Keys of parts for a file or its address, which is a surface of its own."""

_PASSING: Final = _SETTINGS | _CALLS | _FILES

_FILE_BYTES: Final = ("data", "blob")
_MEDIA_TYPES: Final = ("mimeType", "mediaType", "media_type", "contentType")
_BASE64: Final = re.compile(r"(?:data:[\w/;=.+-]{0,200};base64,)?[A-Za-z0-9+/=_-]*")
"""The bytes of a file: `data` beside its media type, unless that is text, or the words are not base64."""

_SEALED: Final = {
    "base64": "data",
    "image_generation_call": "result",
    "redacted_thinking": "data",
    "redacted": "data",
    "reasoning.encrypted": "data",
}
"""Types of parts with a key for their bytes, which in other parts is one for content."""

_PART_TYPES: Final = frozenset(
    {"text", "json", "error-text", "error-json", "content", "media", "image", "audio", "resource"}
    | {"input_text", "input_image", "input_file", "image-data", "image-url", "file-data", "file-url"}
)
"""Types of the parts in what a tool gave; such a word says nothing, and a change would break the part."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_]{1,40}")
"""Keys that a path tells; those of data may be anything, so the others are told by their place."""

_Kind: TypeAlias = Literal["part", "content", "data"]
"""What a mapping is: a message or a part of one, a part if it looks like one, or data."""

_Visit: TypeAlias = Callable[[str, str], str]
"""Given the path of a text and the text, gives what takes its place; the text itself if nothing does."""


@dataclass(frozen=True, slots=True)
class GuardedInput:
    """What came of the messages for a model.

    Attributes:
        messages: the messages with their texts as the processors left them; a message in which nothing was
            changed is the one that was given. Empty when they were blocked.
        findings: what was found, in the order of the messages; the channel of each is the path of its text
            (`messages[2].content[0].text`). A key that is more than letters and `_` may be data itself and is
            told by its place: the second key of `content` is `content[1]`.
        tripwire: why they were blocked; None when they were not.
    """

    messages: tuple[Message, ...]
    findings: tuple[Finding, ...]
    tripwire: Tripwire | None


def sees_nothing(processor: Processor) -> str | None:
    """Why a processor would guard nothing in messages; None if it looks where their texts are."""
    if isinstance(processor, TextProcessor) and _SURFACE not in processor.surfaces:
        return f"messages have only the surface `{_SURFACE}`, so it would guard nothing; name that too"
    return None


async def guard_messages(
    messages: Sequence[Message], run_id: str, stream: Callable[[Iterable[Chunk]], GuardedStream]
) -> GuardedInput:
    """Guard the texts of messages, see `Pipeline.guard_input`.

    Args:
        messages: what is to go to the model.
        run_id: the run of the chunks that are made.
        stream: guards chunks.

    Raises:
        TypeError: they are no list of mappings, or there is something in one that cannot be looked into.
    """
    texts = _texts(messages)
    guarded: dict[str, list[str]] = {path: [] for found in texts for path in found}
    async with stream(_chunks(texts, run_id)) as chunks:
        async for chunk in chunks:
            if type(chunk) is TextDelta and chunk.payload.id in guarded:
                guarded[chunk.payload.id].append(chunk.payload.text)
    findings, tripwire = chunks.result.findings, chunks.result.tripwire
    if tripwire is not None:
        return GuardedInput((), findings, tripwire)
    answers = {path: "".join(pieces) for path, pieces in guarded.items()}
    return GuardedInput(tuple(_rewritten(messages, answers)), findings, None)


def _texts(messages: object) -> list[dict[str, str]]:
    """The texts of each message by their paths."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise TypeError(f"messages must be a list of mappings, not {type(messages).__name__}")
    return [_texts_of(message, f"messages[{at}]") for at, message in enumerate(messages)]


def _texts_of(message: object, path: str) -> dict[str, str]:
    found: dict[str, str] = {}

    def note(at: str, text: str) -> str:
        found[at] = text
        return text

    if not isinstance(message, Mapping):
        raise TypeError(f"{path} must be a mapping, not {type(message).__name__}")
    if message.get("role") not in UNGUARDED_ROLES:
        try:
            _mapping(message, path, note, "part")
        except RecursionError:
            raise TypeError(f"{path} is too deep to be looked into, or contains itself") from None
    return found


def _chunks(texts: Iterable[Mapping[str, str]], run_id: str) -> Iterator[Chunk]:
    """Each text complete and closed before the next one, so that few are ever open."""
    envelope: dict[str, Any] = {"run_id": run_id, "from_": "AGENT"}
    for found in texts:
        for path, text in found.items():
            yield TextDelta(payload=TextDeltaPayload(id=path, text=text), **envelope)
            yield TextEnd(payload=TextEndPayload(id=path), **envelope)


def _rewritten(messages: Sequence[Message], answers: Mapping[str, str]) -> Iterator[Message]:
    """The messages with the answers for their texts."""

    def put(path: str, text: str) -> str:
        # Not `get`: a text that came into the messages meanwhile was not guarded.
        answer = answers[path]
        return text if answer == text else answer

    for at, message in enumerate(messages):
        unguarded = message.get("role") in UNGUARDED_ROLES
        yield message if unguarded else _mapping(message, f"messages[{at}]", put, "part")


def _value(value: object, path: str, visit: _Visit, kind: _Kind) -> Any:
    """A value with its texts visited; itself if each of them stays."""
    if isinstance(value, str):
        return visit(path, value) if value else value
    if isinstance(value, Mapping):
        return _mapping(value, path, visit, kind)
    if isinstance(value, list | tuple):
        return _list(value, path, visit, kind)
    if isinstance(value, Iterable) or is_dataclass(value):
        # Bytes, sets, the objects of an SDK: there may be texts in them, which would pass unseen.
        raise TypeError(f"{path} must be text, a mapping or a list, not {type(value).__name__}")
    return value


def _list(values: Sequence[object], path: str, visit: _Visit, kind: _Kind) -> Any:
    out = [_value(value, f"{path}[{at}]", visit, kind) for at, value in enumerate(values)]
    return values if all(map(is_, out, values)) else out


def _mapping(given: Mapping[Any, Any], path: str, visit: _Visit, kind: _Kind) -> Mapping[Any, Any]:
    """A message or a part of one, or data in it, with its texts visited; itself if each of them stays."""
    is_part = kind == "part" or (kind == "content" and ("type" in given or "parts" in given))
    changed = {}
    for at, (key, value) in enumerate(given.items()):
        if _passes(key, value, given, is_part=is_part):
            continue
        new = _value(value, _place(path, key, at), visit, _kind(key) if is_part else "data")
        if new is not value:
            changed[key] = new
    return {**given, **changed} if changed else given


def _kind(key: object) -> _Kind:
    """What stands under a key of a part."""
    if key == "content":
        return "content"
    return "part" if key in _PARTS else "data"


def _place(path: str, key: object, at: int) -> str:
    plain = isinstance(key, str) and _PLAIN_KEY.fullmatch(key)
    return f"{path}.{key}" if plain else f"{path}[{at}]"


def _passes(key: object, value: object, beside: Mapping[Any, Any], *, is_part: bool) -> bool:
    """Whether what stands under a key is no content that is guarded here."""
    if not isinstance(key, str):
        return False
    if key == "type" and isinstance(value, str) and value in _PART_TYPES:
        return True
    if _is_file(key, value, beside):
        return True
    return is_part and (key in _PASSING or _is_name(key, value) or _is_sealed(key, value, beside))


def _is_file(key: str, value: object, beside: Mapping[Any, Any]) -> bool:
    """Whether these are the bytes of a file, wherever they stand."""
    if key in _FILES:
        return isinstance(value, bytes) or (_is_base64(value) and ":" in value)
    if key not in _FILE_BYTES:
        return False
    media = [kind for kind in map(beside.get, _MEDIA_TYPES) if isinstance(kind, str)]
    if isinstance(value, bytes):
        return bool(media)
    return bool(media) and not any(kind.lower().startswith("text/") for kind in media) and _is_base64(value)


def _is_name(key: str, value: object) -> bool:
    """Whether a string names something; a mapping or a list under such a key is looked into."""
    return isinstance(value, str) and (key in _NAMES or key.endswith(_NAME_ENDINGS))


def _is_sealed(key: str, value: object, beside: Mapping[Any, Any]) -> bool:
    kind = beside.get("type")
    return isinstance(kind, str) and _SEALED.get(kind) == key and _is_base64(value)


def _is_base64(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _BASE64.fullmatch(value) is not None
