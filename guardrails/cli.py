"""The command line: `guardrails run` guards a stream of JSON lines, `guardrails check` a configuration."""

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import anyio
import anyio.to_thread
import click

from guardrails.chunks import Chunk, ChunkError, dump_json, parse_chunk
from guardrails.config import ConfigError, load_pipeline
from guardrails.pipeline import Pipeline
from guardrails.processor import Processor
from guardrails.stream import Result
from guardrails.text.processor import Parallel, TextProcessor

DISTRIBUTION: Final = "guardrail-processors"
"""Whose package this is; `guardrail_processors_command` asks, since other packages have its name too."""

BAD_INPUT: Final = 2
BLOCKED: Final = 3

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_BLOCK: Final = 64 * 1024
_LONGEST_LINE: Final = 64 * 1024 * 1024


class InputError(Exception):
    """The input cannot be read on; the message says where and why."""


class OutputError(Exception):
    """Standard output cannot be written to; the message says why."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, prog_name="guardrails", message="%(prog)s %(version)s")
def command() -> None:
    """Guard what a language model says while it says it.

    \b
    Example:
      my-agent | guardrails run guard.yaml | my-app
    """  # noqa: D301 - \b is click's mark for lines to be left as they are


@command.command()
@click.argument("config")
@click.argument("file", default="-")
def run(config: str, file: str) -> None:
    """Guard the chunks in FILE, one JSON object a line, as CONFIG says.

    Without FILE, or with "-", standard input is read. Each chunk is written to standard output as soon as
    it is decided.

    \b
    Exit status:
      0  everything was let through, redacted or removed as configured
      2  the configuration or the input is not right
      3  a processor blocked the stream; standard error says which and why

    \b
    Example:
      guardrails run guard.yaml chunks.jsonl > guarded.jsonl
    """  # noqa: D301
    pipeline = _load(config)
    try:
        with _opened(file) as (descriptor, name):
            result = anyio.run(_guard, pipeline, descriptor, name)
    except (InputError, OutputError) as error:
        _fail(str(error))
    if result.status == "blocked" and result.tripwire is not None:
        said = result.tripwire.payload
        _say(f"blocked: {said.reason}")
        sys.exit(BLOCKED)


@command.command()
@click.argument("config")
def check(config: str) -> None:
    """Check CONFIG and list its processors.

    The exit status is 0 if it can be used and 2 if not; standard error then says what is wrong, and where.

    \b
    Example:
      guardrails check guard.yaml
    """  # noqa: D301
    lines = [*_described(_load(config).processors), "ok"]
    try:
        _put("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    except OutputError as error:
        _fail(str(error))


def _load(config: str) -> Pipeline:
    try:
        return load_pipeline(config)
    except ConfigError as error:
        _fail(*str(error).splitlines())


def _described(processors: Iterable[Processor], where: str = "") -> Iterator[str]:
    for processor in processors:
        if isinstance(processor, Parallel):
            yield from _described(processor.members, ", in parallel")
            continue
        strategy = f": {processor.strategy}" if isinstance(processor, TextProcessor) else ""
        yield f"{processor.id} ({processor.type_name}{where}){strategy}"


def _say(message: str) -> None:
    # As one line, whatever a reason holds, and in any locale.
    line = " ".join(message.split()).encode("utf-8", "backslashreplace")
    click.echo(b"guardrails: " + line, err=True)


def _fail(*messages: str) -> NoReturn:
    for message in messages:
        _say(message)
    sys.exit(BAD_INPUT)


async def _guard(pipeline: Pipeline, descriptor: int, name: str) -> Result:
    """Send the chunks of a file through a pipeline to standard output.

    Raises:
        InputError: a line is no chunk or reading failed, after all that could be let out has been.
        OutputError: writing failed.
    """
    async with pipeline.stream(_chunks(descriptor, name), collect=False) as guarded:
        async for chunk in guarded:
            _put(dump_json(chunk).encode() + b"\n")
    return guarded.result


async def _chunks(descriptor: int, name: str) -> AsyncIterator[Chunk]:
    """The chunks of a file, each as soon as its line is there.

    Raises:
        InputError: a line is no chunk, or reading failed.
    """
    number = 0
    async for line in _lines(descriptor, name):
        number += 1
        line = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line  # noqa: PLW2901
        if not line.strip():
            continue
        try:
            chunk = parse_chunk(line)
        except ChunkError as error:
            # The line is known better here: a JSON text that is one line has no other.
            fault = str(error).replace("at line 1, column", "at column")
            raise InputError(f"{name}:{number}: {fault}") from None
        yield chunk


async def _lines(descriptor: int, name: str) -> AsyncIterator[bytes]:
    """Lines as bytes; the last one may lack its end."""
    rest: list[bytes] = []
    held = number = 0
    while block := await _read(descriptor, name):
        first, *others = block.split(b"\n")
        rest.append(first)
        held += len(first)
        if held > _LONGEST_LINE:
            raise InputError(f"{name}:{number + 1}: the line is longer than {_LONGEST_LINE} bytes")
        if not others:
            continue
        yield b"".join(rest)
        for line in others[:-1]:
            yield line
        number += len(others)
        rest, held = [others[-1]], len(others[-1])
    if last := b"".join(rest):
        yield last


async def _read(descriptor: int, name: str) -> bytes:
    """Whatever is there to read, at most a block; nothing at the end. The event loop goes on meanwhile."""
    try:
        if sys.platform != "win32":
            try:
                # A pipe or terminal: waiting for it can be cancelled, and leaves no thread in read() that
                # would keep the process from ending after a block.
                await anyio.wait_readable(descriptor)
            except OSError:  # a file or a device such as /dev/null, for which there is no waiting
                pass
            else:
                return os.read(descriptor, _BLOCK)
        return await anyio.to_thread.run_sync(os.read, descriptor, _BLOCK, abandon_on_cancel=True)
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None


@contextmanager
def _opened(file: str) -> Iterator[tuple[int, str]]:
    """The descriptor of a file to read, and what to call it."""
    if file == "-":
        if sys.stdin is None:
            raise InputError("standard input is closed")
        yield sys.stdin.fileno(), "standard input"
        return
    try:
        opened = Path(file).open("rb", buffering=0)  # noqa: SIM115 - the errors of reading are not those of opening
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    with opened:
        yield opened.fileno(), file


def _put(data: bytes) -> None:
    """Write to standard output, at once.

    Raises:
        OutputError: it is closed, or cannot be written to (a full disk).
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed")
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        # What is still buffered would be tried, and fail, once more when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(f"standard output: {error.strerror}") from None
