"""The command `guardrails`, run as people run it: in processes of its own, through pipes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Final

import pytest

MODULE: Final = [sys.executable, "-m", "guardrails"]
SCRIPT: Final = [str(Path(sys.executable).with_name("guardrails"))]
SECONDS: Final = 30
"""How long anything may take before a test fails; no test waits for so long."""

PLAIN_LOCALE: Final = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

HEAD: Final = "version: 1\noutput_processors:\n"
KEY: Final = "rules: [{name: key, pattern: 'sk-[a-z]{4,20}'}]"
CONFIGS: Final = {
    "redact": f"  - {{type: regex, id: secrets, {KEY}}}\n",
    "block": f"  - {{type: regex, id: no-keys, strategy: block, {KEY}}}\n",
    "slow": "  - {type: slow_words, strategy: redact}\n",
    "slow-block": "  - {type: slow_words, strategy: block}\n",
}
SLOW: Final = """
import re

import anyio

from guardrails import Detection, TextProcessor


class SlowWords(TextProcessor):
    async def detect(self, segments):
        await anyio.sleep(0.3)
        return [
            [Detection(*each.span(), "BAD", "test.bad") for each in re.finditer("bad", segment.text)]
            for segment in segments
        ]
"""


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with configurations, and a processor of somebody else's on the import path."""
    for name, entries in CONFIGS.items():
        (tmp_path / f"{name}.yaml").write_text(HEAD + entries)
    site = tmp_path / "site"
    entry_points = "[guardrails.processors]\nslow_words = slow_words:SlowWords\n"
    distribute(site, "slow-words", {"entry_points.txt": entry_points})
    (site / "slow_words.py").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(site))
    return tmp_path


