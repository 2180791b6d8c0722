"""Configuration files: what they build, and that whatever is wrong in one is named with its place."""

import json
import os
import pickle
import time
import traceback
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import anyio
import pytest

from guardrails import ConfigError, Finding, Pipeline, Problem, load_pipeline
from guardrails.config import load_config
from guardrails.text.processor import Parallel
from tests.helpers import distribute

HEAD: Final = "version: 1\noutput_processors:\n"
REGEX: Final = "{type: regex, presets: [private-data]}"
TYPES: Final = "choose from keywords, regex (found in the entry point group guardrails.processors)"

pytestmark = pytest.mark.usefixtures("at")

STRANGE: Final = """
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SecretStr, field_validator

import guardrails
from guardrails import AsWritten, Processor, TextProcessor


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel, extra="forbid"):
    count: int = 1
    names: tuple[str, ...] = ()


class Strange(Processor):
    path: Path = Path()
    colour: Colour = Colour.RED
    inner: Inner = Inner()
    either: tuple[Inner, ...] | int = 0
    ratio: float = 1.0

    @field_validator("ratio")
    @classmethod
    def _below_two(cls, ratio: float) -> float:
        if ratio == 99:
            raise RuntimeError("no such model")
        return ratio

    def open(self, run):
        return lambda item: (item,)


class Account(BaseModel, extra="forbid"):
    token: SecretStr
    file: Path | None = None


class Part(BaseModel):
    text: str


class Keyed(Processor):
    file: Path | None = None
    files: tuple[Path, ...] = ()
    key: SecretStr = SecretStr("")
    keys: tuple[SecretStr, ...] = ()
    by_name: dict[str, SecretStr] = {}
    main: Account | None = None
    accounts: tuple[Account, ...] = ()
    either: SecretStr | int = 0
    long: SecretStr = Field(default=SecretStr("x" * 100), min_length=100)
    word: str = ""
    words: tuple[str, ...] = ()
    notes: dict[str, str] | Path = Path()
    any: Any = None
    chosen: Literal["a"] | Path | int = 0
    find: Annotated[str, AsWritten()] = ""
    pieces: Annotated[tuple[Part, ...], AsWritten()] = ()

    def open(self, run):
        return lambda item: (item,)


class Spans(TextProcessor):
    def patterns(self):
        return [guardrails.Pattern("SPAN", "span", "test.span")]


def function():
    pass
"""


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, so that messages name the file as `guard.yaml`."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distributions that are not ours."""
    site = tmp_path / "site"
    distribute(
        site,
        "strange",
        {
            "strange": "strange_guards:Strange",
            "spans": "strange_guards:Spans",
            "keyed": "strange_guards:Keyed",
            "function": "strange_guards:function",
            "absent": "strange_guards:Absent",
            "broken": "broken_guards:Broken",
            "twice": "strange_guards:Strange",
        },
    )
    distribute(site, "double", {"twice": "strange_guards:Strange"})
    (site / "strange_guards.py").write_text(STRANGE)
    (site / "broken_guards.py").write_text("import not_there\n")
    monkeypatch.syspath_prepend(site)


