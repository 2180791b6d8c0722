"""Running the command `guardrails` in this process, where a process of its own is not what is looked at."""

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile
from typing import IO
from unittest.mock import patch

from guardrails.cli import command
from tests.cli.processes import Done


def call(*args: str, given: bytes = b"") -> Done:
    """Run `guardrails` to its end, with files as its standard streams."""
    with ExitStack() as stack:
        stdin, stdout, stderr = streams = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        stdin.write(given)
        stdin.seek(0)
        with _as_standard(streams), patch.dict(os.environ, COLUMNS="80"):
            code = _code(args)
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess(args, code, stdout.read(), stderr.read())


@contextmanager
def _as_standard(streams: Sequence[IO[bytes]]) -> Iterator[None]:
    stdin, stdout, stderr = texts = [io.TextIOWrapper(stream, "utf-8") for stream in streams]
    with patch.multiple(sys, stdin=stdin, stdout=stdout, stderr=stderr):
        yield
    for text in texts:
        text.detach()  # flushes it, and leaves the file open


def _code(args: tuple[str, ...]) -> int:
    try:
        command.main(list(args), prog_name="guardrails")
    except SystemExit as end:
        return int(end.code or 0)
    raise AssertionError("the command has not ended")