def distribute(site: Path, name: str, files: dict[str, str]) -> None:
    """Write what an installer leaves of a distribution."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    for file, text in files.items():
        (info / file).write_text(text)


def delta(text: str) -> bytes:
    """The line of one text delta."""
    return json.dumps({"type": "text-delta", "payload": {"id": "t", "text": text}}).encode() + b"\n"


def texts(output: bytes) -> str:
    """The text of all deltas of an output."""
    chunks = [json.loads(line) for line in output.splitlines()]
    return "".join(chunk["payload"]["text"] for chunk in chunks if chunk["type"] == "text-delta")


Done = subprocess.CompletedProcess[bytes]


def execute(
    command: list[str], given: bytes = b"", stdout: Any = subprocess.PIPE, env: dict[str, str] | None = None
) -> Done:
    """Run a command line to its end."""
    return subprocess.run(  # noqa: S603
        command,
        input=given,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        timeout=SECONDS,
        check=False,
    )


def run(*args: str, given: bytes = b"", env: dict[str, str] | None = None) -> Done:
    """Run `guardrails` to its end."""
    return execute([*MODULE, *args], given, env=env)


class Talk:
    """A running command that is given lines and asked for lines."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._lines: Queue[bytes] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def close(self) -> None:
        """Let its output be closed; the process must have ended."""
        self._reader.join(SECONDS)

    def give(self, data: bytes) -> None:
        """Write to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def take(self) -> Any:
        """The chunk of its next line."""
        return json.loads(self._lines.get(timeout=SECONDS))

    def takes_nothing(self, seconds: float) -> bool:
        """Whether no line comes for so long."""
        time.sleep(seconds)
        return self._lines.empty()


@contextmanager
def talk(*args: str) -> Iterator[Talk]:
    """Talk to a command; it is killed if it is still there at the end."""
    with subprocess.Popen(  # noqa: S603
        [*MODULE, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        # A test runner in the background ignores Ctrl-C, and what it starts would too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        talking = Talk(process)
        try:
            yield talking
        finally:
            process.kill()
            talking.close()


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, bytes]:
    """How a process that ends by itself ended: its code and what it said on standard error."""
    assert process.stderr is not None
    code = process.wait(SECONDS)
    return code, process.stderr.read()


def test_each_chunk_leaves_before_the_next_line_comes() -> None:
    """What can leave after a line is written before the next one is there; what is undecided is not."""
    with talk("run", "redact.yaml") as command:
        command.give(delta("one"))
        assert command.take()["payload"]["text"] == "one"
        command.give(delta(" two sk-ab"))
        assert command.take()["payload"]["text"] == " two "
        command.give(delta("cdef"))
        assert command.takes_nothing(0.2)
        command.give(b'{"type":"text-end","payload":{"id":"t"}}\n')
        assert command.take()["payload"]["text"] == "[KEY]"
        assert command.take()["type"] == "text-end"


def test_a_line_may_come_in_pieces() -> None:
    """A line counts when its end is there, however it was cut."""
    with talk("run", "redact.yaml") as command:
        line = delta("ä word")
        command.give(line[:20])
        assert command.takes_nothing(0.2)
        command.give(line[20:] + delta(" more")[:5])
        assert command.take()["payload"]["text"] == "ä word"


def test_checks_go_on_while_the_input_is_silent() -> None:
    """A slow check is answered, and its text leaves, though nothing more is read."""
    with talk("run", "slow.yaml") as command:
        command.give(delta("It is bad. And"))
        assert command.take()["payload"]["text"] == "It is [BAD]. "


def test_a_check_blocks_while_the_input_is_silent() -> None:
    """The command ends when it blocks and does not wait for its input to go on."""
    with talk("run", "slow-block.yaml") as command:
        command.give(delta("It is bad. And"))
        code, said = ended(command.process)
    assert code == 3
    assert said == b"guardrails: blocked: slow_words found BAD in the text.\n"


def test_what_is_clean_passes_exactly() -> None:
    """Every chunk of any type comes out equal and in order, from a file as from a pipe; the code is 0."""
    recorded = sorted((Path(__file__).parent / "data" / "mastra").glob("*.jsonl"))
    assert recorded
    for path in recorded[:3]:
        from_file = run("run", "redact.yaml", str(path))
        assert (from_file.returncode, from_file.stderr) == (0, b"")
        given = [json.loads(line) for line in path.read_text().splitlines()]
        assert [json.loads(line) for line in from_file.stdout.splitlines()] == given
        assert run("run", "redact.yaml", given=path.read_bytes()).stdout == from_file.stdout


def test_what_is_found_is_redacted_across_lines() -> None:
    """A finding that is cut into several lines is one, and the code is 0."""
    done = run("run", "redact.yaml", "-", given=b"".join(map(delta, ["a s", "k-ab", "cdef", " b"])))
    assert (done.returncode, texts(done.stdout), done.stderr) == (0, "a [KEY] b", b"")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_line_ends_do_not_matter(end: bytes) -> None:
    """Lines may end as on Windows, and the last one need not end."""
    done = run("run", "redact.yaml", given=delta("one").strip() + (end or b"\n") + delta("two").strip() + end)
    assert (done.returncode, texts(done.stdout)) == (0, "onetwo")


def test_many_lines_come_through_in_order() -> None:
    """Lines that fill many blocks, one of them larger than a block, arrive whole and in order."""
    words = [f"{number} " for number in range(5000)] + ["x" * 300_000, " end"]
    done = run("run", "redact.yaml", given=b"".join(map(delta, words)))
    assert (done.returncode, texts(done.stdout)) == (0, "".join(words))


def test_blocking_says_who_and_why() -> None:
    """Refused content ends the stream with a tripwire, code 3 and one line without that content."""
    done = run("run", "block.yaml", given=delta("take sk-abcdef now"))
    assert done.returncode == 3
    assert done.stderr == b"guardrails: blocked: no-keys found KEY in the text.\n"
    assert texts(done.stdout) == "take "
    assert b"tripwire" in done.stdout
    assert b"sk-abc" not in done.stdout


def test_a_broken_line_is_named() -> None:
    """Blank lines count; all before the broken line leaves, decided as if the stream ended there."""
    given = b"\n" + delta("one sk-abcdef") + b"  \n{broken\n" + delta("two")
    done = run("run", "redact.yaml", given=given)
    assert done.returncode == 2
    assert texts(done.stdout) == "one [KEY]"
    assert done.stderr == b"guardrails: standard input:4: chunk: not JSON at column 2\n"


def test_a_broken_line_of_a_file_is_named_with_the_file(at: Path) -> None:
    """The message has the file's name as it was given; JSON that is no chunk is an error too."""
    (at / "in.jsonl").write_bytes(delta("one") + b"[1]\n")
    done = run("run", "redact.yaml", "in.jsonl")
    assert done.returncode == 2
    assert done.stderr == b"guardrails: in.jsonl:2: chunk: an object is required, got an array\n"


