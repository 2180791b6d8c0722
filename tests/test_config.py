"""Configuration files: what they build, and that whatever is wrong in one is named with its place."""

import json
import time
from pathlib import Path
from typing import Final

import anyio
import pytest

from guardrails.config import ConfigError, load_pipeline
from guardrails.processor import Finding
from guardrails.text.processor import Parallel

HEAD: Final = "version: 1\noutput_processors:\n"
REGEX: Final = "{type: regex, presets: [private-data]}"
TYPES: Final = "choose from regex (found in the entry point group guardrails.processors)"

pytestmark = pytest.mark.usefixtures("at")

STRANGE: Final = """
from enum import Enum
from pathlib import Path

from pydantic import BaseModel, field_validator

import guardrails
from guardrails import Processor, TextProcessor


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


def distribute(site: Path, name: str, types: dict[str, str]) -> None:
    """Write what an installer leaves of a distribution that names processors."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{type_} = {where}" for type_, where in types.items()]
    (info / "entry_points.txt").write_text("\n".join(["[guardrails.processors]", *lines, ""]))


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
            f"3:12 type: there is no processor type 'regexp'; {TYPES}",
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
            "3:49 rules[0].patern: unknown key; valid keys are name, pattern, ",
        ),
        (
            "{type: regex, presets: [private-data], mode: x}",
            "3:44 mode: unknown key; valid keys are type, id, timeout, strategy, ",
        ),
        (
            "{type: regex, rules: [{name: a, pattern: '('}]}",
            "3:27 rules[0]: the pattern for A does not compile: ",
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
            "{parallel: [], id: x}",
            "3:20 id: `parallel` stands alone; ",
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
        ("", ": the file is empty; it needs the keys version, output_processors"),
        ("# nothing\n", ": the file is empty; it needs the keys version, output_processors"),
        ("- 1", ":1:1: the file must be a mapping with the keys version, output_processors"),
        ("version: 1", ":1:1: output_processors: this key is required"),
        ("output_processors: []", ":1:1: version: this key is required"),
        ("version: '1'\noutput_processors: []", ":1:10: version: must be 1, "),
        ("version: 1.0\noutput_processors: []", ":1:10: version: must be 1, "),
        ("version: true\noutput_processors: []", ":1:10: version: must be 1, "),
        ("version: 1\noutput_processors: []", ":2:20: output_processors: must be a list of one or more"),
        ("version: 1\noutput_processors: {}", ":2:20: output_processors: must be a list of one or more"),
        ("version: 1\ninput_processors: []", ":2:1: input_processors: unknown key; valid keys are version, "),
        (
            "version: 1\nrelease: step",
            ":2:1: release: unknown key; valid keys are version, output_processors",
        ),
        ("version: 1\nversion: 1", ":2:1: the key 'version' stands here twice, first at 1:1"),
        ("a: 1\n---\nb: 1", ":2:1: a second document begins here; "),
        ("a: [1\nb: }", ":2:2: this is no YAML: while parsing a flow sequence: expected ',' or ']'"),
        ("a: 'x", ":1:6: this is no YAML: while scanning a quoted scalar: found unexpected end of stream"),
        ("a:\n\t- b", ":2:1: this is no YAML: "),
        ("a: b\x01", ":1:5: a control character cannot stand in YAML"),
        (
            "a: !!python/object:os.system x",
            ":1:4: tags are not allowed; leave out `!!python/object:os.system`",
        ),
        ("a: !!str x", ":1:4: tags are not allowed; leave out `!!str`"),
        ("%YAML 1.1\n---\na: no", ":1:1: this file is read as YAML 1.2; "),
        ("a: *b", ":1:4: no anchor `&b` stands before this alias"),
        ("a: &a [*a]", ":1:8: `*a` stands in what it refers to; that has no end"),
        ("a: &a {b: *a}", ":1:11: `*a` stands in what it refers to; that has no end"),
        ("1: 2", ":1:1: a key must be text; "),
        ("? [a]\n: 2", ":1:3: a key must be text; "),
        ('a: "\\ud800"', ":1:4: half of a surrogate pair is no character; "),
        ('a: "\\UFFFFFFFF"', ":1:1: this is no YAML: "),
        ("a: " + "9" * 5000, ":1:4: a number with more digits than can be read"),
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
    begun = time.monotonic()
    assert ": more than 100000 values" in (said := fault(text)) or ": nested deeper than 50 levels" in said
    assert time.monotonic() - begun < 30


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
            "3:29 inner.counts: unknown key; valid keys are count, names",
        ),
        (
            "{type: strange, inner: {names: [a, 1]}}",
            "3:40 inner.names[1]: must be text, not 1",
        ),
        (
            "{type: strange, either: [{count: '1'}]}",
            (
                "3:29 either: must be a whole number, not a list"
                "\nguard.yaml:3:38: output_processors[0].either[0].count: must be a whole number, not '1'"
            ),
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
