"""`guardrails list`, `show` and `schema`: what a configuration can name, and what it can say of that."""

import inspect
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import click

from guardrails.cli.arguments import json_option, type_argument
from guardrails.cli.commands import Command
from guardrails.cli.terminal import (
    WRONG,
    bad,
    beside,
    fail,
    faint,
    one_line,
    strong,
    table,
    wrapped,
    write_json,
    write_lines,
)
from guardrails.processor import Processor
from guardrails.registry import GROUP, Registry, UnusableTypeError, presets
from guardrails.schema import entry_schema, json_schema, settings_of

_BOUNDS: Final = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
_WORDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true | false",
    "object": "a mapping",
}
_LARGE: Final = 20
"""Codes of one family above which a list counts them."""


@click.command("list", cls=Command, short_help="List types of processors, and presets.")
@json_option
def list_types(as_json: bool) -> None:
    """List the types of processors with their settings and codes, and the presets.

    Of a large family of codes the list gives the number; `guardrails show TYPE` has each, and so has --json.

    \b
    Examples:
      guardrails list
      guardrails list --json
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    registry = Registry()
    if as_json:
        types = [_as_dict(name, registry) for name in registry.names()]
        write_json({"group": GROUP, "types": types, "presets": _presets()})
    else:
        write_lines(_listed(registry))


@click.command(cls=Command, short_help="Show a type's settings and codes.")
@type_argument
@json_option
def show(type_: str, as_json: bool) -> None:
    """Show the settings of a TYPE of processor, and the codes of what it finds.

    \b
    Example:
      guardrails show regex
    """  # noqa: D301
    registry = Registry()
    try:
        kind = registry.find(type_)
    except UnusableTypeError as error:
        if not as_json:
            at = presets().get(type_)
            fail(f"{type_!r} is a preset and no type of processor; read it in {at}" if at else str(error))
        write_json(_as_dict(type_, registry))
        sys.exit(WRONG)
    if as_json:
        write_json({**_as_dict(type_, registry), "schema": entry_schema(type_, kind)})
    else:
        write_lines(_shown(type_, kind, registry.owner(type_)))


@click.command(cls=Command, short_help="Print the JSON Schema of configurations.")
def schema() -> None:
    """Print the JSON Schema of configurations, with the types that are installed here.

    An editor that knows it completes and checks a YAML file while it is written. For the YAML language
    server, which most editors use, the file names it in a comment:

    \b
      # yaml-language-server: $schema=guardrails.schema.json

    \b
    Example:
      guardrails schema > guardrails.schema.json
    """  # noqa: D301
    write_json(json_schema())


def _presets() -> dict[str, str]:
    return {name: str(file) for name, file in presets().items()}


def _as_dict(name: str, registry: Registry) -> dict[str, Any]:
    about: dict[str, Any]
    try:
        kind = registry.find(name)
    except UnusableTypeError as error:
        about = {"error": str(error)}
    else:
        about = {"description": _summary(kind), "settings": settings_of(kind), "codes": dict(kind.codes())}
    return {"type": name, "distribution": registry.owner(name), **about}


def _listed(registry: Registry) -> Iterator[str]:
    yield strong("Types of processors") + faint(f", from the entry point group {GROUP}")
    for name in registry.names():
        yield ""
        yield f"{strong(one_line(name))}  {faint(registry.owner(name))}"
        try:
            kind = registry.find(name)
        except UnusableTypeError as error:
            yield f"  {bad('cannot be used:')}"
            yield from wrapped(str(error), "  ")
            continue
        yield from wrapped(_summary(kind), "  ")
        yield from beside(faint("settings  "), ", ".join(settings_of(kind)), "  ")
        if codes := kind.codes():
            yield from beside(faint("codes     "), ", ".join(_in_short(codes)), "  ")
    yield ""
    yield strong("Presets")
    yield from table(_presets().items(), (str, faint))


def _in_short(codes: Iterable[str]) -> Iterator[str]:
    """The codes; of a large family (`secrets.…`) how many there are."""
    families = Counter(code.partition(".")[0] for code in codes)
    counted = set()
    for code in codes:
        family = code.partition(".")[0]
        if families[family] <= _LARGE:
            yield code
        elif family not in counted:
            counted.add(family)
            yield f"{family}.* ({families[family]})"


def _shown(name: str, kind: type[Processor], owner: str) -> Iterator[str]:
    yield f"{strong(name)}  {faint(owner)}"
    yield ""
    yield from _explained(kind)
    yield ""
    yield strong("Settings")
    schema = entry_schema(name, kind)
    del schema["properties"]["type"]
    yield from _settings(schema, schema["definitions"], "  ")
    if codes := kind.codes():
        yield ""
        yield strong("Codes")
        yield from table(codes.items(), (str, faint))


def _explained(kind: type[Processor]) -> Iterator[str]:
    """What a type says of itself, without what its code raises."""
    paragraphs = (inspect.getdoc(kind) or "").partition("\n\nRaises:")[0].split("\n\n")
    for place, paragraph in enumerate(paragraphs):
        if place:
            yield ""
        lines = paragraph.splitlines()
        as_it_is = any(line.startswith((" ", "-", "*")) for line in lines)
        yield from lines if as_it_is else wrapped(paragraph)


def _settings(schema: dict[str, Any], definitions: dict[str, Any], indent: str) -> Iterator[str]:
    """The settings of a model, those of the models in it below them."""
    for name, setting in schema["properties"].items():
        value = _value(setting, required=name in schema.get("required", ()))
        yield from beside(strong(name) + "  ", value, indent, faint)
        if description := setting.get("description"):
            yield from wrapped(description, indent + "    ")
        for model in dict.fromkeys(_models(setting)):
            yield from _settings(definitions[model], definitions, indent + "    ")


def _value(setting: dict[str, Any], *, required: bool) -> str:
    """What a setting may be, and what it is if it is left out."""
    if required:
        return f"{_form(setting)}; required"
    default = setting.get("default")
    if default is None:
        return f"{_form(setting).removesuffix(' or null')}; optional"
    return f"{_form(setting)}; {json.dumps(default, ensure_ascii=False)} if left out"


def _form(schema: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if choices := [schema["const"]] if "const" in schema else schema.get("enum"):
        return " | ".join(map(str, choices))
    if "$ref" in schema:
        return "a mapping"
    if "anyOf" in schema:
        return " or ".join(_form(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"a list of {_plural(_form(schema.get('items', {})))}"
    if schema.get("format") == "path":
        return "a path"
    bounds = [f"{sign} {schema[key]}" for key, sign in _BOUNDS if key in schema]
    return " ".join([_WORDS.get(schema.get("type", ""), schema.get("type", "anything")), *bounds])


def _plural(form: str) -> str:
    article, _, noun = form.partition(" ")
    return f"{noun}s" if article == "a" and noun.isalpha() else form


def _models(schema: Any) -> Iterator[str]:
    """The models that a value is made of, by the names of their definitions."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for below in schema.values():
            yield from _models(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from _models(below)


def _summary(kind: type[Processor]) -> str:
    """The first paragraph of what a type says of itself."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
