"""`guardrails run`: guards a stream from one file to another."""

import json
import sys
from typing import Final

import anyio
import click

from guardrails.adapters.text import to_chunks
from guardrails.cli.arguments import config_argument
from guardrails.cli.commands import Command
from guardrails.cli.logs import warnings_to
from guardrails.cli.progress import Progress
from guardrails.cli.reading import Form, InputError, Reader, opened
from guardrails.cli.summary import Summary
from guardrails.cli.terminal import BLOCKED, WRONG, OutputError, is_terminal, note, reason_of, say
from guardrails.cli.writing import Writer
from guardrails.config import load_config
from guardrails.document import INPUT, OUTPUT
from guardrails.pipeline import Pipeline
from guardrails.problems import ConfigError, Problem
from guardrails.stream import Result

_FORMS: Final = click.Choice(["jsonl", "sse", "text"])


@click.command(cls=Command, short_help="Guard a stream of chunks, or plain text.")
@config_argument
@click.argument("file", default="-", type=click.Path())
@click.option("--text", is_flag=True, help="Plain text in and out: short for --from text --to text.")
@click.option(
    "--from", "from_", type=_FORMS, help="The form of the input, where its first line does not tell."
)
@click.option("--to", type=_FORMS, help="The form of the output; that of the input if not given.")
@click.option(
    "--input", "as_input", is_flag=True, help="Guard it as what a user says, by `input_processors`."
)
@click.option("--summary", is_flag=True, help="At the end, say on standard error what was found.")
@click.option(
    "--json", "as_json", is_flag=True, help="Say all that goes to standard error as one line of JSON."
)
def run(  # noqa: PLR0913, PLR0917 - a command has its options
    config: str,
    file: str,
    text: bool,
    from_: Form | None,
    to: Form | None,
    as_input: bool,
    summary: bool,
    as_json: bool,
) -> None:
    """Guard the chunks in FILE as CONFIG says.

    Chunks are JSON, one a line or as server-sent events; the first line tells. Without FILE, or with "-",
    standard input is read. Each chunk is written to standard output as soon as it is decided.

    \b
    Exit status:
      0  everything was let through, redacted or removed as configured
      2  the configuration or the input is not right, or the output failed
      3  a processor blocked the stream; standard error says which and why

    \b
    Examples:
      guardrails run guard.yaml chunks.jsonl > guarded.jsonl
      guardrails run default chunks.jsonl --to sse --summary
      echo 'Mail me@example.com' | guardrails run default --text
      curl -sN https://agent.example/stream | guardrails run guard.yaml

    \b
    A chunk is a line such as
      {"type": "text-delta", "payload": {"id": "1", "text": "Mail me@"}}
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    if text and (from_ or to):
        raise click.UsageError("--text says what --from and --to say; give either")
    from_, to = ("text", "text") if text else (from_, to)
    outcome = Summary()
    try:
        pipeline = _pipeline(config, outcome, as_input=as_input)
        _run(pipeline, outcome, file, from_, to, quiet=as_json)
    except ConfigError as error:
        outcome.problems = error.problems
    except (InputError, OSError) as error:
        outcome.error = reason_of(error)
    _tell(outcome, summary=summary, as_json=as_json)
    if outcome.error or outcome.problems:
        sys.exit(WRONG)
    if outcome.status == "blocked":
        sys.exit(BLOCKED)


def _pipeline(config: str, outcome: Summary, *, as_input: bool) -> Pipeline:
    """The processors that guard what is said by one side.

    Raises:
        ConfigError: the configuration cannot be used, or has none for that side.
    """
    loaded = load_config(config, on_finding=outcome.note)
    pipeline = loaded.pipeline
    if as_input:
        pipeline = pipeline.input_pipeline()
    if not pipeline.processors:
        wanted = INPUT if as_input else OUTPUT
        hint = "" if as_input else f"; with --input, its {INPUT} guard what a user says"
        raise ConfigError(
            [Problem(f"there are no {wanted}, so nothing would be guarded{hint}", file=loaded.file)]
        )
    return pipeline


def _run(  # noqa: PLR0913 - what is guarded, and from where to where
    pipeline: Pipeline, outcome: Summary, file: str, from_: Form | None, to: Form | None, *, quiet: bool
) -> None:
    """Guard a file and note what came of it; unless it shall be quiet, tell warnings at once.

    Raises:
        InputError: the file cannot be opened.
    """
    with opened(file) as (descriptor, name):
        reader, writer = Reader(descriptor, name, from_), Writer(to)
        outcome.reader, outcome.writer = reader, writer
        progress = Progress(descriptor)
        with warnings_to(outcome.warn if quiet else progress.say), progress:
            outcome.end(*anyio.run(_guard, pipeline, reader, writer, progress))


async def _guard(
    pipeline: Pipeline, reader: Reader, writer: Writer, progress: Progress
) -> tuple[Result, str | None]:
    """Send what a reader has through a pipeline to standard output; what came of it, and why it broke off."""
    source = to_chunks(reader.pieces()) if reader.form == "text" else reader.chunks()
    broken_off = None
    async with pipeline.stream(source, collect=False) as guarded:
        try:
            async for chunk in guarded:
                writer.form = writer.form or reader.form
                writer.write(chunk)
                progress.note(reader.bytes, writer.count)
            writer.end()
        except (InputError, OutputError) as error:
            broken_off = str(error)
    return guarded.result, broken_off


def _tell(outcome: Summary, *, summary: bool, as_json: bool) -> None:
    """Say on standard error what came of it."""
    if as_json:
        note(json.dumps(outcome.as_dict(), ensure_ascii=False) + "\n")
        return
    mid_line = outcome.writer is not None and outcome.writer.mid_line
    if mid_line and is_terminal(sys.stdout) and is_terminal(sys.stderr):
        note("\n")  # or what is said would stand behind the text
    for problem in outcome.problems:
        say(str(problem))
    if outcome.error:
        say(outcome.error)
    elif outcome.status == "blocked" and outcome.tripwire is not None:
        say(f"blocked: {outcome.tripwire.payload.reason}")
    if summary:
        say(outcome.line())
