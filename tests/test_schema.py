"""The JSON Schema of configurations: sound, complete, and of the types that are installed."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft7Validator

from guardrails._yaml import read_yaml
from guardrails.config import load_pipeline
from guardrails.processor import Processor
from guardrails.registry import Registry, UnusableTypeError
from guardrails.schema import DIALECT, entry_schema, json_schema, settings_of, usable
from processors.regex import Regex
from tests.helpers import distribute

ROOT: Final = Path(__file__).parents[1]
FILES: Final = [*sorted((ROOT / "configs").glob("*.yaml")), ROOT / "examples" / "guard.yaml"]
SCHEMA: Final = json_schema()

FIRST: Final = """
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from pydantic import BaseModel, Field, SecretStr

from guardrails import Pattern, Processor, TextProcessor


class Colour(Enum):
    RED = "red"


class Rule(BaseModel, extra="forbid"):
    title: str = Field(description="What it says.")


class Plain(Processor):
    rules: tuple[Rule, ...] = ()
    colour: Colour = Colour.RED
    path: Path = Path("a")
    token: SecretStr = SecretStr("hush-4711")
    named: int = Field(default=1, alias="other-name")
    make: Callable[[], None] | None = None
    thing: object = Field(default=object(), description="Anything.")

    def open(self, run):
        return lambda item: (item,)


class Text(TextProcessor):
    def patterns(self):
        return [Pattern("A", "a", "a.a")]
"""
SECOND: Final = FIRST.replace("title: str", "weight: int")


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions that are not ours: two with models of the same name, and types that cannot be used."""
    names = {
        "first-plain": "first:Plain",
        "Case": "first:Text",
        "member": "first:Text",
        "a/b~c {d}%": "first:Plain",
    }
    distribute(tmp_path, "first", {**names, "twice": "first:Plain", "broken": "first:Absent"})
    distribute(tmp_path, "second", {"second-plain": "second:Plain", "twice": "second:Plain"})
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "second.py").write_text(SECOND)
    monkeypatch.syspath_prepend(tmp_path)


def plain(file: Path) -> Any:
    """A configuration as plain values."""
    node = read_yaml(str(file))
    assert node is not None
    return node.plain()


