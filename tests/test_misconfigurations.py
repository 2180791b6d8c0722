"""Misconfigurations: each is told with its place and what would be right; none passes in silence."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft7Validator

from guardrails import ConfigError, Problem, load_pipeline
from guardrails._yaml import read_yaml
from guardrails.schema import json_schema

HEAD: Final = "version: 1\noutput_processors:\n"
REGEX: Final = "{type: regex, presets: [private-data]}"
WHOLE: Final = f"version: 1\noutput_processors: [{REGEX}]\n"
BESIDE: Final = {
    "empty.txt": b"# no terms\n\n",
    "latin.txt": b"right\nStra\xdfe\n",
    "bad.jsonl": b'{"type": "start", "payload": {}}\n\n{"type": 5}\n',
}
"""Files that configurations name, by name."""


@dataclass(frozen=True)
class Said:
    """What must be said of one problem: its place, its keys, a part of the message, and what was meant."""

    line: int | None
    column: int | None
    keys: str
    part: str
    nearest: str | None = None

    def fits(self, problem: Problem) -> bool:
        where = (problem.line, problem.column, problem.keys)
        return (
            where == (self.line, self.column, self.keys)
            and self.part in problem.message
            and problem.nearest == self.nearest
            and (f"did you mean {self.nearest!r}?" in problem.message) is (self.nearest is not None)
        )


def first(line: int, column: int, keys: str, part: str, nearest: str | None = None) -> Said:
    """What must be said of a problem in the first entry."""
    return Said(line, column, f"output_processors[0]{keys}", part, nearest)


class Row:
    """One misconfiguration.

    Attributes:
        name: what is wrong.
        text: what stands in the file; None for no file.
        seen: whether a JSON Schema can see it; None for what is no YAML.
        problems: what must be said, in order.
    """

    def __init__(self, name: str, text: str | bytes | None, seen: bool | None, *problems: Said) -> None:
        self.name, self.text, self.seen, self.problems = name, text, seen, problems

    def write(self, file: Path) -> None:
        if self.text is not None:
            file.write_bytes(self.text if isinstance(self.text, bytes) else self.text.encode())

    def check(self, problems: tuple[Problem, ...]) -> None:
        assert len(problems) == len(self.problems), problems
        for wanted, problem in zip(self.problems, problems, strict=True):
            assert wanted.fits(problem), f"{wanted} is not {problem!r}"


def entry(settings: str) -> str:
    """A file with one processor, whose settings begin at 3:6."""
    return f"{HEAD}  - {{{settings}}}\n"


def regex(settings: str) -> str:
    """A file with one processor that is right but for some more settings."""
    return entry(f"type: regex, presets: [private-data], {settings}")


def rule(settings: str) -> str:
    """A file with one rule, whose settings after the name begin at 3:37."""
    return entry(f"type: regex, rules: [{{name: a, {settings}}}]")


def case(settings: str) -> str:
    """A file that is right but for its one case, whose settings begin at 4:6."""
    return f"{WHOLE}tests:\n  - {{{settings}}}\n"


def expect(settings: str) -> str:
    """A file that is right but for what its one case expects, which begins at 4:33."""
    return case(f"name: a, text: b, expect: {{{settings}}}")


# Each row in as few lines as it needs.
# fmt: off
TOP: Final = (
    Row("misspelt key of the file", WHOLE + "releas: step\n", True,
        Said(3, 1, "releas", "valid keys are version, input_processors,", "release")),
    Row("misspelt limits", WHOLE + "limit: {}\n", True,
        Said(3, 1, "limit", "unknown key", "limits")),
    Row("misspelt tests", WHOLE + "test: []\n", True,
        Said(3, 1, "test", "unknown key", "tests")),
    Row("misspelt version", f"verson: 1\noutput_processors: [{REGEX}]\n", True,
        Said(1, 1, "verson", "unknown key", "version")),
    Row("misspelt output_processors", f"version: 1\nouput_processors: [{REGEX}]\n", True,
        Said(2, 1, "ouput_processors", "unknown key", "output_processors")),
    Row("hyphen for underscore", f"version: 1\noutput-processors: [{REGEX}]\n", True,
        Said(2, 1, "output-processors", "unknown key", "output_processors")),
    Row("key that is no word", WHOLE + "'a.b c': 1\n", True,
        Said(3, 1, "['a.b c']", "unknown key; valid keys are")),
    Row("merge key of older YAML", "<<: {}\n" + WHOLE, True,
        Said(1, 1, "['<<']", "unknown key")),
    Row("wrong release", WHOLE + "release: steps\n", True,
        Said(3, 10, "release", "must be 'stream' or 'step', not 'steps'", "step")),
    Row("release that is no text", WHOLE + "release: true\n", True,
        Said(3, 10, "release", "must be 'stream' or 'step', not true")),
    Row("release that is null", WHOLE + "release:\n", True,
        Said(3, 1, "release", "must be 'stream' or 'step', not null")),
    Row("variable in release", WHOLE + "release: ${HOME}\n", True,
        Said(3, 10, "release", "must be 'stream' or 'step', not '${HOME}'")),
    Row("newer version", "version: 2\noutput_processors: 5\n", True,
        Said(1, 10, "version", "must be 1, the only version of the format")),
    Row("version as text", f"version: '1'\noutput_processors: [{REGEX}]\n", True,
        Said(1, 10, "version", "must be the number 1, written without quotes or a point")),
    Row("version as text, and more", "version: '1'\noutput_procesors: [{type: regexp}]\n", True,
        Said(1, 10, "version", "must be the number 1"),
        Said(2, 1, "output_procesors", "unknown key", "output_processors"),
        Said(2, 27, "output_procesors[0].type", "there is no processor type 'regexp'", "regex")),
    Row("version as truth value", f"version: true\noutput_processors: [{REGEX}]\n", True,
        Said(1, 10, "version", "must be 1")),
    Row("version with a point", f"version: 1.0\noutput_processors: [{REGEX}]\n", False,
        Said(1, 10, "version", "must be the number 1, written without quotes or a point")),
    Row("version that is null", f"version:\noutput_processors: [{REGEX}]\n", True,
        Said(1, 1, "version", "must be 1")),
    Row("version that is a list", f"version: [1]\noutput_processors: [{REGEX}]\n", True,
        Said(1, 10, "version", "must be 1")),
    Row("no version", f"output_processors: [{REGEX}]\n", True,
        Said(1, 1, "version", "this key is required")),
    Row("no processors", "version: 1\n", True,
        Said(1, 1, "", "give output_processors, input_processors or both")),
    Row("empty list of processors", "version: 1\noutput_processors: []\n", True,
        Said(2, 20, "output_processors", "must be a list of one or more processors")),
    Row("null for processors", "version: 1\noutput_processors:\n", True,
        Said(2, 1, "output_processors", "must be a list of one or more processors")),
    Row("mapping for processors", "version: 1\noutput_processors: {type: regex}\n", True,
        Said(2, 20, "output_processors", "must be a list of one or more processors")),
    Row("text for input processors",
        f"version: 1\ninput_processors: regex\noutput_processors: [{REGEX}]\n",
        True,
        Said(2, 19, "input_processors", "must be a list of one or more processors")),
    Row("text for the file", "just text\n", True,
        Said(1, 1, "",
            "the file must be a mapping with the keys version, input_processors, "
            "output_processors, release, limits, tests")),
    Row("list for the file", "- version: 1\n", True,
        Said(1, 1, "", "the file must be a mapping")),
    Row("null for the file", "null\n", True,
        Said(1, 1, "", "the file must be a mapping")),
    Row("limits that are a list", WHOLE + "limits: []\n", True,
        Said(3, 9, "limits", "must be a mapping, not a list")),
    Row("limits that are null", WHOLE + "limits:\n", True,
        Said(3, 1, "limits", "must be a mapping, not null")),
    Row("limits that are a number", WHOLE + "limits: 5\n", True,
        Said(3, 9, "limits", "must be a mapping, not 5")),
    Row("misspelt limit", WHOLE + "limits: {max_holds: 100}\n", True,
        Said(3, 10, "limits.max_holds",
            "valid keys are max_hold, max_waiting, max_buffer, max_checks", "max_hold")),
    Row("each limit wrong",
        WHOLE + "limits: {max_hold: 63, max_waiting: '1', max_buffer: 1.5, max_checks: 0}\n",
        True,
        Said(3, 20, "limits.max_hold", "must be greater than or equal to 64, not 63"),
        Said(3, 37, "limits.max_waiting", "must be a whole number, not '1'"),
        Said(3, 54, "limits.max_buffer", "must be a whole number, not 1.5"),
        Said(3, 71, "limits.max_checks", "must be greater than or equal to 1, not 0")),
    Row("limit that is null", WHOLE + "limits: {max_hold: }\n", True,
        Said(3, 10, "limits.max_hold", "must be a whole number, not null")),
    Row("waiting less than held in limits", WHOLE + "limits: {max_hold: 200, max_waiting: 100}\n", False,
        Said(3, 38, "limits.max_waiting", "it cannot be less than max_hold")),
    Row("held more than the default may wait", WHOLE + "limits: {max_hold: 300000}\n", False,
        Said(3, 9, "limits.max_waiting", "it cannot be less than max_hold")),
    Row("several errors in the order of the file",
        f"output_processors: [{{type: regexp}}, {REGEX}, {REGEX}]\ninput_processors: []\nrelase: step\n"
        f"version: 1\nlimits: {{max_hold: 5, max_hol: 4}}\ntests: [{{name: 5}}]\n",
        True,
        first(1, 28, ".type", "there is no processor type", "regex"),
        Said(1, 77, "output_processors[2].id", "'regex' is the id of the processor at guard.yaml:1:37"),
        Said(2, 19, "input_processors", "must be a list of one or more"),
        Said(3, 1, "relase", "unknown key", "release"),
        Said(5, 20, "limits.max_hold", "must be greater than or equal"),
        Said(5, 23, "limits.max_hol", "unknown key", "max_hold"),
        Said(6, 9, "tests[0].expect", "this key is required"),
        Said(6, 16, "tests[0].name", "must be text, not 5")),
    Row("limits that are right beside an error",
        "version: 1\nlimits: {max_hold: 30000}\nrelese: step\n"
        "output_processors: [{type: regex, rules: [{name: a, pattern: 'a*b', max_length: 20000}]}]\n",
        True,
        Said(3, 1, "relese", "unknown key", "release")),
)

ENTRIES: Final = (
    Row("entry that is a word", HEAD + "  - regex\n", True,
        first(3, 5, "", "must be a mapping with the key `type` or `parallel`")),
    Row("entry that is null", HEAD + "  -\n", True,
        first(3, 4, "", "must be a mapping with the key `type` or `parallel`")),
    Row("entry that is a list", HEAD + "  - [regex]\n", True,
        first(3, 5, "", "must be a mapping with the key `type` or `parallel`")),
    Row("empty entry", entry(""), True,
        first(3, 5, ".type", "this key is required; choose from keywords, regex")),
    Row("entry without a type", entry("id: x"), True,
        first(3, 5, ".type", "this key is required; choose from keywords, regex")),
    Row("misspelt type key", entry("typ: regex, presets: [urls]"), True,
        first(3, 6, ".typ", "an entry begins with type, parallel", "type")),
    Row("capital in the type key", entry("Type: regex"), True,
        first(3, 6, ".Type", "unknown key", "type")),
    Row("misspelt type", entry("type: regexp"), True,
        first(3, 12, ".type", "choose from keywords, regex", "regex")),
    Row("unknown type", entry("type: guard"), True,
        first(3, 12, ".type", "there is no processor type 'guard'; choose from keywords, regex")),
    Row("type that is a number", entry("type: 1"), True,
        first(3, 12, ".type", "must be text; choose from keywords, regex")),
    Row("type that is null", entry("type: "), True,
        first(3, 6, ".type", "must be text; choose from")),
    Row("type that is empty", entry("type: ''"), True,
        first(3, 12, ".type", "there is no processor type ''")),
    Row("type that is a list", entry("type: [regex]"), True,
        first(3, 12, ".type", "must be text")),
    Row("misspelt setting", regex("strategey: mask"), True,
        first(3, 44, ".strategey",
            "valid keys are type, id, timeout, strategy, retry, on_error, surfaces, key_env, "
            "max_hold, max_waiting, presets, rules", "strategy")),
    Row("unknown setting", regex("verbose: true"), True,
        first(3, 44, ".verbose", "unknown key; valid keys are type, id")),
    Row("misspelt strategy", regex("strategy: redacted"), True,
        first(3, 54, ".strategy",
            "must be 'block', 'remove', 'redact', 'hash', 'mask' or 'warn', not 'redacted'", "redact")),
    Row("unknown strategy", regex("strategy: hide"), True,
        first(3, 54, ".strategy",
            "must be 'block', 'remove', 'redact', 'hash', 'mask' or 'warn', not 'hide'")),
    Row("strategy that is a number", regex("strategy: 5"), True,
        first(3, 54, ".strategy", "not 5")),
    Row("strategy that is a list", regex("strategy: [mask]"), True,
        first(3, 54, ".strategy", "not a list")),
    Row("wrong on_error", regex("on_error: passes"), True,
        first(3, 54, ".on_error", "must be 'block' or 'pass', not 'passes'", "pass")),
    Row("misspelt surface", regex("surfaces: [texts]"), True,
        first(3, 55, ".surfaces[0]", "must be 'text', 'reasoning', 'tool_args'", "text")),
    Row("no surfaces", regex("surfaces: []"), True,
        first(3, 54, ".surfaces", "the list should have at least 1 item")),
    Row("surfaces that are a word", regex("surfaces: text"), True,
        first(3, 54, ".surfaces", "must be a list, not 'text'")),
    Row("timeout of zero", regex("timeout: 0"), True,
        first(3, 53, ".timeout", "must be greater than 0, not 0")),
    Row("negative timeout", regex("timeout: -1.5"), True,
        first(3, 53, ".timeout", "must be greater than 0, not -1.5")),
    Row("timeout that is no number", regex("timeout: .nan"), False,
        first(3, 53, ".timeout", "must be greater than 0, not nan")),
    Row("timeout as text", regex("timeout: '10'"), True,
        first(3, 53, ".timeout", "must be a number, not '10'")),
    Row("timeout as truth value", regex("timeout: true"), True,
        first(3, 53, ".timeout", "must be a number, not true")),
    Row("timeout that is a list", regex("timeout: [10]"), True,
        first(3, 53, ".timeout", "must be a number, not a list")),
    Row("truth value of older YAML", regex("retry: yes"), True,
        first(3, 51, ".retry", "must be true or false, not 'yes'")),
    Row("truth value as number", regex("retry: 1"), True,
        first(3, 51, ".retry", "must be true or false, not 1")),
    Row("truth value that is null", regex("retry: "), True,
        first(3, 44, ".retry", "must be true or false, not null")),
    Row("truth value that is a mapping", regex("retry: {}"), True,
        first(3, 51, ".retry", "must be true or false, not a mapping")),
    Row("retry without block", regex("retry: true, strategy: mask"), False,
        first(3, 51, ".retry", "only a refusal can ask for another attempt; it needs the strategy `block`")),
    Row("id that is a number", regex("id: 7"), True,
        first(3, 48, ".id", "must be text, not 7")),
    Row("id that is a list", regex("id: [a]"), True,
        first(3, 48, ".id", "must be text, not a list")),
    Row("empty id", regex("id: ''"), True,
        first(3, 48, ".id", "it is empty or cannot be printed; give a name or leave it out")),
    Row("blank id", regex("id: ' '"), True,
        first(3, 48, ".id", "it is empty or cannot be printed")),
    Row("variable within an id", regex("id: 'x${HOME}'"), False,
        first(3, 48, ".id", "variables are read only in settings that are paths or secrets")),
    Row("id with a line break", regex('id: "a\\nb"'), False,
        first(3, 48, ".id", "it is empty or cannot be printed")),
    Row("doubled id", f"{HEAD}  - {REGEX}\n  - {REGEX}\n", False,
        Said(4, 5, "output_processors[1].id", "'regex' is the id of the processor at guard.yaml:3:5")),
    Row("doubled id under the key",
        f"{HEAD}  - {REGEX}\n  - {{type: regex, id: regex, presets: [urls]}}\n",
        False,
        Said(4, 23, "output_processors[1].id", "'regex' is the id of the processor at guard.yaml:3:5")),
    Row("doubled id by an alias", f"{HEAD}  - &one {REGEX}\n  - *one\n", False,
        Said(4, 5, "output_processors[1].id", "'regex' is the id of the processor at guard.yaml:3:5")),
    Row("doubled id of input and output",
        f"version: 1\ninput_processors: [{REGEX}]\noutput_processors:\n  - {REGEX}\n",
        False,
        first(4, 5, ".id", "'regex' is the id of the processor at guard.yaml:2:20")),
    Row("surface that messages never have",
        "version: 1\ninput_processors: [{type: keywords, terms: [a], surfaces: [tool_args]}]\n",
        False,
        Said(2, 59, "input_processors[0].surfaces",
            "messages have only the surface `text`, so it would guard nothing; name that too")),
    Row("surfaces that messages never have, in a group",
        "version: 1\ninput_processors:\n  - parallel:\n    - {type: keywords, id: b, terms: [b]}\n"
        "    - {type: keywords, terms: [a], surfaces: [reasoning, data]}\n",
        False,
        Said(5, 46, "input_processors[0].parallel[1].surfaces", "messages have only the surface `text`")),
    Row("doubled id in a group",
        f"{HEAD}  - {REGEX}\n  - parallel:\n    - {{type: keywords, terms: [a]}}\n    - {REGEX}\n",
        False,
        Said(6, 7, "output_processors[1].parallel[1].id",
            "'regex' is the id of the processor at guard.yaml:3:5")),
    Row("hash without a key", regex("strategy: hash"), False,
        first(3, 5, ".key_env", "the strategy `hash` needs a key; name the variable that holds it")),
    Row("hash with a key that is not set", regex("strategy: hash, key_env: GUARDRAILS_UNSET"), False,
        first(3, 69, ".key_env", "the environment variable that it names is not set or empty")),
    Row("key without hash", regex("key_env: GUARDRAILS_UNSET"), False,
        first(3, 53, ".key_env", "only the strategy `hash` uses a key")),
    Row("key_env that is a number", regex("key_env: 5"), True,
        first(3, 53, ".key_env", "must be text, not 5")),
    Row("max_hold too small", regex("max_hold: 10"), True,
        first(3, 54, ".max_hold", "must be greater than or equal to 64, not 10")),
    Row("max_hold with a point", regex("max_hold: 100.5"), True,
        first(3, 54, ".max_hold", "must be a whole number, not 100.5")),
    Row("waiting less than held", regex("max_hold: 200, max_waiting: 100"), False,
        first(3, 72, ".max_waiting", "it cannot be less than max_hold, which it contains")),
    Row("waiting less than limits hold",
        "version: 1\nlimits: {max_hold: 1000}\noutput_processors:\n"
        "  - {type: regex, presets: [urls], max_waiting: 500}\n",
        False,
        first(4, 49, ".max_waiting", "it cannot be less than max_hold")),
    Row("waiting in limits less than held",
        "version: 1\nlimits: {max_hold: 64, max_waiting: 500}\noutput_processors:\n"
        "  - {type: regex, presets: [urls], max_hold: 1000}\n",
        False,
        first(4, 5, ".max_waiting", "it cannot be less than max_hold")),
    Row("several errors of one entry",
        entry("type: regex, timeout: '1', presets: [1, private-data, 2], mode: 1"),
        True,
        first(3, 28, ".timeout", "must be a number"),
        first(3, 43, ".presets[0]", "must be text, not 1"),
        first(3, 60, ".presets[2]", "must be text, not 2"),
        first(3, 64, ".mode", "unknown key")),
    Row("error under an alias",
        f"{HEAD}  - {{type: regex, id: a, presets: [urls], strategy: &s hide}}\n"
        f"  - {{type: regex, presets: [urls], strategy: *s}}\n",
        True,
        first(3, 53, ".strategy", "not 'hide'"),
        Said(4, 46, "output_processors[1].strategy", "not 'hide'")),
)

GROUPS: Final = (
    Row("empty group", entry("parallel: []"), True,
        first(3, 16, ".parallel", "must be a list of one or more processors")),
    Row("group that is a mapping", entry("parallel: {type: regex}"), True,
        first(3, 16, ".parallel", "must be a list of one or more processors")),
    Row("group that is null", entry("parallel: "), True,
        first(3, 6, ".parallel", "must be a list of one or more processors")),
    Row("misspelt group", entry(f"paralel: [{REGEX}]"), True,
        first(3, 6, ".paralel", "an entry begins with type, parallel", "parallel")),
    Row("keys beside a group", entry(f"parallel: [{REGEX}], id: x, timeout: 5"), True,
        first(3, 58, ".id", "`parallel` stands alone; its members have keys of their own"),
        first(3, 65, ".timeout", "`parallel` stands alone")),
    Row("group in a group", entry(f"parallel: [{{parallel: [{REGEX}]}}]"), True,
        first(3, 18, ".parallel[0]", "groups cannot be nested; put its members here instead")),
    Row("wrong members",
        entry("parallel: [a, {type: regexp}, {type: regex, strategy: blok, presets: [urls]}, {}]"),
        True,
        first(3, 17, ".parallel[0]", "must be a mapping with the key `type`"),
        first(3, 27, ".parallel[1].type", "there is no processor type 'regexp'", "regex"),
        first(3, 60, ".parallel[2].strategy", "not 'blok'", "block"),
        first(3, 84, ".parallel[3].type", "this key is required")),
    Row("misspelt setting of a member", entry("parallel: [{type: regex, preset: [urls]}]"), True,
        first(3, 31, ".parallel[0].preset", "unknown key", "presets")),
)

REGEX_ROWS: Final = (
    Row("nothing to look for", entry("type: regex"), False,
        first(3, 5, "", "give `presets` or `rules`; without either there is nothing to find")),
    Row("empty presets", entry("type: regex, presets: [], rules: []"), True,
        first(3, 28, ".presets", "the list should have at least 1 item, not 0"),
        first(3, 39, ".rules", "the list should have at least 1 item, not 0")),
    Row("unknown preset", entry("type: regex, presets: [urls, zzz]"), True,
        first(3, 35, ".presets[1]", "there is no preset 'zzz'; choose from private-data, secrets, urls")),
    Row("misspelt preset", entry("type: regex, presets: [private-dat]"), True,
        first(3, 29, ".presets[0]", "there is no preset 'private-dat'", "private-data")),
    Row("preset that is a number", entry("type: regex, presets: [1]"), True,
        first(3, 29, ".presets[0]", "must be text, not 1")),
    Row("presets that are a word", entry("type: regex, presets: urls"), True,
        first(3, 28, ".presets", "must be a list, not 'urls'")),
    Row("presets that are null", entry("type: regex, presets: "), True,
        first(3, 19, ".presets", "must be a list, not null")),
    Row("rules that are a mapping", entry("type: regex, rules: {name: a, pattern: b}"), True,
        first(3, 26, ".rules", "must be a list, not a mapping")),
    Row("rule that is a word", entry("type: regex, rules: [a]"), True,
        first(3, 27, ".rules[0]", "must be a mapping, not 'a'")),
    Row("empty rule", entry("type: regex, rules: [{}]"), True,
        first(3, 27, ".rules[0].name", "this key is required"),
        first(3, 27, ".rules[0].pattern", "this key is required")),
    Row("misspelt key of a rule", rule("patern: b"), True,
        first(3, 37, ".rules[0].patern",
            "valid keys are name, pattern, flags, replacement, strategy, max_length", "pattern")),
    Row("pattern that is a number", rule("pattern: 5"), True,
        first(3, 46, ".rules[0].pattern", "must be text, not 5")),
    Row("empty pattern", rule("pattern: ''"), True,
        first(3, 46, ".rules[0].pattern", "the text should have at least 1 character")),
    Row("name with a space", entry("type: regex, rules: [{name: a b, pattern: c}]"), True,
        first(3, 34, ".rules[0].name", "the text should match pattern")),
    Row("doubled rule", entry("type: regex, rules: [{name: a, pattern: b}, {name: a, pattern: c}]"), False,
        first(3, 26, ".rules", "each rule needs a name of its own; used twice: a")),
    Row("unknown flag", rule("pattern: b, flags: [i]"), True,
        first(3, 57, ".rules[0].flags[0]", "must be 'ignorecase', 'multiline' or 'dotall', not 'i'")),
    Row("misspelt flag", rule("pattern: b, flags: [dotall, ignore-case]"), True,
        first(3, 65, ".rules[0].flags[1]", "must be 'ignorecase', 'multiline' or 'dotall'", "ignorecase")),
    Row("flags that are a word", rule("pattern: b, flags: dotall"), True,
        first(3, 56, ".rules[0].flags", "must be a list, not 'dotall'")),
    Row("wrong strategy of a rule", rule("pattern: b, strategy: masked"), True,
        first(3, 59, ".rules[0].strategy", "not 'masked'", "mask")),
    Row("replacement without redact", rule("pattern: b, replacement: x, strategy: mask"), False,
        first(3, 62, ".rules[0].replacement", "it is never used under mask")),
    Row("replacement that is a number", rule("pattern: b, replacement: 5"), True,
        first(3, 62, ".rules[0].replacement", "must be text, not 5")),
    Row("hash of a rule without a key", rule("pattern: b, strategy: hash"), False,
        first(3, 5, ".key_env", "the strategy `hash` needs a key")),
    Row("max_length of zero", rule("pattern: b, max_length: 0"), True,
        first(3, 61, ".rules[0].max_length", "must be greater than or equal to 1, not 0")),
    Row("max_length more than is held", rule("pattern: a*b, max_length: 20000"), False,
        first(3, 5, ".max_hold", "it must be more than every max_length")),
    Row("max_length less than a match", rule("pattern: abcdef, max_length: 3"), False,
        first(3, 46, ".rules[0].pattern", "more than its max_length of 3")),
    Row("variable within a replacement", rule("pattern: b, replacement: '[${HOME}]'"), False,
        first(3, 62, ".rules[0].replacement", "variables are read only in settings that are paths")),
    Row("variable in a list", entry("type: regex, presets: ['${HOME}']"), True,
        first(3, 29, ".presets[0]", "variables are read only in settings that are paths")),
    Row("variable in a replacement", rule("pattern: b, replacement: '${HOME}'"), False,
        first(3, 62, ".rules[0].replacement", "variables are read only in settings that are paths")),
    Row("unclosed group", rule("pattern: '('"), False,
        first(3, 46, ".rules[0].pattern", "the pattern for A does not compile: missing )")),
    Row("unclosed class", rule("pattern: '[a'"), False,
        first(3, 46, ".rules[0].pattern", "does not compile: unterminated character set")),
    Row("unknown property", rule(r"pattern: '\p{Foo}'"), False,
        first(3, 46, ".rules[0].pattern", "does not compile: unknown property")),
    Row("fuzzy pattern", rule("pattern: '(?:abc){e<=1}'"), False,
        first(3, 46, ".rules[0].pattern",
            "cannot be held exactly: it has an unescaped `{` at character 8; state max_length")),
    Row("pattern that moves its beginning", rule(r"pattern: a\Kb"), False,
        first(3, 46, ".rules[0].pattern", "cannot be held exactly: it has `\\K`")),
    Row("pattern that moves its beginning in a window", rule(r"pattern: a\Kb, max_length: 9"), False,
        first(3, 46, ".rules[0].pattern", "which no `max_length` can hold")),
    Row("pattern that runs backwards", rule("pattern: (?r)ab"), False,
        first(3, 46, ".rules[0].pattern", "it has a reverse search")),
    Row("pattern that runs backwards in a window", rule("pattern: (?r)ab, max_length: 9"), False,
        first(3, 46, ".rules[0].pattern", "which no `max_length` can hold")),
    Row("possessive repeat", rule("pattern: a++"), False,
        first(3, 46, ".rules[0].pattern", "it has a possessive repeat")),
    Row("atomic group", rule("pattern: (?>ab)c"), False,
        first(3, 46, ".rules[0].pattern", "it has an atomic group")),
    Row("recursion", rule("pattern: 'a(?R)?b'"), False,
        first(3, 46, ".rules[0].pattern", "it has recursion")),
    Row("conditional", rule("pattern: '(a)(?(1)b|c)'"), False,
        first(3, 46, ".rules[0].pattern", "it has a conditional")),
    Row("backtracking verb", rule("pattern: a(*SKIP)b"), False,
        first(3, 46, ".rules[0].pattern", "it has a backtracking verb")),
    Row("reference to a group", rule(r"pattern: (a)\1"), False,
        first(3, 46, ".rules[0].pattern", "it has `\\1`")),
    Row("word boundary of one side", rule(r"pattern: a\m"), False,
        first(3, 46, ".rules[0].pattern", "it has `\\m`")),
    Row("look-behind inside", rule("pattern: 'b(?<=a)c'"), False,
        first(3, 46, ".rules[0].pattern", "it has a look-behind that does not lead the pattern")),
    Row("look-behind without bound", rule("pattern: '(?<=a+)b'"), False,
        first(3, 46, ".rules[0].pattern", "it has a look-behind of more than 63 characters")),
    Row("pattern that matches nothing", rule("pattern: a*"), False,
        first(3, 46, ".rules[0].pattern", "it can match the empty string")),
    Row("pattern that is nested too deeply", rule(f"pattern: '{'(' * 2000}a{')' * 2000}'"), False,
        first(3, 46, ".rules[0].pattern", "nested too deeply")),
)

KEYWORDS: Final = (
    Row("no terms", entry("type: keywords"), False,
        first(3, 5, "", "give `terms` or `file`; without either there is nothing to find")),
    Row("terms that are a word", entry("type: keywords, terms: a"), True,
        first(3, 29, ".terms", "must be a list, not what stands here")),
    Row("empty list of terms", entry("type: keywords, terms: [], file: empty.txt"), True,
        first(3, 29, ".terms", "the list should have at least 1 item, not 0")),
    Row("blank term", entry("type: keywords, terms: [a, ' ']"), True,
        first(3, 33, ".terms[1]", "a term is empty")),
    Row("long term", entry(f"type: keywords, terms: [{'a' * 201}]"), True,
        first(3, 30, ".terms[0]", "a term may have 200 characters, not 201")),
    Row("empty term", entry("type: keywords, terms: [a, '']"), True,
        first(3, 33, ".terms[1]", "a term is empty")),
    Row("term that is a number", entry("type: keywords, terms: [1]"), True,
        first(3, 30, ".terms[0]", "must be text, not a number")),
    Row("misspelt terms", entry("type: keywords, term: [a]"), True,
        first(3, 22, ".term", "unknown key", "terms")),
    Row("wrong match", entry("type: keywords, terms: [a], match: words"), True,
        first(3, 41, ".match", "must be 'word' or 'substring', not 'words'", "word")),
    Row("case_sensitive as text", entry("type: keywords, terms: [a], case_sensitive: no"), True,
        first(3, 50, ".case_sensitive", "must be true or false, not 'no'")),
    Row("label with a space", entry("type: keywords, terms: [a], label: a b"), True,
        first(3, 41, ".label", "the text should match pattern")),
    Row("variable in a label", entry("type: keywords, terms: [a], label: '${HOME}'"), True,
        first(3, 41, ".label", "variables are read only in settings that are paths")),
    Row("term that is too long to be held",
        entry(f"type: keywords, terms: [{'a' * 150}], max_hold: 100"),
        False,
        first(3, 193, ".max_hold", "it must be more than the longest term")),
    Row("missing file of terms", entry("type: keywords, file: absent.txt"), False,
        first(3, 28, ".file", "the file cannot be read: No such file or directory")),
    Row("directory of terms", entry("type: keywords, file: ."), False,
        first(3, 28, ".file", "only a regular file is read, no directory, device or pipe")),
    Row("device of terms", entry("type: keywords, file: /dev/zero"), False,
        first(3, 28, ".file", "only a regular file is read, no directory, device or pipe")),
    Row("file that no file can be", entry('type: keywords, file: "a\\0b"'), False,
        first(3, 28, ".file", "the file cannot be read: embedded null byte")),
    Row("empty path", entry("type: keywords, file: ''"), False,
        first(3, 28, ".file", "no file is named")),
    Row("missing variable beside other faults",
        entry("type: keywords, file: '${GUARDRAILS_UNSET}', match: words, retri: true, max_hold: 1"),
        True,
        first(3, 28, ".file", "the environment variable GUARDRAILS_UNSET is not set or empty"),
        first(3, 58, ".match", "must be 'word' or 'substring'", "word"),
        first(3, 65, ".retri", "unknown key", "retry"),
        first(3, 88, ".max_hold", "must be greater than or equal to 64")),
    Row("file without terms", entry("type: keywords, file: empty.txt"), False,
        first(3, 28, ".file", "there is no term in the file")),
    Row("file of terms in another encoding", entry("type: keywords, file: latin.txt"), False,
        first(3, 28, ".file", "line 2: it is not UTF-8")),
    Row("file that is a number", entry("type: keywords, file: 5"), True,
        first(3, 28, ".file", "must be a path, not 5")),
    Row("unset variable in a path", entry("type: keywords, file: '${GUARDRAILS_UNSET}/terms.txt'"), False,
        first(3, 28, ".file", "the environment variable GUARDRAILS_UNSET is not set or empty")),
    Row("variable that is no name", entry("type: keywords, file: '${A-B}/terms.txt'"), False,
        first(3, 28, ".file", "`${` begins a variable: `${NAME}`")),
)

CASES: Final = (
    Row("tests that are a mapping", WHOLE + "tests: {name: a}\n", True,
        Said(3, 8, "tests", "must be a list, not a mapping")),
    Row("tests that are null", WHOLE + "tests:\n", True,
        Said(3, 1, "tests", "must be a list, not null")),
    Row("case that is a number", WHOLE + "tests: [1]\n", True,
        Said(3, 9, "tests[0]", "must be a mapping, not 1")),
    Row("case without a name and what is expected", case("text: a"), True,
        Said(4, 5, "tests[0].name", "this key is required"),
        Said(4, 5, "tests[0].expect", "this key is required")),
    Row("case without input", case("name: a, expect: {text: a}"), True,
        Said(4, 5, "tests[0]", "give one of text, reasoning, chunks, input; there are 0")),
    Row("case with null for its input", case("name: a, text: , expect: {text: a}"), True,
        Said(4, 5, "tests[0]", "give one of text, reasoning, chunks, input; there are 0")),
    Row("case with two inputs", case("name: a, text: b, reasoning: c, expect: {text: a}"), True,
        Said(4, 5, "tests[0]", "give one of text, reasoning, chunks, input; there are 2")),
    Row("case with an empty name", case("name: '', text: a, expect: {text: a}"), True,
        Said(4, 12, "tests[0].name", "the text should have at least 1 character")),
    Row("case with a number for its name", case("name: 5, text: a, expect: {text: a}"), True,
        Said(4, 12, "tests[0].name", "must be text, not 5")),
    Row("misspelt key of a case", case("name: a, txt: b, expect: {text: a}"), True,
        Said(4, 15, "tests[0].txt", "valid keys are name, text, reasoning, chunks, input, expect", "text")),
    Row("misspelt expect", case("name: a, text: b, expects: {text: b}"), True,
        Said(4, 24, "tests[0].expects", "unknown key", "expect")),
    Row("text that is a number", case("name: a, text: 5, expect: {text: a}"), True,
        Said(4, 21, "tests[0].text", "must be text or a list, not 5")),
    Row("piece that is a number", case("name: a, text: [b, 5], expect: {text: a}"), True,
        Said(4, 25, "tests[0].text[1]", "must be text, not 5")),
    Row("expect that is null", case("name: a, text: b, expect: "), True,
        Said(4, 24, "tests[0].expect", "must be a mapping, not null")),
    Row("expect that is a word", case("name: a, text: b, expect: ok"), True,
        Said(4, 32, "tests[0].expect", "must be a mapping, not 'ok'")),
    Row("nothing expected", expect(""), True,
        Said(4, 32, "tests[0].expect", "say at least one thing that is expected")),
    Row("null for all that is expected", expect("text: , findings: null, reasoning: "), True,
        Said(4, 32, "tests[0].expect", "say at least one thing that is expected")),
    Row("nothing absent", expect("absent: []"), True,
        Said(4, 32, "tests[0].expect", "say at least one thing that is expected")),
    Row("misspelt key of expect", expect("txt: b"), True,
        Said(4, 33, "tests[0].expect.txt",
            "valid keys are text, reasoning, tripwire, findings, absent", "text")),
    Row("expected text that is a number", expect("text: 5"), True,
        Said(4, 39, "tests[0].expect.text", "must be text, not 5")),
    Row("expected reasoning that is a list", expect("reasoning: [b]"), True,
        Said(4, 44, "tests[0].expect.reasoning", "must be text, not a list")),
    Row("tripwire that is a truth value", expect("tripwire: true"), True,
        Said(4, 43, "tests[0].expect.tripwire", "must be a mapping, not true")),
    Row("misspelt key of a tripwire", expect("tripwire: {processer: regex}"), True,
        Said(4, 44, "tests[0].expect.tripwire.processer",
            "valid keys are processor, code, retry", "processor")),
    Row("retry of a tripwire as text", expect("tripwire: {retry: yes}"), True,
        Said(4, 51, "tests[0].expect.tripwire.retry", "must be true or false, not 'yes'")),
    Row("misspelt processor of a tripwire", expect("tripwire: {processor: regx}"), False,
        Said(4, 55, "tests[0].expect.tripwire.processor", "choose from regex", "regex")),
    Row("unknown processor of a tripwire", expect("tripwire: {processor: nobody}"), False,
        Said(4, 55, "tests[0].expect.tripwire.processor",
            "no processor has the id 'nobody'; choose from regex")),
    Row("findings that are a code", expect("findings: pii.email"), True,
        Said(4, 43, "tests[0].expect.findings", "must be a list, not 'pii.email'")),
    Row("finding that is a number", expect("findings: [pii.email, 5]"), True,
        Said(4, 55, "tests[0].expect.findings[1]",
            "must be a code, or a mapping with what is to be said of the finding")),
    Row("finding of which nothing is said", expect("findings: [{}]"), True,
        Said(4, 44, "tests[0].expect.findings[0]", "say at least one thing of the finding")),
    Row("misspelt key of a finding", expect("findings: [{cod: pii.email}]"), True,
        Said(4, 45, "tests[0].expect.findings[0].cod",
            "valid keys are code, label, processor, strategy", "code")),
    Row("misspelt strategy of a finding", expect("findings: [{strategy: redacted}]"), True,
        Said(4, 55, "tests[0].expect.findings[0].strategy", "not 'redacted'", "redact")),
    Row("misspelt processor of a finding", expect("findings: [pii.email, {processor: regx}]"), False,
        Said(4, 67, "tests[0].expect.findings[1].processor", "no processor has the id 'regx'", "regex")),
    Row("absent that is a word", expect("absent: b"), True,
        Said(4, 41, "tests[0].expect.absent", "must be a list, not 'b'")),
    Row("absent that is empty", expect("absent: ['']"), True,
        Said(4, 42, "tests[0].expect.absent[0]", "the text should have at least 1 character")),
    Row("chunks that are a number", case("name: a, chunks: 5, expect: {text: a}"), True,
        Said(4, 23, "tests[0].chunks", "must be a list or a path, not 5")),
    Row("chunk that is a number", case("name: a, chunks: [{type: start}, 5], expect: {text: a}"), True,
        Said(4, 39, "tests[0].chunks[1]", "must be a mapping, not 5")),
    Row("chunk without a type", case("name: a, chunks: [{}], expect: {text: a}"), True,
        Said(4, 24, "tests[0].chunks[0]", "type: a string is required, but the key is missing")),
    Row("chunk without its text",
        case("name: a, chunks: [{type: start}, {type: text-delta, payload: {id: b}}], expect: {text: a}"),
        False,
        Said(4, 39, "tests[0].chunks[1]", "text-delta: payload.text: is required, but the key is missing")),
    Row("missing file of chunks", case("name: a, chunks: absent.jsonl, expect: {text: a}"), False,
        Said(4, 23, "tests[0].chunks", "the file cannot be read: No such file or directory")),
    Row("file with a bad chunk", case("name: a, chunks: bad.jsonl, expect: {text: a}"), False,
        Said(4, 23, "tests[0].chunks", "line 3: chunk: type: a string is required, got a number")),
    Row("no file of chunks", case("name: a, chunks: '', expect: {text: a}"), False,
        Said(4, 23, "tests[0].chunks", "no file is named")),
    Row("directory of chunks", case("name: a, chunks: ., expect: {text: a}"), False,
        Said(4, 23, "tests[0].chunks", "only a regular file is read")),
    Row("unset variable in the path of chunks",
        case("name: a, chunks: '${GUARDRAILS_UNSET}/a.jsonl', expect: {text: a}"),
        False,
        Said(4, 23, "tests[0].chunks", "the environment variable GUARDRAILS_UNSET is not set or empty")),
    Row("input without input processors", case("name: a, input: b, expect: {text: b}"), False,
        Said(4, 5, "tests[0]", "what it gives goes to `input_processors`, and there are none")),
    Row("text without output processors",
        f"version: 1\ninput_processors: [{REGEX}]\ntests: [{{name: a, text: b, expect: {{text: b}}}}]\n",
        False,
        Said(3, 9, "tests[0]", "what it gives goes to `output_processors`, and there are none")),
    Row("cases beside an entry that failed",
        f"{HEAD}  - {{type: regex, id: keys, presets: [urls], retri: true}}\ninput_processors: [{REGEX}]\n"
        "tests:\n  - {name: a, text: b, expect: {tripwire: {processor: keys}}}\n"
        "  - {name: a, text: b, expect: {tripwire: {processor: kees}}}\n",
        True,
        first(3, 46, ".retri", "unknown key", "retry"),
        Said(7, 12, "tests[1].name", "each case needs a name of its own"),
        Said(7, 55, "tests[1].expect.tripwire.processor", "no processor has the id 'kees'", "keys")),
    Row("case beside an entry whose id cannot be known",
        f"{HEAD}  - {{typ: regex}}\ntests: [{{name: a, text: b, expect: {{tripwire: {{processor: c}}}}}}]\n",
        True,
        first(3, 6, ".typ", "unknown key", "type")),
    Row("doubled name of a case",
        case("name: a, text: b, expect: {text: b}}\n  - {name: a, text: c, expect: {text: c}"),
        False,
        Said(5, 12, "tests[1].name", "each case needs a name of its own; this stands twice")),
)

FILES: Final = (
    Row("missing file", None, None,
        Said(None, None, "", "there is no such file")),
    Row("empty file", "", None,
        Said(None, None, "", "the file is empty; it needs the keys version and output_processors")),
    Row("comments alone", "# nothing\n", None,
        Said(None, None, "", "the file is empty")),
    Row("tab for indentation", "version: 1\noutput_processors:\n\t- type: regex\n", None,
        Said(3, 1, "", "indent with spaces, YAML takes no tabs")),
    Row("wrong indentation", "version: 1\noutput_processors:\n  - type: regex\n   presets: [urls]\n", None,
        Said(4, 4, "", "is this line indented as much")),
    Row("doubled key", WHOLE + "version: 1\n", None,
        Said(3, 1, "version", "this key stands here twice, first at 1:1")),
    Row("doubled key of a processor", entry("type: regex, presets: [urls], presets: [secrets]"), None,
        Said(3, 36, "output_processors[0].presets", "this key stands here twice, first at 3:19")),
    Row("key that is a number", WHOLE + "1: 2\n", None,
        Said(3, 1, "", "a key must be text; put it in quotes")),
    Row("key that is null", WHOLE + "null: 1\n", None,
        Said(3, 1, "", "a key must be text")),
    Row("key that is a list", "? [a]\n: 2\n", None,
        Said(1, 3, "", "a key must be text")),
    Row("tag", "version: !!int 1\n", None,
        Said(1, 10, "version", "tags are not allowed; leave out `!!int`")),
    Row("tag that makes an object", "version: !!python/object/apply:os.system [ls]\n", None,
        Said(1, 10, "version", "tags are not allowed")),
    Row("alias without an anchor", "version: *one\n", None,
        Said(1, 10, "version", "no anchor `&one` stands before this alias")),
    Row("anchor inside itself", "tests: &all [*all]\n", None,
        Said(1, 14, "tests[0]", "`*all` stands in what it refers to; that has no end")),
    Row("alias bomb",
        "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9) if i else 'x'}]\n" for i in range(9)),
        None,
        Said(6, 45, "a5[7]", "more than 100000 values, aliases followed")),
    Row("deep nesting", f"tests: {'[' * 60}\n", None,
        Said(1, 57, "tests" + "[0]" * 49, "nested deeper than 50 levels")),
    Row("deep nesting by aliases",
        "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(60)),
        None,
        Said(50, 16, "a49", "nested deeper than 50 levels, aliases followed")),
    Row("large file", b"#" * (1024 * 1024 + 1), None,
        Said(None, None, "", "the file is larger than 1048576 bytes")),
    Row("several documents", f"{WHOLE}---\n{WHOLE}", None,
        Said(3, 1, "", "a second document begins here; a file holds one")),
    Row("older YAML", f"%YAML 1.1\n---\n{WHOLE}", None,
        Said(1, 1, "", "this file is read as YAML 1.2; leave out `%YAML`")),
    Row("control character", "version: 1\x01\n", None,
        Said(1, 11, "", "a control character cannot stand in YAML")),
    Row("half a character", 'version: "\\ud800"\n', None,
        Said(1, 10, "version", "half of a surrogate pair is no character")),
    Row("not UTF-8", b"version: 1\nrelease: st\xe9p\n", None,
        Said(2, 12, "", "the file is not UTF-8; save it as UTF-8")),
    Row("UTF-16", WHOLE.encode("utf-16"), None,
        Said(1, 1, "", "the file is not UTF-8")),
    Row("unclosed quote", "version: 1\nrelease: 'step\n", None,
        Said(3, 1, "", "found unexpected end of stream")),
    Row("unclosed list", "version: 1\noutput_processors: [\n", None,
        Said(3, 1, "", "this is no YAML")),
    Row("two keys in a line", "version: 1 release: step\n", None,
        Said(1, 19, "", "this is no YAML: mapping values are not allowed here")),
    Row("backslash in double quotes", rule('pattern: "\\d"'), None,
        Said(3, 48, "", "put patterns in single quotes")),
    Row("pattern without quotes",
        HEAD + "  - type: regex\n    rules:\n      - {name: a, pattern: [a-z]+}\n",
        None,
        Said(5, 33, "", "such as a pattern, needs single quotes")),
    Row("variable without quotes", entry("type: keywords, file: ${HOME}"), None,
        Said(3, 29, "", "a text with braces, such as `${NAME}`, needs quotes here")),
    Row("long number", f"version: {'9' * 5000}\n", None,
        Said(1, 10, "version", "a number with more digits than can be read")),
    Row("file of chunks", '{"type": "start"}\n{"type": "finish"}\n', None,
        Said(2, 1, "", "is this a configuration, or a file of chunks?")),
)
# fmt: on

ROWS: Final = (*TOP, *ENTRIES, *GROUPS, *REGEX_ROWS, *KEYWORDS, *CASES, *FILES)


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files that configurations name, and no variable that they miss."""
    for name, data in BESIDE.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.delenv("GUARDRAILS_UNSET", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_misconfiguration_stands_here_once() -> None:
    """The names of the rows are unique, and so are the files."""
    assert len({row.name for row in ROWS}) == len({row.text for row in ROWS}) == len(ROWS)
    assert len(ROWS) >= 60


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_misconfiguration_is_told(row: Row, at: Path) -> None:
    """All problems are told at once, in the order of the file, each on a line that begins with its place."""
    row.write(at / "guard.yaml")
    with pytest.raises(ConfigError) as caught:
        load_pipeline("guard.yaml")
    problems = caught.value.problems
    row.check(problems)
    for problem, line in zip(problems, str(caught.value).split("\n"), strict=True):
        place = "" if problem.line is None else f":{problem.line}:{problem.column}"
        assert line.startswith(f"guard.yaml{place}: {problem.keys}")
        assert line.endswith(problem.message)


def test_a_directory_is_told(at: Path) -> None:
    """A directory is no file, whatever its name."""
    (at / "guard.yaml").mkdir()
    with pytest.raises(ConfigError) as caught:
        load_pipeline("guard.yaml")
    assert str(caught.value) == "guard.yaml: this is a directory; name a YAML file"


def test_the_command_tells_all_misconfigurations(at: Path) -> None:
    """`guardrails check` says the same as the library of each file, and never shows a traceback."""
    files = {f"{place:03}.yaml": row for place, row in enumerate(ROWS)}
    for file, row in files.items():
        row.write(at / file)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "guardrails", "check", "--json", *files],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stdout + done.stderr
    checked: list[dict[str, Any]] = json.loads(done.stdout)
    assert [each["config"] for each in checked] == list(files)
    for each, (file, row) in zip(checked, files.items(), strict=True):
        assert each["ok"] is False
        problems = tuple(Problem(**problem) for problem in each["problems"])
        _of_guard(row, file).check(problems)
        assert {problem.file for problem in problems} == {file}


def _of_guard(row: Row, file: str) -> Row:
    """The row with another name of its file."""
    problems = (
        Said(**{**vars(said), "part": said.part.replace("guard.yaml", file)}) for said in row.problems
    )
    return Row(row.name, row.text, row.seen, *problems)


def test_the_schema_rejects_what_it_can_see(at: Path) -> None:
    """What is marked as visible is rejected by the schema; what is not, and only that, is accepted."""
    validator = Draft7Validator(json_schema())
    wrong = []
    for row in ROWS:
        row.write(at / "guard.yaml")
        if row.seen is not None and validator.is_valid(_plain(at / "guard.yaml")) is row.seen:
            wrong.append(row.name)
    assert not wrong


def _plain(file: Path) -> Any:
    node = read_yaml(str(file))
    assert node is not None
    return node.plain()
