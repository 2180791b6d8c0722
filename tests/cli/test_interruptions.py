"""Ctrl-C, a reader that has enough, a full disk, streams that are not there: commands end as they should."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import MODULE, delta, ended, execute, shell, talk, texts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and devices are as on Unix")

CASES = "tests: [{name: slow, text: [It is bad. And so on.], expect: {text: 'It is [BAD]. And so on.'}}]\n"


@pytest.mark.parametrize("config", ["redact.yaml", "slow.yaml"])
def test_ctrl_c_ends_a_run_silently(config: str) -> None:
    """While it waits for input, the process dies of SIGINT at once and says nothing."""
    with talk("run", config) as command:
        command.give(b'{"type":"start","payload":{}}\n')
        assert command.take()["type"] == "start"
        command.process.send_signal(signal.SIGINT)
        assert ended(command.process) == (-signal.SIGINT, b"")


def test_ctrl_c_ends_the_cases_silently(at: Path) -> None:
    """While cases run, the process dies of SIGINT at once; what it has told stands."""
    (at / "cases.yaml").write_text((at / "slow.yaml").read_text() + CASES)
    with talk("test", "cases.yaml") as command:
        assert command.line() == b"cases.yaml\n"
        command.process.send_signal(signal.SIGINT)
        assert ended(command.process) == (-signal.SIGINT, b"")


def test_ctrl_c_is_ignored_in_the_background() -> None:
    """A shell may start what it puts into the background with Ctrl-C ignored; it stays so."""
    command = [*MODULE, "run", "redact.yaml"]
    with subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),  # noqa: PLW1509
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(delta("one"))
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["payload"]["text"] == "one"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(delta("two"))
        assert json.loads(out)["payload"]["text"] == "two"
        assert process.returncode == 0


def test_a_closed_output_ends_a_run_silently(at: Path) -> None:
    """When whoever reads has enough, the process dies of SIGPIPE and says nothing."""
    (at / "in.jsonl").write_bytes(delta("word ") * 20_000)
    done = shell("guardrails run redact.yaml in.jsonl | head -n 1; echo ${PIPESTATUS[0]}")
    line, status = done.stdout.splitlines()
    assert json.loads(line)["payload"]["text"] == "word "
    assert (int(status), done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("command", ["schema", "--help"])
def test_a_closed_output_ends_every_command_silently(command: str) -> None:
    """What prints much, or little, is quiet about a pipe that nobody reads."""
    done = shell(f"{{ sleep 0.1; guardrails {command}; echo $? >&2; }} | true")
    assert done.stderr.decode() == f"{128 + signal.SIGPIPE}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "line",
    ["run redact.yaml", "check redact.yaml", "--help", "run --help"],
)
def test_a_full_disk_is_told(line: str) -> None:
    """When the output cannot be written, the code is 2 and one line says why."""
    with Path("/dev/full").open("wb") as full:
        done = execute([*MODULE, *line.split()], delta("one"), full)
    assert (done.returncode, done.stderr) == (2, b"guardrails: standard output: No space left on device\n")


def test_a_full_disk_is_in_the_summary() -> None:
    """The summary of a run that could not write says that it broke off."""
    done = shell("guardrails run redact.yaml --json > /dev/full", delta("one"))
    told = json.loads(done.stderr)
    assert (done.returncode, told["status"]) == (2, "error")
    assert told["error"] == "standard output: No space left on device"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("run redact.yaml <&-", 2, "guardrails: standard input is closed\n"),
        ("run redact.yaml >&-", 2, "guardrails: standard output is closed\n"),
        ("list >&-", 2, "guardrails: standard output is closed\n"),
        ("run block.yaml 2>&-", 3, ""),
        ("run block.yaml --summary 2>/dev/full", 3, ""),
        ("run absent.yaml <&- >&- 2>&-", 2, ""),
    ],
)
def test_streams_that_are_not_there(line: str, code: int, said: str) -> None:
    """A stream that is closed, or takes nothing, is told where that can be; the code is as it is due."""
    done = shell(f"guardrails {line}", delta("sk-abcdef"))
    assert (done.returncode, done.stderr.decode()) == (code, said)


def test_a_file_takes_the_place_of_a_closed_input(at: Path) -> None:
    """Without standard input, a file can be guarded all the same."""
    (at / "in.jsonl").write_bytes(delta("one"))
    done = shell("guardrails run redact.yaml in.jsonl <&-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert texts(done.stdout) == "one"