def fault(text: str | bytes) -> str:
    """The message for a file of this text."""
    Path("guard.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        load_pipeline("guard.yaml")
    return str(caught.value)


def placed(message: str) -> str:
    """A message about the first entry, of which only place, keys and words are given."""
    place, words = message.split(" ", 1)
    return f"guard.yaml:{place}: output_processors[0]{'' if words[0] in ':[' else '.'}{words}"


def entry_fault(entry: str) -> str:
    """The message for a file whose only entry is this one, which begins at 3:5."""
    return fault(f"{HEAD}  - {entry}\n")


def test_a_file_becomes_processors_in_its_order(at: Path) -> None:
    """Entries and groups are built in the order of the file, with their settings."""
    path = at / "guard.yaml"
    path.write_text(
        HEAD + "  - {type: regex, id: private-data, presets: [private-data], strategy: redact}\n"
        "  - parallel:\n"
        "      - {type: regex, id: no-keys, strategy: block, timeout: null,\n"
        "         rules: [{name: key, pattern: 'sk-[A-Za-z0-9]{40,200}', flags: [ignorecase, multiline]}]}\n"
    )
    first, group = load_pipeline(path).processors
    assert first.id == "private-data"
    assert isinstance(group, Parallel)
    (member,) = group.members
    assert (member.id, member.strategy, member.timeout) == ("no-keys", "block", None)


def test_findings_go_to_the_given_listener(at: Path) -> None:
    """`on_finding` is told of what the pipeline of a file finds."""
    path = at / "guard.yaml"
    path.write_text(HEAD + "  - {type: regex, rules: [{name: secret, pattern: 'xyz+'}]}\n")
    found: list[Finding] = []
    pipeline = load_pipeline(path, on_finding=found.append)
    delta = {"type": "text-delta", "payload": {"id": "t", "text": "an xyz here"}}
    assert anyio.run(pipeline.run, [json.dumps(delta)]).text == "an [SECRET] here"
    assert [finding.label for finding in found] == ["SECRET"]


def test_an_id_defaults_to_the_type(at: Path) -> None:
    """A processor without `id` is called as its type."""
    (at / "guard.yaml").write_text(f"{HEAD}  - {REGEX}\n")
    assert load_pipeline("guard.yaml").processors[0].id == "regex"


def test_anchors_and_aliases_are_followed(at: Path) -> None:
    """An alias stands for what its anchor names, wherever that is."""
    (at / "guard.yaml").write_text(
        f"{HEAD}  - {{type: regex, presets: &p [private-data], strategy: &s mask}}\n"
        "  - {type: regex, id: b, presets: *p, strategy: *s}\n"
    )
    second = load_pipeline("guard.yaml").processors[1]
    assert second.model_dump(include={"presets", "strategy"}) == {
        "presets": ("private-data",),
        "strategy": "mask",
    }


@pytest.mark.parametrize(
    ("scalar", "text"),
    [("no", "no"), ("on", "on"), ("2024-01-01", "2024-01-01"), ("'1'", "1"), ("1_0", "1_0")],
)
def test_what_yaml_1_2_takes_for_text_is_text(at: Path, scalar: str, text: str) -> None:
    """Words and dates that older YAML took for something else are text."""
    (at / "guard.yaml").write_text(f"{HEAD}  - {{type: regex, id: {scalar}, presets: [private-data]}}\n")
    assert load_pipeline("guard.yaml").processors[0].id == text


@pytest.mark.parametrize(("scalar", "number"), [("0o1000", 512), ("0x100", 256), ("0100", 100), ("+99", 99)])
def test_numbers_are_those_of_yaml_1_2(at: Path, scalar: str, number: int) -> None:
    """Octal numbers are written `0o`, and a leading zero means nothing."""
    (at / "guard.yaml").write_text(
        f"{HEAD}  - {{type: regex, max_hold: {scalar}, presets: [private-data]}}\n"
    )
    assert load_pipeline("guard.yaml").processors[0].model_dump()["max_hold"] == number


@pytest.mark.usefixtures("others")
def test_fields_that_have_no_yaml_type_are_read_from_text(at: Path) -> None:
    """Paths, enumerations and nested tuples of someone's processor come from text and lists."""
    (at / "guard.yaml").write_text(
        f"{HEAD}  - {{type: strange, path: a/b, colour: blue, ratio: 2, timeout: .inf,\n"
        "     inner: {names: [a, b]}, either: [{count: 3, names: [c]}]}\n"
    )
    dumped = load_pipeline("guard.yaml").processors[0].model_dump(mode="json")
    assert (dumped["path"], dumped["colour"], dumped["ratio"]) == ("a/b", "blue", 2.0)
    assert dumped["inner"] == {"count": 1, "names": ["a", "b"]}
    assert dumped["either"] == [{"count": 3, "names": ["c"]}]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "{type: regex, presets: [x]}",
            "3:29 presets[0]: there is no preset 'x'; choose from",
        ),
        (
            "{type: regexp}",
            f"3:12 type: there is no processor type 'regexp'; did you mean 'regex'? {TYPES}",
        ),
        (
            "{id: x}",
            f"3:5 type: this key is required; {TYPES}",
        ),
        (
            "{type: 1}",
            f"3:12 type: must be text; {TYPES}",
        ),
        (
            "regex",
            "3:5 : must be a mapping with the key `type` or `parallel`",
        ),
        (
            "{type: regex, presets: [private-data], strategy: hide}",
            "3:54 strategy: must be 'block', 'remove', 'redact', 'hash', 'mask' or 'warn', not 'hide'",
        ),
        (
            "{type: regex, presets: private-data}",
            "3:28 presets: must be a list, not 'private-data'",
        ),
        (
            "{type: regex, rules: [{name: a}]}",
            "3:27 rules[0].pattern: this key is required",
        ),
        (
            "{type: regex, rules: [{name: a, pattern: b, patern: c}]}",
            "3:49 rules[0].patern: unknown key; did you mean 'pattern'? valid keys are name, pattern, ",
        ),
        (
            "{type: regex, presets: [private-data], mode: x}",
            "3:44 mode: unknown key; valid keys are type, id, timeout, strategy, ",
        ),
        (
            "{type: regex, rules: [{name: a, pattern: '('}]}",
            "3:46 rules[0].pattern: the pattern for A does not compile: ",
        ),
        (
            "{type: regex, presets: [private-data], retry: true}",
            "3:51 retry: only a refusal can ask for another attempt; ",
        ),
        (
            "{type: regex, presets: [private-data], strategy: hash}",
            "3:5 key_env: the strategy `hash` needs a key; ",
        ),
        ("{type: regex}", "3:5 : give `presets` or `rules`; "),
        (
            "{type: regex, presets: [private-data], timeout: 0}",
            "3:53 timeout: must be greater than 0, not 0",
        ),
        (
            "{parallel: [{type: regex, presets: [private-data]}], id: x}",
            "3:58 id: `parallel` stands alone; ",
        ),
        ("parallel: []", "3:15 parallel: must be a list of one or more"),
        (
            "parallel: [{parallel: [1]}]",
            "3:17 parallel[0]: groups cannot be nested; ",
        ),
        (
            "parallel: [{type: regex, presets: [x]}]",
            "3:40 parallel[0].presets[0]: there is no preset 'x'; ",
        ),
    ],
)
def test_a_wrong_entry_is_named_with_its_place(entry: str, message: str) -> None:
    """The message has the line, the column, the keys that lead there and what would be right."""
    said = entry_fault(entry)
    assert said.startswith(placed(message))
    assert "\n" not in said


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("timeout: '10'", "timeout: must be a number, not '10'"),
        ("timeout: true", "timeout: must be a number, not true"),
        ("retry: yes", "retry: must be true or false, not 'yes'"),
        ("retry: 1", "retry: must be true or false, not 1"),
        ("max_hold: '100'", "max_hold: must be a whole number, not '100'"),
        ("max_hold: 100.0", "max_hold: must be a whole number, not 100.0"),
        ("max_hold: true", "max_hold: must be a whole number, not true"),
        ("id: 7", "id: must be text, not 7"),
        ("id: null", "id: must be text, not null"),
        ("key_env: []", "key_env: must be text, not a list"),
        (
            "rules: [{name: a, pattern: b, max_length: '9'}]",
            "rules[0].max_length: must be a whole number, not '9'",
        ),
    ],
)
def test_texts_numbers_and_truth_values_are_not_mixed_up(setting: str, message: str) -> None:
    """Nothing is read as something that it only looks like."""
    assert entry_fault(f"{{type: regex, presets: [private-data], {setting}}}").endswith(message)


