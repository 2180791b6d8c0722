"""`guardrails init`: a file to start from, and nothing lost."""

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.inside import call

SCHEMA = "guardrails.schema.json"
FIRST = f"# yaml-language-server: $schema={SCHEMA}\n"


def test_what_it_writes_is_right_and_tested(at: Path) -> None:
    """The file is commented, knows its schema, can be checked as the output says, and its cases pass."""
    done = call("init")
    assert (done.returncode, done.stderr) == (0, b"")
    first, *commands = done.stdout.decode().splitlines()
    assert first == f"wrote guard.yaml and {SCHEMA}, with which an editor completes it; next:"
    assert commands == ["  guardrails check guard.yaml", "  guardrails test guard.yaml"]
    text = (at / "guard.yaml").read_text()
    assert text.startswith(FIRST)
    assert text.count("$schema") == 1
    assert text.count("\n#") > 3
    assert json.loads((at / SCHEMA).read_text())["properties"]["output_processors"]
    check, test = [call(*shlex.split(line)[1:]) for line in commands]
    assert (check.returncode, check.stderr, test.returncode, test.stderr) == (0, b"", 0, b"")
    assert test.stdout.endswith(b" passed\n")


def test_a_file_that_is_there_stays(at: Path) -> None:
    """A second time it refuses with code 2 and touches nothing; with --force it writes another preset."""
    (at / "guard.yaml").write_text("mine")
    done = call("init")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"guardrails: guard.yaml is already there; give another name, or --force to overwrite it\n"
    )
    assert (at / "guard.yaml").read_text() == "mine"
    assert not (at / SCHEMA).exists()
    assert call("init", "--force", "--from", "strict").returncode == 0
    assert "preset `strict`" in (at / "guard.yaml").read_text()


def test_a_name_without_an_ending(at: Path) -> None:
    """What it says to do next works for a name that would be a preset's, and for one with a space."""
    (at / "my rules").mkdir()
    for name, argument in (("guard", "./guard"), ("my rules/guard", "'my rules/guard'")):
        done = call("init", name)
        commands = done.stdout.decode().splitlines()[1:]
        assert commands == [f"  guardrails check {argument}", f"  guardrails test {argument}"]
        assert call(*shlex.split(commands[0])[1:]).returncode == 0
    assert (at / "my rules" / SCHEMA).exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["absent/guard.yaml"], "guardrails: absent/guard.yaml: No such file or directory\n"),
        (
            [SCHEMA],
            f"guardrails: {SCHEMA} is where the schema goes that stands beside the configuration; give ",
        ),
        (["sub/../" + SCHEMA, "--force"], f"guardrails: sub/../{SCHEMA} is where the schema goes "),
        (["--from", "nope"], "Error: Invalid value for '--from': 'nope' is not one of 'default',"),
        (["site"], "Error: Invalid value for '[FILE]': File 'site' is a directory.\n"),
    ],
)
def test_what_it_cannot_write_is_told(args: list[str], said: str) -> None:
    """A folder that is not there, a folder in place of a file, the schema's own name: the code is 2."""
    done = call("init", *args)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert not Path(SCHEMA).exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_told() -> None:
    """If the file cannot be written whole, one line says why."""
    done = call("init", "/dev/full", "--force")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"guardrails: /dev/full: No space left on device\n"