def test_blocking_wins_over_a_broken_line() -> None:
    """If what was held before a broken line is refused, the command says that it blocked."""
    done = run("run", "block.yaml", given=delta("one sk-abcdef") + b"broken\n")
    assert done.returncode == 3
    assert done.stderr.startswith(b"guardrails: blocked: no-keys ")
    assert texts(done.stdout) == "one "


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_wrong_configuration_is_told_in_lines(at: Path, command: str) -> None:
    """The code is 2, and each error is one line that begins with the command's name."""
    (at / "wrong.yaml").write_text(HEAD + "  - {type: regex, presets: [x], mode: 1}\n")
    done = run(command, "wrong.yaml")
    first, second = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (2, b"")
    assert first.startswith(
        "guardrails: wrong.yaml:3:29: output_processors[0].presets[0]: there is no preset"
    )
    assert second.startswith("guardrails: wrong.yaml:3:33: output_processors[0].mode: unknown key; ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["run", "absent.yaml"], "absent.yaml: there is no such file"),
        (["check", "absent.yaml"], "absent.yaml: there is no such file"),
        (["run", "redact.yaml", "absent.jsonl"], "absent.jsonl: No such file or directory"),
        (["run", "redact.yaml", "."], ".: Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(args: list[str], message: str) -> None:
    """The code is 2, and one line says which file and why."""
    done = run(*args)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"guardrails: {message}\n")


def test_check_lists_the_processors(at: Path) -> None:
    """One line a processor, members of groups too, then `ok`."""
    (at / "all.yaml").write_text(
        HEAD + "  - {type: regex, id: größe, presets: [private-data]}\n"
        "  - parallel:\n"
        "      - {type: regex, id: no-keys, strategy: block, rules: [{name: key, pattern: x}]}\n"
        "      - {type: slow_words}\n"
    )
    done = run("check", "all.yaml", env=PLAIN_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines() == [
        "größe (regex): redact",
        "no-keys (regex, in parallel): block",
        "slow_words (slow_words, in parallel): redact",
        "ok",
    ]


@pytest.mark.parametrize("text", ["größer 😀", "half \ud83d", "line\u2028end"])
def test_any_text_passes_in_any_locale(text: str) -> None:
    """Bytes are UTF-8 whatever the locale says, and half a surrogate pair survives."""
    given = json.dumps({"type": "text-delta", "payload": {"id": "t", "text": text}}).encode()
    done = run("run", "redact.yaml", given=given, env=PLAIN_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.decode().splitlines()) == done.stdout.count(b"\n")
    assert texts(done.stdout) == text
    if "\ud83d" not in text:
        raw = json.dumps(json.loads(given), ensure_ascii=False).encode()
        assert run("run", "redact.yaml", given=raw, env=PLAIN_LOCALE).stdout == done.stdout


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="there are no signals for pipes")
def test_a_closed_output_ends_it_silently(at: Path) -> None:
    """When whoever reads has enough, the process dies of SIGPIPE and says nothing."""
    (at / "in.jsonl").write_bytes(delta("word ") * 20_000)
    command = [*MODULE, "run", "redact.yaml", "in.jsonl"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["payload"]["text"] == "word "
        process.stdout.close()
        assert ended(process) == (-signal.SIGPIPE, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on Unix")
@pytest.mark.parametrize("config", ["redact.yaml", "slow.yaml"])
def test_ctrl_c_ends_it_silently(config: str) -> None:
    """While it waits for input, the process dies of SIGINT at once and says nothing."""
    with talk("run", config) as command:
        command.give(b'{"type":"start","payload":{}}\n')
        assert command.take()["type"] == "start"
        command.process.send_signal(signal.SIGINT)
        assert ended(command.process) == (-signal.SIGINT, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_told() -> None:
    """When the output cannot be written, the code is 2 and one line says why."""
    with Path("/dev/full").open("wb") as full:
        done = execute([*MODULE, "run", "redact.yaml"], delta("one"), full)
    assert (done.returncode, done.stderr) == (2, b"guardrails: standard output: No space left on device\n")


def test_the_script_and_the_module_are_one_command() -> None:
    """`guardrails` and `python -m guardrails` say and do the same."""
    for args in (["--version"], ["--help"], ["run", "--help"], ["check", "redact.yaml"]):
        script, module = execute([*SCRIPT, *args]), execute([*MODULE, *args])
        assert script.returncode == module.returncode == 0
        assert script.stdout == module.stdout
        assert script.stdout.startswith((b"guardrails ", b"Usage: guardrails ", b"secrets (regex)"))


@pytest.mark.parametrize("name", ["guardrails-ai", "openai-guardrails", "some-guardrails"])
def test_a_package_of_the_same_name_is_told(at: Path, name: str) -> None:
    """If another distribution brings the package, one line names it and what to do; the code is 2."""
    distribute(at / "site", name, {"top_level.txt": "guardrails\n"})
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
