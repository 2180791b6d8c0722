"""The forms in which `guardrails run` reads and writes: JSON lines, server-sent events, plain text."""

import itertools
import json

import pytest

from tests.cli.inside import call
from tests.cli.processes import chunks, delta, ended, shell, talk, texts

EVENTS = (
    b": hello\n\n"
    b'id: 7\nevent: chunk\nretry: 10\ndata: {"type": "text-delta",\n'
    b'data:  "payload": {"id": "t", "text": "a sk-"}}\n\n'
    b'data:{"type": "text-delta", "payload": {"id": "t", "text": "abcdef b"}}\n\n'
)
OUT = ["a ", "[KEY] b"]


def events(output: bytes) -> list[str]:
    """The data of events that are written as the command writes them."""
    *parts, rest = output.decode().split("\n\n")
    assert rest == ""
    assert all(part.startswith("data: ") and "\n" not in part for part in parts)
    return [part.removeprefix("data: ") for part in parts]


@pytest.mark.parametrize(
    ("ending", "line_end"),
    [
        (b"data: [DONE]\n\n", b"\n"),
        (b"data: [DONE]", b"\r\n"),
        (b"data: [DONE]\n\ndata: more\n\n", b"\n"),
        (b"", b"\r"),
    ],
    ids=["whole", "cut off, crlf", "more", "none, cr"],
)
def test_server_sent_events_are_told_by_the_first_line(ending: bytes, line_end: bytes) -> None:
    """Events are read however their lines end, and written as events with `[DONE]` at the end."""
    done = call("run", "redact.yaml", given=(EVENTS + ending).replace(b"\n", line_end))
    assert (done.returncode, done.stderr) == (0, b"")
    *said, last = events(done.stdout)
    assert [json.loads(each)["payload"]["text"] for each in said] == OUT
    assert last == "[DONE]"


def test_events_leave_at_once_and_done_ends_them() -> None:
    """An event leaves before the next one is there; after `[DONE]` nothing is waited for."""
    with talk("run", "redact.yaml") as command:
        command.give(b"da")
        assert command.takes_nothing(0.1)
        command.give(b"ta: " + delta("one") + b"\n")
        assert json.loads(command.line().removeprefix(b"data: "))["payload"]["text"] == "one"
        assert command.line() == b"\n"
        command.give(b"data: [DONE]\n\n")
        assert (command.line(), command.line()) == (b"data: [DONE]\n", b"\n")
        assert ended(command.process) == (0, b"")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"data: " + delta("one") + b"\ndata: {\ndata: broken\n\n", "3: chunk: not JSON at line 2, column 1"),
        (b": hello\n" + delta("one"), "2: JSON without `data:` before it is no server-sent event"),
        (b": hello\n\n" + b"data: " + delta("one").strip()[:-5], "3: chunk: not JSON at column 55"),
    ],
    ids=["no json", "no data", "cut off"],
)
def test_a_broken_event_is_named(given: bytes, message: str) -> None:
    """The code is 2, and the message has the line at which the event's data begins; `[DONE]` is not said."""
    done = call("run", "redact.yaml", given=given)
    assert (done.returncode, done.stderr.decode()) == (2, f"guardrails: standard input:{message}\n")
    assert b"[DONE]" not in done.stdout


def test_a_blocked_stream_of_events_is_complete() -> None:
    """After a tripwire and `finish` comes `[DONE]`, so that nobody waits for more."""
    done = call("run", "block.yaml", "--to", "sse", given=delta("a sk-abcdef"))
    *said, last = events(done.stdout)
    assert done.returncode == 3
    assert [json.loads(each)["type"] for each in said] == ["text-delta", "tripwire", "finish"]
    assert last == "[DONE]"


GIVEN = {"jsonl": delta("a sk-") + delta("abcdef b"), "sse": EVENTS, "text": b"a sk-abcdef b"}


@pytest.mark.parametrize(("from_", "to"), list(itertools.permutations(GIVEN, 2)))
def test_every_form_becomes_every_form(from_: str, to: str) -> None:
    """--from and --to name the forms, in any combination."""
    done = call("run", "redact.yaml", "--from", from_, "--to", to, given=GIVEN[from_])
    assert (done.returncode, done.stderr) == (0, b"")
    if to == "text":
        assert done.stdout == b"a [KEY] b"
        return
    lines = "\n".join(events(done.stdout)[:-1]).encode() if to == "sse" else done.stdout
    assert texts(lines) == "a [KEY] b"
    if from_ == "text":
        assert [chunk["type"] for chunk in chunks(lines)][:: len(chunks(lines)) - 1] == [
            "text-start",
            "text-end",
        ]


def test_nothing_in_is_nothing_out() -> None:
    """Empty input, or blank lines alone, is a stream without chunks."""
    done = call("run", "redact.yaml", given=b"\n \n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


AS_IT_IS = "\ufeffLines\r\n\n\ttabs, \x00, \x1b[0m, e\u0301, 👩\u200d👧, \u2028 no end"


def test_plain_text_passes_byte_for_byte() -> None:
    """With --text, what is not found stays exactly as it is, and no line end is added."""
    given = f"{AS_IT_IS} sk-abcdef {AS_IT_IS}".encode()
    done = call("run", "redact.yaml", "--text", given=given)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == f"{AS_IT_IS} [KEY] {AS_IT_IS}".encode()


def test_blocked_text_ends_before_what_blocks() -> None:
    """With --text, a tripwire is told on standard error alone."""
    done = call("run", "block.yaml", "--text", given=f"{AS_IT_IS} sk-abcdef after".encode())
    assert (done.returncode, done.stdout) == (3, f"{AS_IT_IS} ".encode())
    assert done.stderr == b"guardrails: blocked: no-keys found KEY in the text.\n"


def test_text_leaves_as_it_comes() -> None:
    """A piece leaves before the next one; a character that is cut waits for its other half."""
    with talk("run", "redact.yaml", "--text") as command:
        command.give(b"one\n")
        assert command.line() == b"one\n"
        command.give("ä".encode()[:1])
        assert command.takes_nothing(0.1)
        command.give("ä".encode()[1:] + b"\n")
        assert command.line() == "ä\n".encode()


@pytest.mark.parametrize("wrong", [b"\xff more", "ä".encode()[:1]], ids=["within", "half at the end"])
def test_text_that_is_no_utf8_is_told(wrong: bytes) -> None:
    """All before the wrong byte leaves, decided; the code is 2, and one line says where it is."""
    done = call("run", "redact.yaml", "--text", given="größer sk-abcdef ".encode() + wrong)
    assert (done.returncode, done.stdout) == (2, "größer [KEY] ".encode())
    assert done.stderr == b"guardrails: standard input: the text is not UTF-8 at byte 20\n"


def test_halves_of_a_character_become_one_in_text() -> None:
    """Text that JSON holds in halves of characters comes out as characters; a lone half as U+FFFD."""
    halves = delta("\ud83d") + delta("\ude00 \ud83d") + delta("x\ud83d")
    done = call("run", "redact.yaml", "--to", "text", given=halves)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, "😀 \ufffdx\ufffd", b"")


def test_text_and_a_form_are_a_contradiction() -> None:
    """--text beside --from or --to is refused by name."""
    done = call("run", "redact.yaml", "--text", "--to", "sse")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--text says what --from and --to say; give either" in done.stderr


def test_programs_can_be_chained() -> None:
    """What one run writes, another one reads, in either form."""
    line = "run redact.yaml --to sse | guardrails run redact.yaml | guardrails run block.yaml --to text"
    done = shell(f"guardrails {line}", delta("a sk-abc") + delta("def"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a [KEY]", b"")
