"""`guardrails check` and `guardrails test`: what they print, for people and for machines, and their codes."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import call
from tests.cli.processes import PLAIN_LOCALE, run

HEAD = "version: 1\noutput_processors:\n"
ALL = f"""{HEAD}  - {{type: regex, id: größe, presets: [private-data]}}
  - parallel:
      - {{type: regex, id: no-keys, strategy: block, rules: [{{name: key, pattern: x}}]}}
      - {{type: slow_words}}
  - {{type: passes}}
input_processors:
  - {{type: regex, id: in, presets: [private-data]}}
"""
WRONG = f"{HEAD}  - {{type: regex, presets: [x], mode: 1}}\n"
CASES = f"""{HEAD}  - {{type: regex, rules: [{{name: key, pattern: 'sk-[a-z]{{4,20}}'}}]}}
tests:
  - {{name: "a key, \\e[31min red", text: [a s, k-abcde], expect: {{text: "a [KEY]", findings: [regex.key]}}}}
  - name: what cannot be
    text: [sk-ab, cde]
    expect: {{text: other, tripwire: {{processor: regex}}}}
"""
OPEN = f"""{HEAD}  - {{type: slow_words, word: BOOM, on_error: pass}}
tests: [{{name: passes, text: one, expect: {{text: one}}}}]
"""
PASSING = CASES.partition("  - name: what cannot be")[0]


@pytest.fixture(autouse=True)
def files(at: Path) -> None:
    for name, text in (
        ("all", ALL),
        ("wrong", WRONG),
        ("cases", CASES),
        ("passing", PASSING),
        ("open", OPEN),
    ):
        (at / f"{name}.yaml").write_text(text)


def test_check_lists_the_processors() -> None:
    """Each has a line with its side, id, type as the file names it, and strategy; members of groups too."""
    done = run("check", "all.yaml", env=PLAIN_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        "all.yaml: ok",
        "  input   in          regex                    redact",
        "  output  größe       regex                    redact",
        "  output  no-keys     regex, in parallel       block",
        "  output  slow_words  slow_words, in parallel  redact",
        "  output  passes      passes",
    ]


def test_check_tells_of_each_configuration() -> None:
    """One that is wrong does not keep the others from being checked; the code is 2."""
    done = call("check", "redact.yaml", "wrong.yaml", "absent.yaml", "passing.yaml")
    assert done.returncode == 2
    assert done.stdout.decode().splitlines() == [
        "redact.yaml: ok",
        "  output  secrets  regex  redact",
        "passing.yaml: ok, 1 case",
        "  output  regex  regex  redact",
    ]
    first, second, third = done.stderr.decode().splitlines()
    assert first.startswith("guardrails: wrong.yaml:3:29: output_processors[0].presets[0]: ")
    assert second.startswith("guardrails: wrong.yaml:3:33: output_processors[0].mode: unknown key; ")
    assert third == "guardrails: absent.yaml: there is no such file"


def test_check_for_machines() -> None:
    """With --json all is on standard output, what is wrong too, and nothing on standard error."""
    done = call("check", "--json", "redact.yaml", "wrong.yaml")
    assert (done.returncode, done.stderr) == (2, b"")
    right, wrong = json.loads(done.stdout)
    processor = {"side": "output", "id": "secrets", "type": "regex", "parallel": False, "strategy": "redact"}
    assert right == {
        "config": "redact.yaml",
        "ok": True,
        "file": "redact.yaml",
        "processors": [processor],
        "cases": 0,
    }
    assert (wrong["config"], wrong["ok"]) == ("wrong.yaml", False)
    assert [(each["line"], each["column"]) for each in wrong["problems"]] == [(3, 29), (3, 33)]


def test_run_tells_what_is_wrong_as_check_does() -> None:
    """The code is 2, and each problem is one line that begins with the command's name."""
    done = call("run", "wrong.yaml")
    assert (done.returncode, done.stdout) == (2, b"")
    assert [line[:24] for line in done.stderr.decode().splitlines()] == ["guardrails: wrong.yaml:3"] * 2


def test_passing_cases() -> None:
    """Each case has a line, several configurations one sum; the code is 0, and a name cannot colour it."""
    done = call("test", "passing.yaml", "./passing.yaml")
    assert (done.returncode, done.stderr) == (0, b"")
    lines = r"  ok    a key, \x1b[31min red"
    assert done.stdout.decode().splitlines() == ["passing.yaml", lines, "./passing.yaml", lines, "2 passed"]


def test_a_configuration_that_is_named_twice_is_tested_twice() -> None:
    """The sum, and the JSON, have each run of it."""
    done = call("test", "passing.yaml", "passing.yaml")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, b"2 passed")
    both = json.loads(call("test", "--json", "passing.yaml", "passing.yaml").stdout)
    assert [len(each["cases"]) for each in both] == [1, 1]


def test_a_check_that_fails_open_is_told() -> None:
    """What the library warns of while cases run stands on standard error, or in the JSON, there once."""
    warning = "slow_words failed (RuntimeError): with `on_error: pass`, text passes that it has not looked at"
    done = call("test", "open.yaml")
    assert done.returncode == 0
    assert set(done.stderr.decode().splitlines()) == {f"guardrails: {warning}"}
    done = call("test", "--json", "open.yaml", "passing.yaml")
    assert (done.returncode, done.stderr) == (0, b"")
    assert [each["warnings"] for each in json.loads(done.stdout)] == [[warning], []]


def test_failing_cases() -> None:
    """A case that fails says where it stands, how it was cut, and what came instead; the code is 1."""
    done = call("test", "cases.yaml")
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.decode().splitlines() == [
        "cases.yaml",
        r"  ok    a key, \x1b[31min red",
        "  FAIL  what cannot be  cases.yaml:6, as given",
        "        the text is '[KEY]', expected 'other'",
        "        nothing was blocked, expected a tripwire",
        "1 passed, 1 failed",
    ]


def test_no_cases() -> None:
    """A configuration without cases has not been tested: the code is 1."""
    done = call("test", "redact.yaml")
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout == b"redact.yaml\n  no cases; add some under `tests:`\n"


def test_cases_of_a_wrong_configuration() -> None:
    """It is told, the others are tested, and the code is 2."""
    done = call("test", "wrong.yaml", "passing.yaml")
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == b"1 passed"
    assert [line[:24] for line in done.stderr.decode().splitlines()] == ["guardrails: wrong.yaml:3"] * 2


def test_cases_for_machines() -> None:
    """With --json all is on standard output, what is wrong too, and nothing on standard error."""
    done = call("test", "--json", "cases.yaml", "redact.yaml", "wrong.yaml")
    assert (done.returncode, done.stderr) == (2, b"")
    tested, empty, wrong = json.loads(done.stdout)
    assert (tested["config"], tested["ok"], tested["file"]) == ("cases.yaml", False, "cases.yaml")
    assert tested["cases"][0] == {
        "name": "a key, \x1b[31min red",
        "line": 5,
        "ok": True,
        "cutting": None,
        "failures": [],
    }
    assert (tested["cases"][1]["line"], tested["cases"][1]["cutting"]) == (6, "as given")
    assert (empty["ok"], empty["cases"]) == (False, [])
    assert (wrong["ok"], len(wrong["problems"])) == (False, 2)
