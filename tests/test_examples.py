"""The examples work, and what the demo shows is what happens."""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import guardrails
from guardrails import dump_chunk, load_pipeline, parse_chunk
from processors._patterns.private_data import card_length

EXAMPLES: Final = Path(__file__).parents[1] / "examples"
GUARD: Final = EXAMPLES / "guard.yaml"
STREAMS: Final = sorted(path.stem for path in (EXAMPLES / "streams").glob("*.jsonl"))
RECORDED: Final = [name for name in STREAMS if name != "private"]
CARD: Final = "4111 1111 1111 1111"
MAILS: Final = ("jane.doe@example.com", "accounts\u200b@example.org")
KEY: Final = re.compile(r"sk-[A-Za-z0-9]{57}\b")
SECONDS: Final = 60
LONGEST: Final = 100
"""Columns of a terminal in which the demo must be readable."""

Done = subprocess.CompletedProcess[str]


def path_of(name: str) -> Path:
    return EXAMPLES / "streams" / f"{name}.jsonl"


def execute(*arguments: str) -> Done:
    """Run Python to its end; a warning is an error."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


@cache
def demo() -> Done:
    return execute(str(EXAMPLES / "demo.py"))


def shown() -> dict[str, dict[str, str]]:
    """What the demo prints of each stream, section by section, with the lines of each joined."""
    out: dict[str, dict[str, str]] = {}
    for part in re.split(r"^--- ", demo().stdout.partition("\nTry next")[0], flags=re.MULTILINE)[1:]:
        name, _, body = part.partition(".jsonl")
        sections = re.findall(r"^ +(in|out|found|ended|held)   (.*(?:\n {10}.*)*)", body, re.MULTILINE)
        out[name] = {title: re.sub(r"\n +", " ", text) for title, text in sections}
    return out


def text_of(name: str, kind: str = "text-delta") -> str:
    """The joined text of a stream."""
    chunks = [json.loads(line) for line in path_of(name).read_text(encoding="utf-8").splitlines()]
    return "".join(chunk["payload"]["text"] for chunk in chunks if chunk["type"] == kind)


def pieces(text: str) -> set[str]:
    """All stretches of five characters, so that no part of a value can hide."""
    return {text[at : at + 5] for at in range(len(text) - 4)}


def test_the_private_stream_has_what_it_is_for() -> None:
    """It holds a card number that passes its check, two addresses, one of them in disguise, and a key."""
    text, reasoning = text_of("private"), text_of("private", "reasoning-delta")
    assert card_length(CARD) == len(CARD)
    assert CARD in text
    assert all(mail in text for mail in MAILS)
    assert MAILS[0] in reasoning
    key = KEY.search(text)
    assert key is not None
    assert len(key[0]) == 60
    assert max(map(text.index, (CARD, *MAILS))) < key.start()
    assert '"jane.doe@"' in path_of("private").read_text(encoding="utf-8")


def test_the_private_stream_does_not_repeat_itself() -> None:
    """Its closing chunks hold no copy of the text, since copies are not guarded yet."""
    lines = path_of("private").read_text(encoding="utf-8").splitlines()
    closing = [line for line in lines if json.loads(line)["type"] in ("step-start", "step-finish", "finish")]
    assert len(closing) == 3
    assert not any(word in line for line in closing for word in ("jane", "4111", "sk-", "order"))


@pytest.mark.parametrize("name", STREAMS)
def test_the_streams_are_chunks(name: str) -> None:
    """Each line is a chunk that is written as it was read."""
    for line in path_of(name).read_text(encoding="utf-8").splitlines():
        assert dump_chunk(parse_chunk(line)) == json.loads(line)


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_streams_pass(name: str) -> None:
    """A recorded stream arrives whole: the same texts and arguments, and every other chunk as it was."""
    lines = path_of(name).read_text(encoding="utf-8").splitlines()
    with load_pipeline(GUARD).stream_sync(lines) as chunks:
        came = [dump_chunk(chunk) for chunk in chunks]
    deltas = ("text-delta", "reasoning-delta", "tool-call-delta")
    sent = [json.loads(line) for line in lines]
    assert [chunk for chunk in came if chunk["type"] not in deltas] == [
        chunk for chunk in sent if chunk["type"] not in deltas
    ]
    pieces_of = [
        [chunk["payload"]["argsTextDelta"] for chunk in stream if chunk["type"] == "tool-call-delta"]
        for stream in (came, sent)
    ]
    assert "".join(pieces_of[0]) == "".join(pieces_of[1])
    assert chunks.result.text == text_of(name)
    assert chunks.result.reasoning == text_of(name, "reasoning-delta")
    assert chunks.result.findings == ()


@pytest.mark.parametrize("name", STREAMS)
def test_the_command_line_guards_them(name: str) -> None:
    """The command exits with 3 for the stream with a key, with 0 for the others, and gives out no secret."""
    done = execute("-m", "guardrails", "run", str(GUARD), str(path_of(name)))
    assert done.returncode == (3 if name == "private" else 0)
    if name == "private":
        secret = (
            pieces(CARD) | pieces("jane.doe") | pieces("accounts") | pieces(KEY.findall(text_of(name))[0])
        )
        assert not [piece for piece in secret if piece in done.stdout + done.stderr]
        assert "[CREDIT_CARD]" in done.stdout
    else:
        assert done.stderr == ""


def test_the_demo_needs_only_what_users_have() -> None:
    """It uses public names, and no package beside the standard library and the runtime dependencies."""
    tree = ast.parse((EXAMPLES / "demo.py").read_text(encoding="utf-8"))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    parted = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules |= {str(node.module) for node in parted}
    others = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert others == {"anyio", "guardrails"}
    used = {alias.name for node in parted if node.module == "guardrails" for alias in node.names}
    assert used <= set(guardrails.__all__)


def test_the_demo_runs() -> None:
    """It ends well, shows every stream with every section, fits a terminal and says what to try next."""
    assert (demo().returncode, demo().stderr) == (0, "")
    assert sorted(shown()) == STREAMS
    assert {tuple(sections) for sections in shown().values()} == {("in", "out", "found", "ended", "held")}
    assert all(len(line) <= LONGEST for line in demo().stdout.splitlines())
    assert demo().stdout.isascii()
    assert (
        demo().stdout.rstrip().endswith("guardrails run examples/guard.yaml examples/streams/private.jsonl")
    )


def test_the_demo_shows_private_data_only_as_it_came_in() -> None:
    """Besides what came in, no part of a private value is in its output."""
    sections = shown()["private"]
    key = KEY.findall(text_of("private"))[0]
    came = sections.pop("in").replace("|", "").replace(" ", "")
    assert all(
        value.replace(" ", "") in came for value in (CARD, key, MAILS[0], r"accounts\u200b@example.org")
    )
    rest = "\n".join(sections.values()).replace("|", "")
    assert not [piece for value in (CARD, key, *MAILS) for piece in pieces(value) if piece in rest]


def test_the_demo_shows_what_was_found_and_how_it_ended() -> None:
    """It names each finding with its place and strategy, then who blocked and why."""
    sections = shown()["private"]
    found = re.findall(r"([A-Z_]+) in (\w+) \w+, characters \d+-\d+: (\w+)", sections["found"])
    assert found == [
        ("EMAIL_ADDRESS", "reasoning", "redact"),
        ("CREDIT_CARD", "text", "redact"),
        ("EMAIL_ADDRESS", "text", "redact"),
        ("EMAIL_ADDRESS", "text", "redact"),
        ("KEY", "text", "block"),
    ]
    assert sections["ended"].startswith("blocked by no-keys")
    assert {shown()[name]["ended"] for name in RECORDED} == {"completed"}
    assert {shown()[name]["found"] for name in RECORDED} == {"nothing"}


def test_the_demo_counts_what_is_held() -> None:
    """The key is held whole, and never more than it, and so are arguments; of clean text, some characters."""
    most = {
        name: int(re.findall(r"(\d+) characters at most", sections["held"])[0])
        for name, sections in shown().items()
    }
    assert most.pop("private") == 60
    assert most.pop("tool_call") == len('{"city":"Rome"}')
    assert max(most.values()) <= 12


def test_the_reading_loop_shows_what_comes() -> None:
    """A consumer that switches on the type of each chunk sees text, tools, the tripwire and how it ended."""
    done = execute(str(EXAMPLES / "reading_loop.py"))
    assert (done.returncode, done.stderr) == (0, "")
    tool_call, reasoning, private = done.stdout.split("--- ")[1:]
    assert tool_call.splitlines()[1:] == [
        "Let me look.",
        '[calls weather with {"city": "Rome"}]',
        '[weather returned {"city": "Rome", "temp": 21}]',
        "It is 21 degrees.",
        "[finished: stop, 56 tokens]",
        "(completed, 0 findings)",
        "",
    ]
    assert reasoning.splitlines()[1:3] == ["[thinks] Let me think.", "Answer 42"]
    assert "[blocked by no-keys: no-keys found KEY in the text.]" in private
    assert "[finished: tripwire, unknown tokens]" in private
    assert not [value for value in (CARD, *MAILS) if value in private]
    assert KEY.search(private) is None
