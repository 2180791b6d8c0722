"""`guardrails run`: chunks in, guarded chunks out, each as soon as it is decided."""

import errno
import json
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.cli.inside import call
from tests.cli.processes import PLAIN_LOCALE, chunks, delta, ended, run, talk, texts

RECORDED = sorted((Path(__file__).parents[1] / "data" / "mastra").glob("*.jsonl"))


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


@pytest.mark.parametrize("path", RECORDED[:1], ids=lambda path: path.stem)
def test_what_is_clean_passes_exactly(path: Path) -> None:
    """Every chunk of any type comes out equal and in order, from a file as from a pipe; the code is 0."""
    from_file = call("run", "redact.yaml", str(path))
    assert (from_file.returncode, from_file.stderr) == (0, b"")
    assert chunks(from_file.stdout) == chunks(path.read_bytes())
    assert run("run", "redact.yaml", given=path.read_bytes()).stdout == from_file.stdout


def test_what_is_found_is_redacted_across_lines() -> None:
    """A finding that is cut into several lines is one, and the code is 0."""
    done = call("run", "redact.yaml", "-", given=b"".join(map(delta, ["a s", "k-ab", "cdef", " b"])))
    assert (done.returncode, texts(done.stdout), done.stderr) == (0, "a [KEY] b", b"")


@pytest.mark.parametrize("end", [b"\r\n", b""], ids=["crlf", "none"])
def test_line_ends_do_not_matter(end: bytes) -> None:
    """Lines may end as on Windows, and the last one need not end; a byte order mark is none of it."""
    given = b"\xef\xbb\xbf" + delta("one").strip() + (end or b"\n") + delta("two").strip() + end
    done = call("run", "redact.yaml", given=given)
    assert (done.returncode, texts(done.stdout), done.stderr) == (0, "onetwo", b"")


def test_many_lines_come_through_in_order() -> None:
    """Lines that fill many blocks, one of them larger than a block, arrive whole and in order."""
    words = [f"{number} " for number in range(2000)] + ["x" * 300_000, " end"]
    done = run("run", "redact.yaml", given=b"".join(map(delta, words)))
    assert (done.returncode, texts(done.stdout), done.stderr) == (0, "".join(words), b"")


def test_blocking_says_who_and_why() -> None:
    """Refused content ends the stream with a tripwire, code 3 and one line without that content."""
    done = call("run", "block.yaml", given=delta("take sk-abcdef now"))
    assert done.returncode == 3
    assert done.stderr == b"guardrails: blocked: no-keys found KEY in the text.\n"
    assert texts(done.stdout) == "take "
    assert [chunk["type"] for chunk in chunks(done.stdout)] == ["text-delta", "tripwire", "finish"]
    assert b"sk-abc" not in done.stdout


def test_a_broken_line_is_named() -> None:
    """Blank lines count; all before the broken line leaves, decided as if the stream ended there."""
    given = b"\n" + delta("one sk-abcdef") + b"  \n{broken\n" + delta("two")
    done = call("run", "redact.yaml", given=given)
    assert done.returncode == 2
    assert texts(done.stdout) == "one [KEY]"
    assert done.stderr == b"guardrails: standard input:4: chunk: not JSON at column 2\n"


def test_a_broken_line_of_a_file_is_named_with_the_file(at: Path) -> None:
    """The message has the file's name as it was given; JSON that is no chunk is an error too."""
    (at / "in.jsonl").write_bytes(delta("one") + b"[1]\n")
    done = call("run", "redact.yaml", "in.jsonl")
    assert done.returncode == 2
    assert done.stderr == b"guardrails: in.jsonl:2: chunk: an object is required, got an array\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"\n\nHello\n", "3: chunk: not JSON at column 1; for plain text, give --text"),
        (b"[1]\n", "1: chunk: an object is required, got an array"),
        (b"\x00\xff\xfe\x01" * 50, "1: chunk: not UTF-8 at byte 2"),
    ],
    ids=["text", "json", "binary"],
)
def test_text_where_chunks_are_due_is_told(given: bytes, message: str) -> None:
    """If the first line is no JSON, the message says how plain text is given; else it does not."""
    done = call("run", "redact.yaml", given=given)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"guardrails: standard input:{message}\n"


def test_blocking_wins_over_a_broken_line() -> None:
    """If what was held before a broken line is refused, the command says that it blocked."""
    done = call("run", "block.yaml", given=delta("one sk-abcdef") + b"broken\n")
    assert done.returncode == 3
    assert done.stderr.startswith(b"guardrails: blocked: no-keys ")
    assert texts(done.stdout) == "one "


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["absent.yaml"], "absent.yaml: there is no such file"),
        (["redact.yaml", "absent.jsonl"], "absent.jsonl: No such file or directory"),
        (["redact.yaml", "."], ".: Is a directory"),
        (["redact.yaml", ""], "the name of the file to read is empty"),
        (
            ["redact.yaml", "--input"],
            "redact.yaml: there are no input_processors, so nothing would be guarded",
        ),
        (
            ["input.yaml"],
            (
                "input.yaml: there are no output_processors, so nothing would be guarded; with --input, its "
                "input_processors guard what a user says"
            ),
        ),
    ],
    ids=["no config", "no input", "folder", "no name", "no input processors", "no output processors"],
)
def test_what_cannot_be_used_is_named(args: list[str], message: str) -> None:
    """The code is 2, and one line says which file and why; nothing passes unguarded."""
    done = call("run", *args, given=delta("one"))
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"guardrails: {message}\n")


