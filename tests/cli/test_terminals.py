"""On a terminal: colours, progress, lines that fit; and none of it where no person looks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.inside import call
from tests.cli.processes import delta, run, texts

if sys.platform == "win32":
    pytest.skip("terminals are made as on Unix", allow_module_level=True)

from tests.cli.terminals import watch

CLEARED = "\r\x1b[K"


@pytest.fixture
def given(at: Path) -> Path:
    """An input that takes a second with `late.yaml`."""
    file = at / "late.jsonl"
    file.write_bytes(delta("It is bad. And") + delta(" so on."))
    return file


def test_colours_are_for_terminals() -> None:
    """A terminal gets colours; with NO_COLOR it gets the words alone, as a pipe does."""
    plain = call("check", "redact.yaml").stdout.decode()
    coloured = watch("check", "redact.yaml").screen
    assert "\x1b[32mok\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    assert watch("check", "redact.yaml", env={"NO_COLOR": "1"}).screen == plain


def test_lines_fit_a_narrow_terminal() -> None:
    """What is long wraps at the width of the terminal, below where it begins."""
    screen = re.sub(r"\x1b\[\d+m", "", watch("list", columns=50).screen)
    lines = [line for line in screen.partition("\nPresets")[0].splitlines()[1:] if "(" not in line]
    assert max(map(len, lines)) <= 50
    assert "  codes     processor.failed, limit.hold,\n            limit.waiting, limit.texts\n" in screen


def test_what_is_said_after_text_stands_on_a_line_of_its_own() -> None:
    """If blocked text ends within a line on the terminal, the reason begins a new one."""
    with subprocess.Popen(["printf", "take sk-abcdef now"], stdout=subprocess.PIPE) as given:  # noqa: S607
        seen = watch("run", "block.yaml", "--text", stdin=given.stdout)
    assert seen.screen == "take \nguardrails: blocked: no-keys found KEY in the text.\n"
    assert seen.code == 3


def test_progress_is_shown_and_cleared(given: Path) -> None:
    """While a file is guarded into another one, the share is shown after a while; nothing of it is left."""
    with Path("out.jsonl").open("wb") as out:
        seen = watch("run", "late.yaml", str(given), "--summary", on=["stderr"], stdout=out)
    first, *shown, last = seen.screen.split(CLEARED)
    assert first == ""
    assert shown[0] == "100 % of 0.0 MB, 1 chunk out\r"
    assert last.startswith("guardrails: completed: 1 finding (test.bad 1); ")
    assert texts(Path("out.jsonl").read_bytes()) == "It is [BAD]. And so on."


def test_progress_without_a_size(given: Path) -> None:
    """What comes through a pipe into a file has no share, but an amount."""
    with Path("out.jsonl").open("wb") as out, cat(given) as before:
        seen = watch("run", "late.yaml", on=["stderr"], stdin=before.stdout, stdout=out)
    assert seen.screen.startswith(f"{CLEARED}0.0 MB, 1 chunk out\r")
    assert seen.screen.endswith(CLEARED)


def test_no_progress_on_a_terminal_that_has_the_output(given: Path) -> None:
    """Where the chunks themselves are seen, there is no progress between them."""
    seen = watch("run", "late.yaml", str(given))
    assert (texts(seen.screen.encode()), seen.code) == ("It is [BAD]. And so on.", 0)


def test_no_progress_where_nobody_looks(given: Path) -> None:
    """If standard error is no terminal, there is nothing on it."""
    assert run("run", "late.yaml", str(given)).stderr == b""


def test_no_progress_between_programs(given: Path) -> None:
    """Between two programs nobody waits, and the next one may write to the same terminal."""
    with cat(given) as before, cat() as after:
        seen = watch("run", "late.yaml", on=["stderr"], stdin=before.stdout, stdout=after.stdin)
        assert after.stdin is not None
        after.stdin.close()
        assert after.stdout is not None
        assert texts(after.stdout.read()) == "It is [BAD]. And so on."
    assert seen == ("", 0)


def cat(*files: Path) -> "subprocess.Popen[bytes]":
    """Another program in a pipeline."""
    return subprocess.Popen(["cat", *files], stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603, S607