def test_all_errors_of_a_processor_are_told_in_their_order() -> None:
    """Each error of one processor has a line of its own, sorted by place."""
    said = entry_fault("{type: regex, timeout: '1', presets: [x, private-data, y], mode: 1}")
    assert [line.split(": ")[1] for line in said.splitlines()] == [
        "output_processors[0].timeout",
        "output_processors[0].presets[0]",
        "output_processors[0].presets[2]",
        "output_processors[0].mode",
    ]


@pytest.mark.parametrize(
    ("second", "place"),
    [
        (f"- {REGEX}", "4:5: output_processors[1].id"),
        ("- {type: regex, id: regex, presets: [private-data]}", "4:23: output_processors[1].id"),
        (f"- parallel: [{REGEX}]", "4:16: output_processors[1].parallel[0].id"),
    ],
)
def test_a_doubled_id_names_both_places(second: str, place: str) -> None:
    """The error stands at the second processor and says where the first is."""
    said = fault(f"{HEAD}  - {REGEX}\n  {second}\n")
    assert said == f"guard.yaml:{place}: 'regex' is the id of the processor at guard.yaml:3:5; give another"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": the file is empty; it needs the keys version and output_processors"),
        ("# nothing\n", ": the file is empty; it needs the keys version and output_processors"),
        (
            "- 1",
            ":1:1: the file must be a mapping with the keys version, input_processors, output_processors, ",
        ),
        ("version: 1", ":1:1: give output_processors, input_processors or both"),
        ("output_processors: []", ":1:1: version: this key is required"),
        ("version: '1'\noutput_processors: []", ":1:10: version: must be the number 1, "),
        ("version: 1.0\noutput_processors: []", ":1:10: version: must be the number 1, "),
        ("version: true\noutput_processors: []", ":1:10: version: must be 1, "),
        ("version: 1\noutput_processors: []", ":2:20: output_processors: must be a list of one or more"),
        ("version: 1\noutput_processors: {}", ":2:20: output_processors: must be a list of one or more"),
        ("version: 1\ninput_processors: []", ":2:19: input_processors: must be a list of one or more"),
        (
            "version: 1\nreleas: step\noutput_processors: [{type: regex, presets: [private-data]}]",
            ":2:1: releas: unknown key; did you mean 'release'? valid keys are version, input_processors, ",
        ),
        ("version: 1\nversion: 1", ":2:1: version: this key stands here twice, first at 1:1"),
        ("a: 1\n---\nb: 1", ":2:1: a second document begins here; "),
        ("a: [1\nb: }", ":2:2: this is no YAML: while parsing a flow sequence: expected ',' or ']'"),
        ("a: 'x", ":1:6: this is no YAML: while scanning a quoted scalar: found unexpected end of stream"),
        ("a:\n\t- b", ":2:1: this is no YAML: "),
        ("a: b\x01", ":1:5: a control character cannot stand in YAML"),
        (
            "a: !!python/object:os.system x",
            ":1:4: a: tags are not allowed; leave out `!!python/object:os.system`",
        ),
        ("a: !!str x", ":1:4: a: tags are not allowed; leave out `!!str`"),
        ("%YAML 1.1\n---\na: no", ":1:1: this file is read as YAML 1.2; "),
        ("a: *b", ":1:4: a: no anchor `&b` stands before this alias"),
        ("a: &a [*a]", ":1:8: a[0]: `*a` stands in what it refers to; that has no end"),
        ("a: &a {b: *a}", ":1:11: a.b: `*a` stands in what it refers to; that has no end"),
        ("1: 2", ":1:1: a key must be text; "),
        ("? [a]\n: 2", ":1:3: a key must be text; "),
        ('a: "\\ud800"', ":1:4: a: half of a surrogate pair is no character; "),
        ('a: "\\UFFFFFFFF"', ":1:1: this is no YAML: "),
        ("a: " + "9" * 5000, ":1:4: a: a number with more digits than can be read"),
        (b"a: \xff", ":1:4: the file is not UTF-8; save it as UTF-8"),
        ("a: ä\n".encode("utf-16"), ":1:1: the file is not UTF-8; save it as UTF-8"),
        (b"#" * (1024 * 1024 + 1), ": the file is larger than 1048576 bytes, the most that is read"),
    ],
)
def test_a_wrong_file_is_named_with_its_place(text: str | bytes, message: str) -> None:
    """What is no configuration at all is told as precisely as a wrong setting."""
    assert fault(text).startswith(f"guard.yaml{message}")


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
            for old, new in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(2000)),
        "[" * 100_000,
        "- " * 100_000,
        "? " * 100_000,
        "a: [" + "1," * 500_000,
    ],
)
def test_a_bomb_is_refused_at_once(text: str) -> None:
    """Neither aliases of aliases nor deep nesting costs much time or memory."""
    begun = time.process_time()
    assert ": more than 100000 values" in (said := fault(text)) or ": nested deeper than 50 levels" in said
    assert time.process_time() - begun < 30


