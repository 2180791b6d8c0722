"""Running the command `guardrails` as people run it: in processes of its own, through pipes and terminals."""

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

MODULE: Final = [sys.executable, "-m", "guardrails"]
SCRIPT: Final = [str(Path(sys.executable).with_name("guardrails"))]
SECONDS: Final = 60
"""How long anything may take before a test fails; no test waits for so long."""

PLAIN_LOCALE: Final = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
CARD: Final = "4111 1111 1111 1111"

Done = subprocess.CompletedProcess[bytes]


def delta(text: str) -> bytes:
    """The line of one text delta."""
    return json.dumps({"type": "text-delta", "payload": {"id": "t", "text": text}}).encode() + b"\n"


def chunks(output: bytes) -> list[dict[str, Any]]:
    """The chunks of JSON lines."""
    return [json.loads(line) for line in output.splitlines()]


def texts(output: bytes) -> str:
    """The text of all deltas in JSON lines."""
    return "".join(chunk["payload"]["text"] for chunk in chunks(output) if chunk["type"] == "text-delta")


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


def shell(line: str, given: bytes = b"", env: dict[str, str] | None = None) -> Done:
    """Run a line of shell in which `guardrails` is the command."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return execute(["bash", "-c", line], given, env={"PATH": path, **(env or {})})


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

    def line(self) -> bytes:
        """Its next line."""
        return self._lines.get(timeout=SECONDS)

    def take(self) -> Any:
        """The chunk of its next line."""
        return json.loads(self.line())

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