def refs(schema: Any) -> Iterator[str]:
    """All references in a schema."""
    if isinstance(schema, dict):
        if isinstance(ref := schema.get("$ref"), str):
            yield ref
        for below in schema.values():
            yield from refs(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from refs(below)


def check_sound(schema: dict[str, Any]) -> None:
    """It is a schema, and each reference finds its definition."""
    Draft7Validator.check_schema(schema)
    for ref in refs(schema):
        assert ref.removeprefix("#/definitions/") in schema["definitions"], ref
    assert json.loads(json.dumps(schema)) == schema


def config(*entries: Any) -> dict[str, Any]:
    """A configuration with these entries."""
    return {"version": 1, "output_processors": list(entries)}


def test_the_schema_is_sound() -> None:
    """It is valid in the dialect that it names, and has the definitions that are used, and no other."""
    check_sound(SCHEMA)
    assert SCHEMA["$schema"] == DIALECT == Draft7Validator.META_SCHEMA["$schema"]
    assert {ref.removeprefix("#/definitions/") for ref in refs(SCHEMA)} == set(SCHEMA["definitions"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_schema_accepts_what_we_ship(file: Path) -> None:
    """Every preset and example is accepted by the schema, as it is by loading."""
    Draft7Validator(SCHEMA).validate(plain(file))
    load_pipeline(file)


def test_the_schema_has_all_types_with_all_their_settings() -> None:
    """Each type that can be used is a choice, with every setting, and says what it is and what each does."""
    types = usable(Registry())
    assert {"regex", "keywords"} <= set(types)
    assert SCHEMA["definitions"]["processor"]["else"]["properties"]["type"]["enum"] == sorted(types)
    for name, kind in types.items():
        settings = SCHEMA["definitions"][f"type-{name}"]["properties"]
        assert set(settings) == {"type", *kind.model_fields}
        assert all(setting.get("description") for setting in settings.values()), name
        assert SCHEMA["definitions"][f"type-{name}"]["additionalProperties"] is False


def test_everything_else_has_a_description() -> None:
    """The keys of the file, of limits, of cases and of what they expect say what they are for."""
    models = [SCHEMA, *(SCHEMA["definitions"][name] for name in ("Limits", "Case", "Expect"))]
    for model in models:
        assert all(key.get("description") for key in model["properties"].values())


@pytest.mark.parametrize(
    "document",
    [
        config({"type": "regex", "presets": ["urls"], "id": "a", "timeout": None, "retry": False}),
        config({"parallel": [{"type": "regex", "presets": ["urls"]}]}),
        config({"type": "regex", "rules": [{"name": "a", "pattern": "b", "replacement": None}]}),
        {"version": 1, "input_processors": [{"type": "keywords", "terms": ["a"]}]},
        {**config({"type": "keywords", "file": "a.txt"}), "release": "step", "limits": {}, "tests": []},
        {
            **config({"type": "regex", "presets": ["urls"]}),
            "tests": [
                {"name": "a", "text": ["b"], "reasoning": None, "expect": {"tripwire": None}},
                {"name": "b", "chunks": "c.jsonl", "expect": {"findings": ["d", {"label": "E"}]}},
                {"name": "c", "chunks": [{"type": "start"}], "expect": {"tripwire": {}, "absent": ["f"]}},
            ],
        },
    ],
)
def test_the_schema_accepts_what_is_right(document: dict[str, Any]) -> None:
    """Each form that a configuration may have is accepted."""
    Draft7Validator(SCHEMA).validate(document)


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ({"type": "regex", "presets": ["urls"], "strategy": "hide"}, ["strategy"]),
        ({"parallel": [{"type": "regex", "retry": "yes"}]}, ["parallel", 0, "retry"]),
        ({"type": "regexp"}, ["type"]),
    ],
)
def test_an_error_of_the_schema_stands_at_its_place(entry: dict[str, Any], path: list[str | int]) -> None:
    """An editor underlines the wrong value alone, and not the entry as one that fits none of all types."""
    (error,) = Draft7Validator(SCHEMA).iter_errors(config(entry))
    assert list(error.absolute_path) == ["output_processors", 0, *path]


def test_asking_who_owns_a_type_does_not_make_it_one() -> None:
    """A type that nobody names has no owner, and is no type afterwards either."""
    registry = Registry()
    assert registry.owner("regx") == ""
    assert "regx" not in registry.names()
    with pytest.raises(UnusableTypeError, match="did you mean 'regex'"):
        registry.find("regx")


@pytest.mark.usefixtures("others")
def test_the_types_of_others_appear() -> None:
    """Types of other distributions are there like ours; those that cannot be used are not, and do no harm."""
    schema = json_schema()
    check_sound(schema)
    types = schema["definitions"]["processor"]["else"]["properties"]["type"]["enum"]
    assert {"first-plain", "second-plain", "Case", "member", "a/b~c {d}%", "regex"} <= set(types)
    assert {"twice", "broken"}.isdisjoint(types)
    assert {"Case", "member"} <= set(schema["definitions"]["member"]["properties"]["type"]["enum"])
    assert "first-plain" not in schema["definitions"]["member"]["properties"]["type"]["enum"]
    assert "hush-4711" not in json.dumps(schema)


@pytest.mark.parametrize(
    ("document", "accepted"),
    [
        (config({"type": "first-plain", "rules": [{"title": "a"}], "other-name": 2}), True),
        (config({"type": "first-plain", "rules": [{"weight": 1}]}), False),
        (config({"type": "first-plain", "named": 2}), False),
        (config({"type": "first-plain", "colour": "blue"}), False),
        (config({"type": "second-plain", "rules": [{"weight": 1}]}), True),
        (config({"type": "second-plain", "rules": [{"title": "a"}]}), False),
        (config({"type": "a/b~c {d}%", "rules": [{"title": "a"}]}), True),
        (config({"type": "a/b~c {d}%", "rules": [{"weight": 1}]}), False),
        (config({"type": "regex", "rules": [{"name": "a", "pattern": "b"}]}), True),
        (config({"type": "regex", "rules": [{"title": "a"}]}), False),
        (config({"parallel": [{"type": "Case"}, {"type": "member"}]}), True),
        (config({"parallel": [{"type": "first-plain"}]}), False),
        (config({"type": "Case", "name": "a"}), False),
        ({**config({"type": "Case"}), "tests": [{"name": "a", "text": "b", "expect": {"text": "b"}}]}, True),
    ],
)
@pytest.mark.usefixtures("others")
def test_types_do_not_mix(document: dict[str, Any], accepted: bool) -> None:
    """Models of the same name, and types called like a model of the schema, each mean their own."""
    assert Draft7Validator(json_schema()).is_valid(document) is accepted


def test_the_schema_of_one_type_stands_alone() -> None:
    """The schema of an entry has all its definitions, and the settings of its own before those of all."""
    schema = entry_schema("regex", Regex)
    check_sound(schema)
    settings = list(schema["properties"])
    assert settings[:4] == ["type", "id", "presets", "rules"]
    assert settings[1:] == settings_of(Regex)
    assert set(settings_of(Regex)) == set(Regex.model_fields)
    assert schema["required"] == ["type"]


def test_the_schema_of_a_type_leaves_the_others_alone() -> None:
    """Asking for one schema changes no other one that was given out."""
    before = copy.deepcopy(SCHEMA)
    json_schema()
    entry_schema("regex", Regex)
    assert before == SCHEMA
    assert settings_of(Processor) == ["id", "timeout"]