def test_what_cannot_be_read_is_said() -> None:
    """A missing file and a directory are told apart."""
    with pytest.raises(ConfigError, match=r"^absent\.yaml: there is no such file$"):
        load_pipeline("absent.yaml")
    with pytest.raises(ConfigError, match=r"^\.: this is a directory; name a YAML file$"):
        load_pipeline(Path())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "{type: broken}",
            (
                "3:12 type: the type 'broken', which is broken_guards:Broken of "
                "strange 1.0, cannot be imported: ModuleNotFoundError: No module"
            ),
        ),
        (
            "{type: absent}",
            (
                "3:12 type: the type 'absent', which is strange_guards:Absent of "
                "strange 1.0, cannot be imported: AttributeError: "
            ),
        ),
        (
            "{type: function}",
            (
                "3:12 type: the type 'function', which is strange_guards:function of "
                "strange 1.0, is no subclass of guardrails.Processor"
            ),
        ),
        (
            "{type: twice}",
            "3:12 type: the type 'twice' is registered by double 1.0 and strange 1.0; ",
        ),
        (
            "{type: none}",
            "3:12 type: there is no processor type 'none'; choose from absent, broken, ",
        ),
        (
            "parallel: [{type: strange}]",
            "3:23 parallel[0].type: 'strange' does not look for spans in texts, ",
        ),
        (
            "{type: strange, ratio: 99}",
            "3:5 : setting up the processor failed: RuntimeError: no such model",
        ),
        (
            "{type: strange, colour: green}",
            "3:29 colour: must be 'red' or 'blue', not 'green'",
        ),
        (
            "{type: strange, inner: {counts: 1}}",
            "3:29 inner.counts: unknown key; did you mean 'count'? valid keys are count, names",
        ),
        (
            "{type: strange, inner: {names: [a, 1]}}",
            "3:40 inner.names[1]: must be text, not 1",
        ),
        (
            "{type: strange, either: x}",
            "3:29 either: must be a whole number or a list, not 'x'",
        ),
        (
            "{type: strange, path: 5, either: [x]}",
            (
                "3:27 path: must be a path, not 5"
                "\nguard.yaml:3:39: output_processors[0].either[0]: must be a mapping, not 'x'"
            ),
        ),
        (
            "{type: strange, either: [{count: '1'}]}",
            ("3:38 either[0].count: must be a whole number, not '1'"),
        ),
    ],
)
@pytest.mark.usefixtures("others")
def test_the_types_of_others_are_checked(entry: str, message: str) -> None:
    """A distribution that is not ours is served, and blamed, exactly as ours is."""
    assert entry_fault(entry).startswith(placed(message))


@pytest.mark.usefixtures("others")
def test_a_type_that_nobody_uses_does_no_harm(at: Path) -> None:
    """Broken and doubled types matter to those who name them only."""
    (at / "guard.yaml").write_text(f"{HEAD}  - {{type: spans}}\n")
    assert [processor.id for processor in load_pipeline("guard.yaml").processors] == ["spans"]


def settings(text: str, file: str = "guard.yaml") -> Any:
    """The settings of a `keyed` processor, built of these."""
    Path(file).write_text(f"{HEAD}  - {{type: keyed, {text}}}\n")
    return load_pipeline(file).processors[0]


def problems_of(source: Any) -> tuple[Problem, ...]:
    """What is wrong with a configuration."""
    with pytest.raises(ConfigError) as caught:
        load_pipeline(source)
    return caught.value.problems


