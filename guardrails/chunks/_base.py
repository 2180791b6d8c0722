"""What all chunk models share: the base classes and the types of their leaves.

Leaves are checked by their Python class alone. Pydantic's own `str` refuses a lone surrogate, and a text may
be cut inside a surrogate pair, so a delta can hold half of one.
"""

import math
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetPydanticSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


def _to_camel(name: str) -> str:
    """The JSON name of a field: `run_id` is `runId`, and `from_`, a keyword in Python, is `from`."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in others)


def _instance_of(kind: type | tuple[type, ...], words: str) -> GetPydanticSchema:
    """A leaf that must be an instance of `kind`; `words` say so in an error."""
    return GetPydanticSchema(lambda _source, _handler: core_schema.is_instance_schema(kind, cls_repr=words))


def one_of(*choices: str) -> GetPydanticSchema:
    """Mark a `Literal` so that an error lists its choices, whatever the wrong value was."""

    def schema(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        words = f"one of {', '.join(choices)}"
        return core_schema.custom_error_schema(
            handler(source), "choice", custom_error_message=words, custom_error_context={"class": words}
        )

    return GetPydanticSchema(schema)


def _check_number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("number", "a number is required", {"class": "a number"})
    if isinstance(value, float) and not math.isfinite(value):
        raise PydanticCustomError("number", "a finite number is required", {"class": "a finite number"})
    return value


Text = Annotated[str, _instance_of(str, "a string")]
"""Any string, lone surrogates included."""

Flag = Annotated[bool, _instance_of(bool, "true or false")]
"""True or false, and nothing that merely looks like it."""

Number = Annotated[
    int | float,
    GetPydanticSchema(lambda _source, _handler: core_schema.no_info_plain_validator_function(_check_number)),
]
"""A finite number, an int or a float as it was; a bool is none."""

JsonObject = Annotated[dict[str, Any], _instance_of(dict, "an object")]
"""A JSON object whose keys the protocol does not settle."""

JsonArray = Annotated[list[Any], _instance_of(list, "an array")]
"""A JSON array whose items the protocol does not settle."""

Bytes = Annotated[
    str | bytes | dict[str, Any], _instance_of((str, bytes, dict), "a string, bytes or an object of bytes")
]
"""The content of a file: base64 or text, bytes (dumped as base64), or the object `{"0": …}` of an array."""

Origin = Annotated[
    Literal["AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"],
    one_of("AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"),
]
"""Who sent a chunk."""


class Part(BaseModel):
    """An object of the protocol: frozen, read strictly, and keeping every key that it does not know.

    A field that was not given is absent in the dump; one that was given as null is null there.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        strict=True,
        alias_generator=_to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        hide_input_in_errors=True,
        defer_build=True,  # a hundred models: built at first use, importing them takes half the time
    )


class BaseChunk(Part):
    """What every chunk has.

    Attributes:
        type: The name of the chunk's type.
        run_id: The run that the chunk belongs to; some producers leave it out.
        from_: Who sent it (`from` in JSON); some producers leave it out.
        metadata: Free notes on the envelope.
    """

    type: Text
    run_id: Text | None = None
    from_: Origin | None = None
    metadata: JsonObject | None = None


@cache
def json_names(kind: type[Part]) -> dict[str, str]:
    """The JSON name of each field of a model, by its Python name."""
    return {name: field.alias or name for name, field in kind.model_fields.items()}


@cache
def nested_fields(kind: type[Part]) -> tuple[str, ...]:
    """The Python names of the fields of a model that hold models, or lists of them."""
    return tuple(name for name, field in kind.model_fields.items() if _mentions_part(field.annotation))


def _mentions_part(annotation: Any) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, Part):
        return True
    return any(_mentions_part(each) for each in get_args(annotation))
