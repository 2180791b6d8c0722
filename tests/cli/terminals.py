"""Running the command with a terminal of its own."""

import os
import pty
import struct
import subprocess
import termios
from collections.abc import Sequence
from fcntl import ioctl
from typing import Any, Literal, NamedTuple, get_args

from tests.cli.processes import MODULE, SECONDS

Stream = Literal["stdin", "stdout", "stderr"]


class Seen(NamedTuple):
    """What a person saw of a command, byte by byte, and how it ended."""

    screen: str
    code: int


def watch(*args: str, on: Sequence[Stream] = ("stdout", "stderr"), columns: int = 80, **streams: Any) -> Seen:
    """Run `guardrails` with a terminal as some of its streams, the others as given (or /dev/null)."""
    outer, inner = pty.openpty()
    ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm", **streams.pop("env", {})}
    ends = {**dict.fromkeys(get_args(Stream), subprocess.DEVNULL), **streams, **dict.fromkeys(on, inner)}
    with subprocess.Popen([*MODULE, *args], env=env, **ends) as process:  # noqa: S603
        os.close(inner)
        screen = _read(outer)
        return Seen(screen.replace("\r\n", "\n"), process.wait(SECONDS))


def _read(terminal: int) -> str:
    """All that is written until nobody has the terminal open any more."""
    seen = b""
    try:
        while block := os.read(terminal, 65536):
            seen += block
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(terminal)
    return seen.decode()
