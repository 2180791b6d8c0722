"""The help of each command: there are examples, they run, and nothing is wider than a terminal."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from guardrails.cli import command
from tests.cli.inside import call
from tests.cli.processes import MODULE, SCRIPT, Done, delta, execute, shell
from tests.helpers import distribute

COMMANDS = ("check", "init", "list", "run", "schema", "show", "test")
CASES = "tests: [{name: clean, text: clean, expect: {text: clean}}]\n"
SAID = {
    "": r"wrote .*guard\.yaml: ok.* passed\nMail \[EMAIL_ADDRESS\]\n",
    "check": r"guard\.yaml: ok.*\"config\": \"configs/one\.yaml\"",
    "init": r"wrote guard\.yaml.*wrote strict\.yaml.*wrote guard\.yaml",
    "list": r"Types of processors.*\"types\": \[",
    "run": r"data: \[DONE\]\n.*Mail \[EMAIL_ADDRESS\]\n",
    "schema": r"^$",
    "show": r"^regex .*\nCodes\n",
    "test": r"1 passed\n.*\"ok\": true",
}
"""What the examples of a command print."""

OTHER_PROGRAMS = ("curl", "my-agent")


def help_of(*names: str) -> str:
    done = CliRunner().invoke(command, [*names, "--help"], prog_name="guardrails")
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def examples(text: str) -> list[str]:
    """The command lines below `Example:` or `Examples:`, without what is said of them."""
    (found,) = re.findall(r"^  Examples?:\n((?:    .+\n)+)", text, re.MULTILINE)
    return [re.split(r"\s{2,}", line.strip())[0] for line in found.splitlines()]


def performed(line: str) -> Done:
    """Do what a command line says, with a shell if it takes one."""
    return shell(f"set -o pipefail; {line}") if set("|>*") & set(line) else call(*shlex.split(line)[1:])


def test_every_command_is_listed() -> None:
    """The help names each command with a sentence that is not cut off, and the completion of shells."""
    text = help_of()
    listed = re.findall(r"^  (\w+) +[A-Z].*\.$", text.partition("Commands:\n")[2], re.MULTILINE)
    assert tuple(listed) == COMMANDS
    assert "..." not in text.partition("Commands:\n")[2]
    assert 'eval "$(_GUARDRAILS_COMPLETE=bash_source guardrails)"' in text


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_the_examples_run(at: Path, name: str) -> None:
    """The help fits 80 columns, and each example that needs no other program does what it is for."""
    text = help_of(*name.split())
    assert max(map(len, text.splitlines())) <= 80
    own = [line for line in examples(text) if not line.startswith(OTHER_PROGRAMS)]
    if name not in {"", "init"}:
        (at / "guard.yaml").write_text((at / "redact.yaml").read_text() + CASES)
    (at / "chunks.jsonl").write_bytes(delta("Mail me@example.com"))
    (at / "configs").mkdir()
    (at / "configs" / "one.yaml").write_text((at / "redact.yaml").read_text())
    done = [performed(line) for line in own]
    assert [each.returncode for each in done] == [0] * len(own), done
    assert re.search(SAID[name], b"".join(each.stdout for each in done).decode(), re.DOTALL)


def test_a_misspelt_command_is_told() -> None:
    """It is named with what may be meant, and the code is 2."""
    done = call("chek")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"No such command 'chek'." in done.stderr


def test_the_script_and_the_module_are_one_command() -> None:
    """`guardrails` and `python -m guardrails` say and do the same."""
    script, module = (execute([*start, "check"]) for start in (SCRIPT, MODULE))
    assert script.returncode == module.returncode == 2
    assert script.stderr == module.stderr
    assert script.stderr.startswith(b"Usage: guardrails check ")


@pytest.mark.parametrize("name", ["guardrails-ai", "some-guardrails"])
def test_a_package_of_the_same_name_is_told(at: Path, name: str) -> None:
    """If another distribution brings the package, one line names it and what to do; the code is 2."""
    distribute(at / "site", name, {}, package="guardrails")
    (at / "site" / "guardrails").mkdir()
    (at / "site" / "guardrails" / "__init__.py").write_text("raise SystemError\n")
    done = execute([*SCRIPT, "--version"])
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        f'guardrails: the import name "guardrails" also belongs to {name}, installed in this environment; '
        f"one environment can hold one of them: pip uninstall {name}, "
        "then pip install --force-reinstall guardrail-processors\n"
    )


def test_a_package_of_nobody_is_told(at: Path) -> None:
    """If the package on the import path is not ours, and no distribution's, one line says where it is."""
    (at / "site" / "guardrails").mkdir()
    other = at / "site" / "guardrails" / "__init__.py"
    other.touch()
    done = execute([*SCRIPT, "--version"])
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        f'guardrails: the import name "guardrails" stands for {other}, which is not of guardrail-processors; '
        "rename it or take it off the import path\n"
    )


def test_importing_is_light() -> None:
    """The command loads no processor before it is asked for one, and no test tools."""
    code = "import guardrails.cli, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(execute([sys.executable, "-c", code]).stdout.decode().split())
    assert "guardrails" in loaded
    assert not loaded & {"processors", "hypothesis", "pytest", "other_processors"}