def test_a_mapping_is_a_configuration() -> None:
    """A mapping of the same shape, with lists or tuples, builds the same, and is left as it is."""
    entry = {"type": "regex", "presets": ("private-data",), "rules": [{"name": "a", "pattern": "bc"}]}
    mapping = MappingProxyType({"version": 1, "output_processors": ({"parallel": [entry]},)})
    before = repr(mapping)
    (group,) = load_pipeline(mapping).processors
    assert isinstance(group, Parallel)
    assert group.members[0].id == "regex"
    assert repr(mapping) == before


def test_a_problem_of_a_mapping_has_no_place() -> None:
    """What is wrong with a mapping is told by its keys alone."""
    entry = {"type": "regex", "presets": ["private-data"], "strategy": "redacted"}
    (problem,) = problems_of({"version": 1, "output_processors": [entry]})
    assert (problem.file, problem.line, problem.column) == (None, None, None)
    assert (problem.keys, problem.nearest) == ("output_processors[0].strategy", "redact")
    assert str(problem) == f"output_processors[0].strategy: {problem.message}"


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({}, "give output_processors, input_processors or both"),
        ({"version": 1, "output_processors": [{1: 2}]}, "a key must be text, not 1"),
        ({"version": 1, "output_processors": [{"type": object()}]}, "must be text; choose from"),
        ({"version": 2}, "must be 1, the only version of the format"),
    ],
)
def test_a_wrong_mapping_is_told(mapping: dict[str, Any], message: str) -> None:
    """What cannot stand in a file is no configuration in Python either."""
    assert message in problems_of(mapping)[0].message


def test_a_mapping_in_itself_is_told() -> None:
    """A list that contains itself is refused as too deep."""
    endless: list[Any] = []
    endless.append(endless)
    (problem,) = problems_of({"version": 1, "output_processors": endless})
    assert problem.message == "nested deeper than 50 levels"


def test_doubled_ids_in_a_mapping_are_told() -> None:
    """Ids are unique over both lists; in a mapping, the first has no place that could be named."""
    entry = {"type": "regex", "presets": ["urls"]}
    mapping = {"version": 1, "input_processors": [entry], "output_processors": [entry]}
    assert str(problems_of(mapping)[0]) == (
        "output_processors[0].id: 'regex' is the id of the processor before; give another"
    )


def test_a_bare_name_finds_a_preset_and_never_a_file(at: Path) -> None:
    """A bare name is a preset even where a file has that name; `./name` and a `Path` are the file."""
    (at / "default").write_text(f"{HEAD}  - {{type: regex, id: mine, presets: [urls]}}\n")
    assert "mine" not in [processor.id for processor in load_pipeline("default").processors]
    for source in ("./default", Path("default"), at / "default", str(at / "default")):
        assert [processor.id for processor in load_pipeline(source).processors] == ["mine"]


def test_an_unknown_bare_name_is_told_with_the_nearest(at: Path) -> None:
    """The presets are listed, the nearest is named, and so is a file that was perhaps meant."""
    (problem,) = problems_of("defualt")
    assert problem.nearest == "default"
    assert problem.message.startswith("there is no preset 'defualt'; did you mean 'default'? choose from ")
    (at / "guard").write_text("")
    (problem,) = problems_of("guard")
    assert problem.message.startswith("there is no preset 'guard' (the file of that name is ./guard); ")
    assert str(problems_of(Path("absent"))[0]) == "absent: there is no such file"


@pytest.mark.parametrize("source", [None, 5, b"default", ["default"], object()])
def test_only_paths_names_and_mappings_are_sources(source: Any) -> None:
    """Anything else is a mistake of the program and no configuration."""
    with pytest.raises(TypeError, match="a path, the name of a preset, or a mapping"):
        load_pipeline(source)


@pytest.mark.parametrize("name", ["", "\0", "a\nb.yaml"])
def test_a_strange_file_name_is_told(name: str) -> None:
    """Names that no file can have are told as well."""
    assert len(problems_of(name)) == 1


