"""A JSON Schema of configurations: with it, an editor completes and checks a YAML file as it is written.

It is made from the models that validate, and from the types that are installed. It sees what stands in one
place: keys, types, ranges and choices. What depends on two settings, on a file or on the environment, and
whether a pattern can be held, only loading shows.
"""

from typing import Any, Final
from urllib.parse import quote

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import CoreSchema

from guardrails.document import INPUT, OUTPUT, Document
from guardrails.processor import Processor
from guardrails.registry import Registry, UnusableTypeError
from guardrails.text.processor import TextProcessor

DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""The dialect that YAML editors know best."""

_REF: Final = "#/definitions/"


class _Draft7(GenerateJsonSchema):
    schema_dialect = DIALECT

    def handle_invalid_for_json_schema(self, schema: CoreSchema, error_info: str) -> JsonSchemaValue:
        """What JSON cannot say may be anything; one such setting is no reason to have no schema."""
        del schema, error_info
        return {}

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """A default that JSON cannot say is left out."""


def json_schema() -> dict[str, Any]:
    """The schema of configurations with the types that are installed and can be used."""
    kinds = usable(Registry())
    definitions: dict[str, Any] = {}
    schema = _of_model(Document, "", definitions)
    for name, kind in kinds.items():
        definitions[_definition(name)] = _of_entry(name, kind, definitions)
    texts = [name for name, kind in kinds.items() if issubclass(kind, TextProcessor)]
    definitions["member"] = _one_of(texts, "A text processor of a group.")
    definitions["processor"] = {
        "if": {"type": "object", "required": ["parallel"]},
        "then": _group(),
        "else": _one_of(list(kinds), "A processor, or a group: `parallel: [...]`."),
    }
    for key in (INPUT, OUTPUT):
        listed = {"type": "array", "minItems": 1, "items": {"$ref": f"{_REF}processor"}}
        schema["properties"][key] = {"description": schema["properties"][key]["description"], **listed}
    schema["anyOf"] = [{"required": [OUTPUT]}, {"required": [INPUT]}]
    return {"$schema": DIALECT, **schema, "definitions": dict(sorted(definitions.items()))}


def entry_schema(name: str, kind: type[Processor]) -> dict[str, Any]:
    """The schema of one type's settings."""
    definitions: dict[str, Any] = {}
    return {**_of_entry(name, kind, definitions), "definitions": definitions}


def settings_of(kind: type[Processor]) -> list[str]:
    """The settings of a type: its own first, then those that all processors of its kind have."""
    own = [name for name in kind.model_fields if name in kind.__annotations__]
    names = dict.fromkeys(["id", *own, *kind.model_fields])
    return [kind.model_fields[name].alias or name for name in names]


def usable(registry: Registry) -> dict[str, type[Processor]]:
    """The types that can be used, with their classes."""
    kinds = {}
    for name in registry.names():
        try:
            kinds[name] = registry.find(name)
        except UnusableTypeError:
            continue
    return kinds


def _of_model(kind: type[BaseModel], prefix: str, definitions: dict[str, Any]) -> JsonSchemaValue:
    """The schema of a model; the models in it become definitions, under names that no other type has."""
    schema: JsonSchemaValue = kind.model_json_schema(
        ref_template=f"{_REF}{prefix}{{model}}", schema_generator=_Draft7
    )
    definitions.update({f"{prefix}{name}": _brief(below) for name, below in schema.pop("$defs", {}).items()})
    brief: JsonSchemaValue = _brief(schema)
    return brief


def _brief(schema: Any) -> Any:
    """The schema without titles, which repeat the keys, and with the first paragraph of descriptions."""
    if isinstance(schema, list):
        return [_brief(below) for below in schema]
    if not isinstance(schema, dict):
        return schema
    brief = {key: _brief(below) for key, below in schema.items() if key != "title" or isinstance(below, dict)}
    if isinstance(text := brief.get("description"), str):
        brief["description"] = " ".join(text.partition("\n\n")[0].split())
    return brief


def _of_entry(name: str, kind: type[Processor], definitions: dict[str, Any]) -> JsonSchemaValue:
    """The settings of a type, with the key that names it."""
    schema = _of_model(kind, f"{_definition(name)}.", definitions)
    type_ = {"const": name, "description": schema.get("description", "")}
    known = schema["properties"]
    settings = {setting: known[setting] for setting in settings_of(kind) if setting in known}
    schema["properties"] = {"type": type_, **settings, **known}
    schema["properties"]["id"] |= {"default": name}  # which the loader fills in
    schema["required"] = ["type", *schema.get("required", [])]
    return schema


def _definition(name: str) -> str:
    """The name of a type's definition, which no other has, in characters that a reference may have."""
    return f"type-{quote(name, safe='').replace('%', '_')}"


def _one_of(names: list[str], description: str) -> JsonSchemaValue:
    """An entry of one of the types, told by its key `type`, so that an error is about that type alone."""
    return {
        "type": "object",
        "description": description,
        "required": ["type"],
        "properties": {"type": {"enum": names}},
        "allOf": [
            {
                "if": {"required": ["type"], "properties": {"type": {"const": name}}},
                "then": {"$ref": f"{_REF}{_definition(name)}"},
            }
            for name in names
        ],
    }


def _group() -> JsonSchemaValue:
    return {
        "description": "Text processors that look at the same text, side by side.",
        "additionalProperties": False,
        "properties": {"parallel": {"type": "array", "minItems": 1, "items": {"$ref": f"{_REF}member"}}},
    }
