"""The models: their classes, their names and how they are made in Python."""

import inspect
from types import ModuleType
from typing import Any, Literal, assert_never, get_args

import pytest
from pydantic import BaseModel, ValidationError

import guardrails.chunks as public
from guardrails.chunks import (
    CHUNK_TYPES,
    BackgroundTaskSuspended,
    BaseChunk,
    Chunk,
    Data,
    File,
    FilePayload,
    Finish,
    FinishPayload,
    Output,
    ReasoningDelta,
    ReasoningDeltaPayload,
    StepResult,
    TextDelta,
    TextDeltaPayload,
    ToolOutput,
    ToolOutputPayload,
    Tripwire,
    TripwirePayload,
    UnknownChunk,
    Usage,
    background,
    content,
    control,
    dump_chunk,
    dump_json,
    parse_chunk,
    tools,
    union,
    verdicts,
    with_text,
)
from tests.chunks.samples import CONTROL_TYPES, LISTED, SAMPLES, sample

MODULES = (background, content, control, tools, union, verdicts)


def test_the_protocol_lists_38_types() -> None:
    """The samples must cover the 38 types of the reference page."""
    assert len(LISTED) == 38


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_type_has_its_class(name: str) -> None:
    """A minimal chunk must be read as the class that is named after its type."""
    chunk = parse_chunk(sample(name))
    assert type(chunk) is CHUNK_TYPES[name]
    assert type(chunk).__name__ == "".join(word.capitalize() for word in name.split("-"))
    assert chunk.type == name
    assert dump_chunk(chunk) == sample(name)


def test_the_table_is_derived_from_the_union() -> None:
    """Every class of the union must be in the table, but for the two that stand for many types."""
    assert set(CHUNK_TYPES) == set(SAMPLES)
    assert set(CHUNK_TYPES.values()) == set(get_args(Chunk)) - {Data, UnknownChunk}


def test_every_model_is_in_the_union_and_public() -> None:
    """A class that was written but not added to the union or to the public names must be noticed."""
    assert {kind for kind in BaseChunk.__subclasses__() if kind.__module__.startswith("guardrails.")} == set(
        get_args(Chunk)
    )
    models = {name for module in MODULES for name in models_of(module)}
    assert models <= set(public.__all__)
    assert all(hasattr(public, name) for name in public.__all__)


def models_of(module: ModuleType) -> set[str]:
    """The names of the models that a module defines."""
    return {
        name
        for name, item in vars(module).items()
        if inspect.isclass(item) and issubclass(item, BaseModel) and item.__module__ == module.__name__
    }


@pytest.mark.parametrize("name", ["workflow-start", "routing-agent-end", "text", "TEXT-DELTA", "", "data"])
def test_other_types_are_unknown(name: str) -> None:
    """A type without a class must be an unknown chunk that keeps its payload and other keys."""
    chunk = parse_chunk({"type": name, "from": "NETWORK", "payload": {"a": 1}, "id": "x"})
    assert isinstance(chunk, UnknownChunk)
    assert chunk.payload == {"a": 1}
    assert chunk.model_extra == {"id": "x"}


def test_data_chunks_have_one_class() -> None:
    """A type that begins with `data-` must be data, without payload and envelope."""
    chunk = parse_chunk({"type": "data-progress", "data": {"n": 1}, "transient": True})
    assert isinstance(chunk, Data)
    assert (chunk.data, chunk.id, chunk.transient) == ({"n": 1}, None, True)
    assert dump_chunk(Data(type="data-x", data=1)) == {"type": "data-x", "data": 1}
    with pytest.raises(ValidationError, match="wrong type of data"):
        Data(type="text-delta", data=1)


def test_the_envelope_has_python_names() -> None:
    """`runId` and `from` must be read as `run_id` and `from_`."""
    chunk = parse_chunk(sample("text-delta"))
    assert (chunk.run_id, chunk.from_, chunk.metadata) == ("run-1", "AGENT", None)


def test_python_names_in_json_are_unknown_keys() -> None:
    """A JSON key that happens to be a Python field name must be a key like any other."""
    value = {**sample("text-delta"), "run_id": 5, "from_": None}
    chunk = parse_chunk(value)
    assert chunk.run_id == "run-1"
    assert chunk.model_extra == {"run_id": 5, "from_": None}
    missing = {"type": "tool-call", "payload": {"tool_call_id": "c", "toolName": "n"}}
    with pytest.raises(ValueError, match=r"payload\.toolCallId: is required"):
        parse_chunk(missing)


def test_chunks_are_made_with_python_names() -> None:
    """A chunk made in Python must dump what was given, with its type, and nothing else."""
    chunk = TextDelta(run_id="r", from_="AGENT", payload=TextDeltaPayload(id="t1", text="hi"))
    value = {"type": "text-delta", "runId": "r", "from": "AGENT", "payload": {"id": "t1", "text": "hi"}}
    assert dump_chunk(chunk) == value
    assert chunk == parse_chunk(value)


def test_a_wrong_argument_is_not_shown() -> None:
    """The error of a constructor must not hold the value either."""
    with pytest.raises(ValidationError) as caught:
        TextDeltaPayload.model_validate({"id": "t1", "text": [4242]})
    assert "4242" not in str(caught.value)


def test_chunks_are_frozen() -> None:
    """A chunk cannot be changed."""
    chunk = parse_chunk(sample("text-delta"))
    with pytest.raises(ValidationError, match="frozen"):
        chunk.run_id = "other"  # type: ignore[misc]  # that it is refused is what is tested