@pytest.mark.usefixtures("others")
def test_relative_paths_are_relative_to_the_file(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a path stands in the settings, and wherever the program runs, the file's folder counts."""
    (at / "conf").mkdir()
    text = (
        "file: a/b, files: [c, /d], main: {token: e, file: f}, accounts: [{token: g, file: ../h}], "
        "word: i, words: [j], keys: [k], notes: {l: m}"
    )
    keyed = settings(text, "conf/guard.yaml")
    folder = Path("conf")
    assert (keyed.file, keyed.files) == (folder / "a/b", (folder / "c", Path("/d")))
    assert (keyed.main.file, keyed.accounts[0].file) == (folder / "f", folder / "../h")
    assert (keyed.word, keyed.words, keyed.notes) == ("i", ("j",), {"l": "m"})
    assert [keyed.main.token.get_secret_value(), keyed.keys[0].get_secret_value()] == ["e", "k"]
    monkeypatch.chdir("/")
    (absolute,) = load_pipeline(at / "conf" / "guard.yaml").processors
    assert absolute.model_dump()["file"] == at / "conf" / "a" / "b"


@pytest.mark.usefixtures("others")
def test_paths_in_a_mapping_are_relative_to_the_current_directory() -> None:
    """A mapping has no folder; a path in it stays as it is, as text or as a `Path`."""
    entry = {"type": "keyed", "file": "a/b", "files": [Path("c")]}
    (keyed,) = load_pipeline({"version": 1, "output_processors": [entry]}).processors
    dumped = keyed.model_dump()
    assert (dumped["file"], dumped["files"]) == (Path("a/b"), (Path("c"),))


@pytest.mark.usefixtures("others")
def test_variables_are_read_in_paths_and_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """`${NAME}` is read wherever a path or a secret stands, alone, within a text, and nested."""
    monkeypatch.setenv("HUSH", "hush-4711")
    monkeypatch.setenv("DATA", "/data")
    keyed = settings(
        "key: '${HUSH}', keys: ['<${HUSH}>'], by_name: {a: '${HUSH}'}, either: '${HUSH}',"
        " main: {token: '${HUSH}', file: '${DATA}/x'}, accounts: [{token: '${HUSH}${HUSH}'}],"
        " file: '${DATA}/y', files: ['z/${HUSH}']"
    )
    secrets = [keyed.key, keyed.keys[0], keyed.by_name["a"], keyed.either]
    secrets += [keyed.main.token, keyed.accounts[0].token]
    assert [secret.get_secret_value() for secret in secrets] == [
        "hush-4711",
        "<hush-4711>",
        "hush-4711",
        "hush-4711",
        "hush-4711",
        "hush-4711hush-4711",
    ]
    assert (keyed.main.file, keyed.file, keyed.files) == (
        Path("/data/x"),
        Path("/data/y"),
        (Path("z/hush-4711"),),
    )
    assert repr(keyed).count("hush-4711") == 1  # in the path, which is no secret


@pytest.mark.usefixtures("others")
def test_variables_are_read_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that holds a variable is refused, wherever it stands, but for what is looked for."""
    monkeypatch.setenv("HUSH", "hush-4711")
    said = entry_fault(
        "{type: keyed, word: 'a ${HUSH}', words: ['${HUSH}'], notes: {a: 'b ${HUSH}'}, any: {b: ['${HUSH}']}}"
    )
    assert [line.split(": ", 1)[1] for line in said.splitlines()] == [
        f"output_processors[0].{keys}: variables are read only in settings that are paths or secrets"
        for keys in ("word", "words[0]", "notes.a", "any.b[0]")
    ]
    keyed = settings("find: '${HUSH}', word: '$ {HUSH} ${', pieces: [{text: '${HUSH}'}]")
    assert (keyed.find, keyed.word, keyed.pieces[0].text) == ("${HUSH}", "$ {HUSH} ${", "${HUSH}")


def test_what_is_looked_for_may_look_like_a_variable(at: Path) -> None:
    """Terms, patterns and the texts of cases are taken as they are written."""
    (at / "guard.yaml").write_text(
        f"{HEAD}  - {{type: keywords, terms: ['${{HOME}}'], match: substring}}\n"
        "  - {type: regex, rules: [{name: a, pattern: '\\$\\{HOME\\}'}]}\n"
        "tests: [{name: '${HOME}', text: 'a ${HOME}', expect: {absent: ['${HOME}']}}]\n"
    )
    config = load_config("guard.yaml")
    assert config.pipeline.processors[0].model_dump()["terms"] == ("${HOME}",)
    assert config.cases[0].text == "a ${HOME}"


@pytest.mark.parametrize(
    "text", ["terms: hunter2", "terms: [4711]", "terms: [[hunter2]]", "terms: {a: hunter2}"]
)
def test_terms_are_not_shown(text: str) -> None:
    """What may be a secret is not repeated by a message about it."""
    said = entry_fault(f"{{type: keywords, {text}}}")
    assert not [word for word in ("hunter2", "4711") if word in said]


@pytest.mark.parametrize("text", ["file: '${HUSH}'", "file: '${HUSH}/b'", "file: '${HUSH}.txt'"])
@pytest.mark.usefixtures("at")
def test_what_a_variable_holds_is_not_shown(text: str, at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that cannot be used is not repeated: a variable in it may hold what nobody may see."""
    monkeypatch.setenv("HUSH", "hush-4711")
    (at / "hush-4711.txt").write_bytes(b"a\n\xff\n")
    assert "4711" not in entry_fault(f"{{type: keywords, {text}}}")
    case = text.replace("file", "chunks")
    assert "4711" not in fault(f"{HEAD}  - {REGEX}\ntests: [{{name: a, {case}, expect: {{text: a}}}}]\n")


@pytest.mark.usefixtures("others")
def test_a_variable_is_not_shown_where_a_path_is_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is it where something else than a path may stand, too."""
    monkeypatch.setenv("HUSH", "hush-4711")
    assert "4711" not in entry_fault("{type: keyed, chosen: '${HUSH}'}")


@pytest.mark.parametrize(
    "text",
    [
        f"{{type: regex, presets: [urls], {', '.join(f'k{i}: 1' for i in range(4000))}}}",
        f"{{type: keywords, terms: [{', '.join('9' * 9000)}]}}",
        f"{{type: keywords, terms: [a], {'k' * 900_000}: 1}}",
        f"{{type: keywords, terms: [a], id: &a {'k' * 90_000}}}\n  - {{type: keywords, terms: [a], id: *a}}",
        f"{{type: keywords, terms: [a], match: {'k' * 900_000}}}",
        f"{{type: {'k' * 900_000}}}",
        f"{{type: regex, presets: [{'k' * 900_000}]}}",
        f"{{type: regex, rules: [{{name: {'k' * 900_000}, pattern: '('}}]}}",
        f"{{type: keywords, terms: [a], file: '${{{'K' * 900_000}}}'}}",
    ],
)
def test_messages_have_bounds(text: str) -> None:
    """However much is wrong, and however long it is, what is said of it is short, and said at once."""
    begun = time.process_time()
    said = entry_fault(text)
    assert len(said.splitlines()) <= 101
    assert max(map(len, said.splitlines())) < 1000
    assert time.process_time() - begun < 20


def test_what_is_not_told_is_counted() -> None:
    """A hundred problems are told; the last line says how many more there are."""
    last = entry_fault(f"{{type: keywords, terms: [{', '.join('9' * 500)}]}}").splitlines()[-1]
    assert last == "guard.yaml: … and 400 more"


def test_a_pipe_is_not_waited_for(at: Path) -> None:
    """A pipe as a file of terms is refused; nobody may ever write to it."""
    os.mkfifo(at / "pipe")
    assert "only a regular file is read" in entry_fault("{type: keywords, file: pipe}")


def test_a_mapping_has_bounds() -> None:
    """A mapping that stands for billions of values is refused as a file is."""
    bomb: Any = ["x"]
    for _ in range(30):
        bomb = [bomb, bomb]
    begun = time.process_time()
    (problem,) = problems_of({"version": 1, "output_processors": bomb})
    assert problem.message == "more than 100000 values"
    assert time.process_time() - begun < 20


@pytest.mark.parametrize(
    ("entry", "keys", "part"),
    [
        ({"type": "regex", 1: 2}, "output_processors[0]", "a key must be text, not 1"),
        (
            {"type": "keywords", "terms": ["a", "\ud800"]},
            "output_processors[0].terms[1]",
            "half of a surrogate",
        ),
        ({"type": "keywords", "\udfff": 1}, "output_processors[0]", "half of a surrogate"),
    ],
)
def test_what_no_file_could_hold_is_told_with_its_keys(entry: Any, keys: str, part: str) -> None:
    """A mapping holds what a file could hold; otherwise the keys say where it does not."""
    (problem,) = problems_of({"version": 1, "output_processors": [entry]})
    assert problem.keys == keys
    assert part in problem.message


def test_an_empty_name_is_told() -> None:
    """No name is no directory."""
    assert "no file is named" in problems_of("")[0].message


@pytest.mark.usefixtures("others")
def test_all_variables_that_are_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a line of its own, in the order of the file; an empty variable counts as missing."""
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("UNSET", raising=False)
    said = entry_fault("{type: keyed, key: '${EMPTY}', files: [a, '${UNSET}'], file: '$${'}")
    assert [line.split(": ", 1)[1] for line in said.splitlines()] == [
        "output_processors[0].key: the environment variable EMPTY is not set or empty",
        "output_processors[0].files[1]: the environment variable UNSET is not set or empty",
        "output_processors[0].file: `${` begins a variable: `${NAME}`, in letters, digits and `_`",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("key: 4711", "key"),
        ("key: true", "key"),
        ("key: [hush-4711]", "key"),
        ("key: {a: hush-4711}", "key"),
        ("keys: hush-4711", "keys"),
        ("keys: [4711]", "keys[0]"),
        ("keys: [[hush-4711]]", "keys[0]"),
        ("keys: {a: hush-4711}", "keys"),
        ("by_name: hush-4711", "by_name"),
        ("by_name: {a: 4711}", "by_name.a"),
        ("by_name: {a: [hush-4711]}", "by_name.a"),
        ("either: 4711.5", "either"),
        ("either: [hush-4711]", "either"),
        ("main: hush-4711", "main"),
        ("main: {token: 4711}", "main.token"),
        ("main: {tokn: hush-4711}", "main.tokn"),
        ("main: {token: hush-4711, file: 5}", "main.file"),
        ("main: [hush-4711]", "main"),
        ("accounts: hush-4711", "accounts"),
        ("accounts: [hush-4711]", "accounts[0]"),
        ("accounts: [{token: [hush-4711]}]", "accounts[0].token"),
        ("long: hush-4711", "long"),
        ("long: '${HUSH}'", "long"),
        ("key: '${HUSH', word: 5", "key"),
        ("kye: hush-4711", "kye"),
    ],
)
@pytest.mark.usefixtures("others")
def test_a_secret_is_never_shown(text: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with a secret or around it, neither a message nor a traceback repeats it."""
    monkeypatch.setenv("HUSH", "hush-4711")
    Path("guard.yaml").write_text(f"{HEAD}  - {{type: keyed, {text}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_pipeline("guard.yaml")
    assert caught.value.problems[0].keys == f"output_processors[0].{place}"
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.problems)
    assert "4711" not in shown


def test_limits_are_defaults_of_text_processors(at: Path) -> None:
    """`limits` holds for each text processor, in groups too, that does not say otherwise."""
    (at / "guard.yaml").write_text(
        "version: 1\nlimits: {max_hold: 1000, max_waiting: 5000}\n"
        "input_processors: [{type: regex, id: a, presets: [urls]}]\n"
        "output_processors:\n"
        "  - {type: regex, id: b, presets: [urls], max_hold: 2000}\n"
        "  - parallel:\n"
        "      - {type: regex, id: c, presets: [urls]}\n"
        "      - {type: regex, id: d, presets: [urls], max_hold: 64, max_waiting: 64}\n"
    )
    pipeline = load_pipeline("guard.yaml")
    every = [
        part for processor in (*pipeline.input_processors, *pipeline.processors) for part in processor.parts
    ]
    bounds = {part.id: part.model_dump(include={"max_hold", "max_waiting"}) for part in every}
    assert {id_: tuple(both.values()) for id_, both in bounds.items()} == {
        "a": (1000, 5000),
        "b": (2000, 5000),
        "c": (1000, 5000),
        "d": (64, 64),
    }


@pytest.mark.usefixtures("others")
def test_limits_are_not_for_processors_without_them() -> None:
    """A processor that is no text processor has no such settings, and is not given them."""
    mapping = {"version": 1, "limits": {"max_hold": 100}, "output_processors": [{"type": "strange"}]}
    assert [processor.id for processor in load_pipeline(mapping).processors] == ["strange"]


def test_the_settings_of_a_pipeline_arrive() -> None:
    """`release`, the limits and both lists are those of the pipeline; left out, its defaults hold."""
    lists = {
        "input_processors": [{"type": "regex", "id": "in", "presets": ["urls"]}],
        "output_processors": [{"type": "regex", "id": "out", "presets": ["urls"]}],
    }
    limits = {"max_buffer": 100, "max_checks": 3}
    given = load_pipeline({"version": 1, "release": "step", "limits": limits, **lists})
    assert [processor.id for processor in given.input_processors] == ["in"]
    assert [processor.id for processor in given.processors] == ["out"]
    plain, default = load_pipeline({"version": 1, **lists}), Pipeline(())
    names = ("release", "max_buffer", "_max_checks")
    assert [getattr(given, name) for name in names] == ["step", 100, 3]
    assert [getattr(plain, name) for name in names] == [getattr(default, name) for name in names]


def test_input_processors_may_stand_alone() -> None:
    """A configuration that guards only what goes to the model is one."""
    entry = {"type": "regex", "presets": ["urls"]}
    pipeline = load_pipeline({"version": 1, "input_processors": [entry]})
    assert (len(pipeline.input_processors), pipeline.processors) == (1, ())


def test_a_listener_must_not_be_awaited() -> None:
    """`on_finding` is checked as `Pipeline` checks it."""

    async def listen(finding: Finding) -> None:
        del finding

    with pytest.raises(TypeError, match="on_finding is called and not awaited"):
        load_pipeline("default", on_finding=listen)  # type: ignore[arg-type]


def test_a_configuration_carries_its_cases(at: Path) -> None:
    """The cases are read with the line at which each begins; from a mapping there are no lines."""
    (at / "guard.yaml").write_text(
        f"{HEAD}  - {REGEX}\ntests:\n"
        "  - {name: first, text: a, expect: {text: a}}\n"
        "  - name: second\n    reasoning: [b, c]\n    expect: {reasoning: bc}\n"
    )
    config = load_config("guard.yaml")
    assert config.file == "guard.yaml"
    assert [case.name for case in config.cases] == ["first", "second"]
    assert config.lines == (5, 6)
    case = {"name": "a", "text": "b", "expect": {"text": "b"}}
    mapping = {"version": 1, "output_processors": [{"type": "regex", "presets": ["urls"]}], "tests": [case]}
    config = load_config(mapping)
    assert (config.file, config.lines) == (None, (None,))


def test_an_error_has_its_problems_as_data(at: Path) -> None:
    """Each problem has file, place, keys, message and the nearest word; the error's text has a line each."""
    (at / "guard.yaml").write_text(f"{HEAD}  - {{type: regexp}}\nrelase: step\n")
    with pytest.raises(ConfigError) as caught:
        load_pipeline("guard.yaml")
    error = caught.value
    assert isinstance(error, ValueError)
    first, second = error.problems
    assert (first.file, first.line, first.column) == ("guard.yaml", 3, 12)
    assert (first.keys, first.nearest) == ("output_processors[0].type", "regex")
    assert second.as_dict() == {
        "message": second.message,
        "keys": "relase",
        "file": "guard.yaml",
        "line": 4,
        "column": 1,
        "nearest": "release",
    }
    assert str(error).splitlines() == [str(first), str(second)]
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert (again.problems, str(again)) == (error.problems, str(error))