def test_input_is_guarded_by_the_input_processors() -> None:
    """With --input the processors for messages are asked."""
    done = call("run", "input.yaml", "--input", "--text", given=b"my sk-abcdef\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"my [KEY]\n", b"")


def test_any_text_passes_in_any_locale() -> None:
    """Bytes are UTF-8 whatever the locale says, escaped or not, and half a surrogate pair survives."""
    half, whole = "half \ud83d", "größer 😀, line\u2028end"
    raw = json.dumps(json.loads(delta(whole)), ensure_ascii=False).encode()
    done = run("run", "redact.yaml", given=delta(half) + delta(whole) + raw, env=PLAIN_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.decode().splitlines()) == done.stdout.count(b"\n")
    assert texts(done.stdout) == half + whole + whole


def test_a_failing_check_is_told_as_everything_else() -> None:
    """A warning of the library is a line without what was raised, or stands in that of --json."""
    done = call("run", "failing.yaml", "--text", given=b"one\n")
    assert (done.returncode, done.stdout) == (0, b"one\n")
    assert (
        done.stderr == b"guardrails: slow_words failed (RuntimeError): "
        b"with `on_error: pass`, text passes that it has not looked at\n"
    )
    quiet = call("run", "failing.yaml", "--text", "--json", given=b"one\n")
    assert len(quiet.stderr.splitlines()) == 1
    told = json.loads(quiet.stderr)
    assert (told["status"], told["warnings"]) == (
        "completed",
        ["slow_words failed (RuntimeError): with `on_error: pass`, text passes that it has not looked at"],
    )


@pytest.mark.parametrize("line", ["run redact.yaml", "run redact.yaml --json", "test strict"])
def test_what_the_system_refuses_is_no_fault_of_the_output(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there can be no more open files, the code is 2, and one line says that alone."""
    monkeypatch.setattr("anyio.run", Mock(side_effect=OSError(errno.EMFILE, os.strerror(errno.EMFILE))))
    done = call(*line.split())
    said = done.stderr.decode().splitlines()
    assert (done.returncode, len(said)) == (2, 1)
    told = json.loads(said[0])["error"] if "--json" in line else said[0].removeprefix("guardrails: ")
    assert told == os.strerror(errno.EMFILE)


def test_a_line_that_never_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a longest line, of JSON as of events; the message says at which it was."""
    monkeypatch.setattr("guardrails.lines.LONGEST", 200)
    for given in (delta("one") + b" " * 300, b"\n\ndata: " + b" " * 300):
        done = call("run", "redact.yaml", given=given)
        line = 2 if given.startswith(b"{") else 3
        assert done.returncode == 2
        assert (
            done.stderr.decode() == f"guardrails: standard input:{line}: the line is longer than 200 bytes\n"
        )


def test_a_named_pipe_can_be_read(at: Path) -> None:
    """FILE may be a FIFO, which is read as it is written."""
    os.mkfifo(at / "fifo")
    with talk("run", "redact.yaml", "fifo") as command, (at / "fifo").open("wb", buffering=0) as fifo:
        fifo.write(delta("one"))
        assert command.take()["payload"]["text"] == "one"
        fifo.close()
        assert ended(command.process) == (0, b"")


SUMMARY = "guardrails: {}; 1 chunk in, {} out; "


@pytest.mark.parametrize(
    ("config", "given", "code", "lines"),
    [
        ("redact.yaml", b"", 0, [SUMMARY.format("completed: 1 finding (regex.key 1)", "2 chunks")]),
        (
            "block.yaml",
            b"",
            3,
            [
                "guardrails: blocked: no-keys found KEY in the text.",
                SUMMARY.format("blocked: 1 finding (regex.key 1)", "3 chunks"),
            ],
        ),
        (
            "redact.yaml",
            b"broken",
            2,
            ["guardrails: standard input:2: ", "guardrails: error: 1 finding (regex.key 1); 2 chunks in, "],
        ),
    ],
    ids=["completed", "blocked", "broken off"],
)
def test_the_summary_counts(config: str, given: bytes, code: int, lines: list[str]) -> None:
    """--summary says on one line what came of the run, also when the input broke off."""
    done = call("run", config, "--summary", given=delta("a sk-abcdef") + given)
    said = done.stderr.decode().splitlines()
    assert done.returncode == code
    assert len(said) == len(lines)
    for one, begin in zip(said, lines, strict=True):
        assert one.startswith(begin)


@pytest.mark.parametrize(
    ("config", "given", "expected"),
    [
        ("redact.yaml", delta("a"), {"status": "completed", "error": None, "tripwire": None, "chunks_in": 1}),
        (
            "block.yaml",
            delta("sk-abcdef"),
            {
                "status": "blocked",
                "tripwire": {
                    "processor": "no-keys",
                    "code": "regex.key",
                    "reason": "no-keys found KEY in the text.",
                    "retry": False,
                },
                "findings": {"regex.key": 1},
                "bytes_in": len(delta("sk-abcdef")),
            },
        ),
        (
            "redact.yaml",
            b"[",
            {
                "status": "error",
                "error": "standard input:1: chunk: not JSON at column 2; for plain text, give --text",
            },
        ),
        ("absent.yaml", b"", {"status": "error", "error": None, "findings": {}}),
    ],
    ids=["completed", "blocked", "broken off", "no config"],
)
def test_json_is_one_line(config: str, given: bytes, expected: dict[str, object]) -> None:
    """With --json, all that standard error gets is one JSON object, whatever happened."""
    done = call("run", config, "--json", given=given)
    (line,) = done.stderr.splitlines()
    told = json.loads(line)
    assert {key: told[key] for key in expected} == expected
    assert done.returncode == {"completed": 0, "blocked": 3, "error": 2}[told["status"]]
    assert [problem["file"] for problem in told["problems"]] == (["absent.yaml"] if not given else [])
