"""Guarding what goes to a model: the texts of its messages as a stream, and back into the messages."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from guardrails.chunks import Chunk, TextDelta, TextDeltaPayload, TextEnd, TextEndPayload, Tripwire
from guardrails.processor import Finding
from guardrails.stream import GuardedStream

Message: TypeAlias = Mapping[str, Any]
"""A message as chat APIs and agent frameworks take it: a role, and content or parts."""

UNGUARDED_ROLES: Final = ("system", "developer")
"""Roles whose messages are the application's own words."""

_CONTENTS: Final = ("content", "parts")
_OUTPUTS: Final = ("output", "result")
_TEXT_OUTPUTS: Final = ("text", "error-text", "content")
"""Types of a tool's output whose `value` is text, or a list of parts."""

_Visit: TypeAlias = Callable[[str, str], str]
"""Given the path of a text and the text, gives what takes its place."""


@dataclass(frozen=True, slots=True)
class GuardedInput:
    """What came of the messages for a model.

    Attributes:
        messages: the messages with their texts as the processors left them; a message in which nothing was
            changed is the one that was given. Empty when they were blocked.
        findings: what was found, in the order of the messages; the channel of each is the path of its text
            (`messages[2].content[0].text`).
        tripwire: why they were blocked; None when they were not.
    """

    messages: tuple[Message, ...]
    findings: tuple[Finding, ...]
    tripwire: Tripwire | None


async def guard_messages(
    messages: Sequence[Message], run_id: str, stream: Callable[[Iterable[Chunk]], GuardedStream]
) -> GuardedInput:
    """Guard the texts of messages, see `Pipeline.guard_input`.

    Args:
        messages: what is to go to the model.
        run_id: the run of the chunks that are made.
        stream: guards chunks.

    Raises:
        TypeError: they have another shape.
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
    given = zip(messages, texts, strict=True)
    rewritten = tuple(_rewritten(message, at, found, answers) for at, (message, found) in enumerate(given))
    return GuardedInput(rewritten, findings, None)


def _texts(messages: object) -> list[dict[str, str]]:
    """The texts of each message by their paths."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise TypeError(f"messages must be a list of mappings, not {type(messages).__name__}")
    return [_texts_of(message, f"messages[{at}]") for at, message in enumerate(messages)]


def _texts_of(message: object, path: str) -> dict[str, str]:
    found: dict[str, str] = {}

    def note(at: str, text: str) -> str:
        if text:
            found[at] = text
        return text

    if not isinstance(message, Mapping):
        raise TypeError(f"{path} must be a mapping, not {type(message).__name__}")
    if message.get("role") not in UNGUARDED_ROLES:
        _part(message, path, note)
    return found


def _chunks(texts: Iterable[Mapping[str, str]], run_id: str) -> Iterator[Chunk]:
    """Each text complete and closed before the next one, so that few are ever open."""
    envelope: dict[str, Any] = {"run_id": run_id, "from_": "AGENT"}
    for found in texts:
        for path, text in found.items():
            yield TextDelta(payload=TextDeltaPayload(id=path, text=text), **envelope)
            yield TextEnd(payload=TextEndPayload(id=path), **envelope)


def _rewritten(message: Message, at: int, texts: Mapping[str, str], answers: Mapping[str, str]) -> Message:
    """The message with the answers for its texts; itself if they are the same."""
    if all(answers[path] == text for path, text in texts.items()):
        return message
    return _part(deepcopy(dict(message)), f"messages[{at}]", answers.get)


def _part(part: Mapping[str, Any], path: str, visit: _Visit) -> dict[str, Any]:
    """A message, or a part of one, with its texts visited; every other key is kept."""
    out = dict(part)
    text = part.get("text")
    if text is not None:
        if not isinstance(text, str):
            raise TypeError(f"{path}.text must be text, not {type(text).__name__}")
        out["text"] = visit(f"{path}.text", text)
    for key in _CONTENTS:
        if part.get(key) is not None:
            out[key] = _content(part[key], f"{path}.{key}", visit)
    for key in _OUTPUTS:
        if part.get(key) is not None:
            out[key] = _output(part[key], f"{path}.{key}", visit)
    return out


def _content(content: object, path: str, visit: _Visit) -> Any:
    if isinstance(content, str):
        return visit(path, content)
    if isinstance(content, Mapping):
        return _part(content, path, visit)
    if isinstance(content, list | tuple):
        return [_content(part, f"{path}[{at}]", visit) for at, part in enumerate(content)]
    raise TypeError(f"{path} must be text, a part or a list of parts, not {type(content).__name__}")


def _output(output: object, path: str, visit: _Visit) -> Any:
    """What a tool gave: text, or parts that say so; JSON of its own passes."""
    if isinstance(output, str):
        return visit(path, output)
    if isinstance(output, Mapping) and output.get("type") in _TEXT_OUTPUTS and "value" in output:
        return {**output, "value": _content(output["value"], f"{path}.value", visit)}
    return output