def test_finish_reads_well() -> None:
    """Usage and reason must be readable by their names, in a chunk that we make and in one that we read."""
    payload = FinishPayload(
        step_result=StepResult(reason="stop"), output=Output(usage=Usage(input_tokens=10))
    )
    chunk = parse_chunk(dump_json(Finish(payload=payload)))
    assert isinstance(chunk, Finish)
    assert chunk.payload.output is not None
    assert chunk.payload.output.usage is not None
    assert chunk.payload.output.usage.input_tokens == 10
    assert chunk.payload.step_result is not None
    assert chunk.payload.step_result.reason == "stop"
    assert dump_chunk(chunk) == {
        "type": "finish",
        "payload": {"stepResult": {"reason": "stop"}, "output": {"usage": {"inputTokens": 10}}},
    }


@pytest.mark.parametrize("name", CONTROL_TYPES)
def test_control_chunks_may_lack_everything(name: str) -> None:
    """A control chunk must be accepted without payload, and stay without."""
    assert dump_chunk(parse_chunk({"type": name})) == {"type": name}


@pytest.mark.parametrize("payload", ["text", 5, None, [1], {"a": 1}, True])
def test_raw_payloads_may_be_anything(payload: Any) -> None:
    """The provider's own data may be any value."""
    assert dump_chunk(parse_chunk({"type": "raw", "payload": payload})) == {"type": "raw", "payload": payload}


@pytest.mark.parametrize(
    ("key", "name"), [("suspendData", "suspend_data"), ("suspendPayload", "suspend_payload")]
)
def test_suspended_tasks_speak_two_dialects(key: str, name: str) -> None:
    """Both names of what a suspended task says must be read."""
    value = sample("background-task-suspended")
    value["payload"][key] = {"need": "approval"}
    chunk = parse_chunk(value)
    assert isinstance(chunk, BackgroundTaskSuspended)
    assert getattr(chunk.payload, name) == {"need": "approval"}


@pytest.mark.parametrize("data", ["AAAA", {"0": 137, "1": 80}])
def test_files_have_data_in_any_form(data: str | dict[str, Any]) -> None:
    """A file's data may be a string or the object that a byte array becomes."""
    value = {"type": "file", "payload": {"data": data, "mimeType": "image/png"}}
    assert dump_chunk(parse_chunk(value)) == value


def test_bytes_are_dumped_as_base64() -> None:
    """A file made of bytes must be dumped as a base64 string."""
    chunk = File(payload=FilePayload(data=b"\xfb\xff", mime_type="image/png"))
    assert dump_chunk(chunk)["payload"]["data"] == "+/8="
    assert dump_chunk(parse_chunk({"type": "file", "payload": {"data": b"\xfb\xff", "mimeType": "x"}})) == {
        "type": "file",
        "payload": {"data": "+/8=", "mimeType": "x"},
    }


def test_a_chunk_may_hold_a_chunk() -> None:
    """A chunk within a chunk, and a tuple, must be dumped as JSON has them."""
    inner = Tripwire(payload=TripwirePayload(reason="no", metadata=("a", "b")))
    outer = ToolOutput(payload=ToolOutputPayload(output=inner))
    assert dump_chunk(outer)["payload"]["output"] == {
        "type": "tripwire",
        "payload": {"reason": "no", "metadata": ["a", "b"]},
    }


def test_the_union_is_closed() -> None:
    """A type checker must narrow a chunk by its class, down to nothing."""

    def kind(chunk: TextDelta | ReasoningDelta) -> Literal["text", "reasoning"]:
        match chunk:
            case TextDelta():
                return "text"
            case ReasoningDelta():
                return "reasoning"
            case never:
                assert_never(never)

    assert kind(TextDelta(payload=TextDeltaPayload(id="1", text=""))) == "text"


def delta(name: str) -> TextDelta | ReasoningDelta:
    """A delta with unknown keys at both levels."""
    value = {**sample(name), "x": [1]}
    value["payload"].update(providerMetadata={"p": {}}, y=None)
    chunk = parse_chunk(value)
    assert isinstance(chunk, TextDelta | ReasoningDelta)
    return chunk


@pytest.mark.parametrize("name", ["text-delta", "reasoning-delta"])
def test_with_text_is_a_copy(name: str) -> None:
    """A delta with another text must equal the one that pydantic's own copying makes."""
    chunk = delta(name)
    copy: TextDelta | ReasoningDelta = with_text(chunk, "new\ud83d")
    assert type(copy) is type(chunk)
    slow = chunk.model_copy(update={"payload": chunk.payload.model_copy(update={"text": "new\ud83d"})})
    assert copy == slow
    assert copy.model_fields_set == slow.model_fields_set
    assert copy.payload.model_fields_set == slow.payload.model_fields_set
    assert dump_chunk(copy) == dump_chunk(slow)


def test_with_text_leaves_the_original_alone() -> None:
    """The copy must share no dict or set of a model with its original, and be as frozen."""
    chunk = delta("text-delta")
    before = dump_chunk(chunk)
    copy = with_text(chunk, "new")
    assert dump_chunk(chunk) == before
    for old, new in ((chunk, copy), (chunk.payload, copy.payload)):
        assert old.__dict__ is not new.__dict__
        assert old.__pydantic_extra__ is not new.__pydantic_extra__
    with pytest.raises(ValidationError, match="frozen"):
        copy.payload.text = "other"  # type: ignore[misc]  # that it is refused is what is tested


def test_with_text_takes_a_delta_without_extras() -> None:
    """A delta made in Python must be copied like one that was read."""
    chunk = ReasoningDelta(payload=ReasoningDeltaPayload(id="r", text="a"))
    assert with_text(chunk, "b") == ReasoningDelta(payload=ReasoningDeltaPayload(id="r", text="b"))
