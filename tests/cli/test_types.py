"""`guardrails list`, `show` and `schema`: what can stand in a configuration."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.inside import call
from tests.cli.processes import shell


def section(output: str, title: str) -> list[str]:
    """The lines that follow a title, until the next blank one."""
    _, _, rest = output.partition(f"{title}  ")
    return rest.partition("\n\n")[0].splitlines()


def test_list_is_for_people() -> None:
    """Each type has its distribution, settings and codes, in 80 columns; one that is broken says why."""
    done = call("list")
    told = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert max(map(len, told.splitlines())) <= 80
    assert section(told, "\nslow_words") == [
        "other-processors 1.0",
        "  Finds a word, slowly.",
        "  settings  id, word, seconds, timeout, strategy, retry, on_error, surfaces,",
        "            key_env, max_hold, max_waiting",
        "  codes     processor.failed, limit.hold, limit.waiting, limit.texts",
    ]
    broken = " ".join(section(told, "\nbroken"))
    assert "cannot be used:" in broken
    assert "cannot be imported" in broken
    regex = " ".join(section(told, "\nregex"))
    assert "pii.email_address," in regex
    assert "secrets.* (" in regex
    presets = told.partition("\nPresets\n")[2]
    assert [line.split()[0] for line in presets.splitlines()] == ["default", "observe", "strict"]


def test_list_for_machines() -> None:
    """With --json there is everything: each code with what it stands for, and where presets are."""
    told = json.loads(call("list", "--json").stdout)
    types = {each["type"]: each for each in told["types"]}
    assert told["group"] == "guardrails.processors"
    assert types["slow_words"]["settings"][:2] == ["id", "word"]
    assert types["regex"]["codes"]["pii.email_address"].startswith("EMAIL_ADDRESS")
    assert sum(code.startswith("secrets.") for code in types["regex"]["codes"]) > 20
    assert "cannot be imported" in types["broken"]["error"]
    assert set(told["presets"]) >= {"default", "strict"}


def test_show_is_for_people() -> None:
    """A type has what it says of itself, each setting with what it may be, and each code, in 80 columns."""
    done = call("show", "regex")
    told = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert max(map(len, told.splitlines())) <= 80
    assert '  id  text; "regex" if left out\n' in told
    assert "  rules  a list of mappings; [] if left out\n" in told
    assert "      pattern  text; required\n          A regular expression" in told
    assert '  strategy  block | remove | redact | hash | mask | warn; "redact" if left out\n' in told
    assert "  key_env  text; optional\n" in told
    assert "\n  secrets.aws_access_key" in told.partition("\nCodes\n")[2]


def test_show_for_machines() -> None:
    """With --json there is the schema of an entry, by which one can be checked."""
    told = json.loads(call("show", "slow_words", "--json").stdout)
    assert told["distribution"] == "other-processors 1.0"
    jsonschema.validate({"type": "slow_words", "word": "bad"}, told["schema"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"type": "slow_words", "words": "bad"}, told["schema"])


def test_show_a_preset() -> None:
    """A preset is no type; where it can be read is said."""
    done = call("show", "strict")
    assert done.returncode == 2
    assert "'strict' is a preset and no type of processor; read it in " in done.stderr.decode()


def test_show_an_unknown_type() -> None:
    """It is told with those there are, and the code is 2; with --json as JSON on standard output alone."""
    done = call("show", "regexp")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"guardrails: there is no processor type 'regexp'; did you mean")
    done = call("show", "regexp", "--json")
    assert (done.returncode, done.stderr) == (2, b"")
    assert json.loads(done.stdout)["error"].startswith(
        "there is no processor type 'regexp'; did you mean 'regex'?"
    )


def test_schema_knows_what_is_installed() -> None:
    """It is a schema, has somebody else's processors, and lets pass what can be loaded."""
    schema = json.loads(call("schema").stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    config = {"version": 1, "output_processors": [{"type": "slow_words", "word": "x"}]}
    jsonschema.validate(config, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**config, "output_processors": [{"type": "fast_words"}]}, schema)


WORDS = [
    ("guardrails ch", ["plain,check"]),
    ("guardrails check ", ["plain,default", "plain,observe", "plain,strict"]),
    ("guardrails check re", ["plain,redact.yaml"]),
    ("guardrails run default some", ["file,some"]),
    ("guardrails run default --from ", ["plain,jsonl", "plain,sse", "plain,text"]),
    ("guardrails init --from s", ["plain,strict"]),
    ("guardrails test sub/", ["plain,sub/one.yaml"]),
    ("guardrails show slow", ["plain,slow_words"]),
]


@pytest.mark.parametrize(("words", "expected"), WORDS)
def test_a_shell_completes(
    at: Path, monkeypatch: pytest.MonkeyPatch, words: str, expected: list[str]
) -> None:
    """Commands, options, presets and YAML files, types and the choices of options are completed."""
    (at / "sub").mkdir()
    (at / "sub" / "one.yaml").touch()
    monkeypatch.setenv("_GUARDRAILS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    done = call()
    answer = done.stdout.decode().splitlines()
    assert (answer[: len(expected)], done.stderr) == (expected, b"")
    if words == "guardrails check ":
        assert "plain,redact.yaml" in answer
    else:
        assert len(answer) == len(expected)


def test_bash_takes_the_completion() -> None:
    """What ~/.bashrc evaluates is right, and registers the command."""
    done = shell('eval "$(_GUARDRAILS_COMPLETE=bash_source guardrails)"; complete -p guardrails')
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.rstrip().endswith(b" guardrails")
