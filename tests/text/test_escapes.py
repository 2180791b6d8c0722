"""JSON escapes in values that are JSON texts: they hide nothing, and the rest leaves as it was written."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guardrails import Pipeline
from guardrails.chunks import dump_chunk
from guardrails.testing import Patterns
from processors.keywords import Keywords
from processors.regex import Regex, Rule

STAFF: Final = Patterns(find=r"\bE-[0-9]{6}\b")
CARD: Final = "4539578122045518"
SNIPPETS: Final = (
    *("E-123456", "E-12", "3456", "\\n", "\\\\", "\\\\n", "\\u0045", "\\\\u0045", "\\u00", "\\u", "\\ud83d"),
    *("\\ude00", "\\", '"', '\\"', "{", "[", " ", "\n", "x", "\\t", "😀"),
)
TEXTS: Final = st.lists(st.sampled_from(SNIPPETS), max_size=12).map("".join)


def result(value: Any) -> dict[str, Any]:
    payload = {"toolCallId": "c1", "toolName": "t", "result": value}
    return {"type": "tool-result", "runId": "r", "from": "AGENT", "payload": payload}


def guarded(bodies: Sequence[dict[str, Any]], *processors: Any) -> list[dict[str, Any]]:
    with Pipeline(processors or [STAFF]).stream_sync([*bodies], run_id="r") as chunks:
        return [dump_chunk(chunk) for chunk in chunks]


def answer(value: Any, *processors: Any) -> Any:
    (out,) = guarded([result(value)], *processors)
    return out["payload"]["result"]


def in_pieces(pieces: Sequence[str], *processors: Any) -> tuple[str, list[tuple[int, int]]]:
    """What comes out of a text that grows in chunks of a type that nobody knows, and where something was."""
    bodies = [{"type": "note-delta", "runId": "r", "from": "AGENT", "payload": piece} for piece in pieces]
    with Pipeline(processors or [STAFF]).stream_sync(bodies, run_id="r") as chunks:
        said = "".join(dump_chunk(chunk)["payload"] for chunk in chunks)
    return said, [(finding.start, finding.end) for finding in chunks.result.findings]


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("before", [0, *range(4085, 4100)])
@pytest.mark.parametrize("size", [1, 3, 6, 7, 10_000])
def test_digits_beyond_the_basic_plane(size: int, before: int) -> None:
    """Digits that are two escapes each are found, wherever the source or a slice cuts them."""
    digits = json.dumps("".join(chr(0x1D7D8 + int(digit)) for digit in CARD))[1:-1]
    text = f'{{"a": "{"x" * before} {digits} ok"}}'
    guard = Regex(presets=["private-data"])
    assert in_pieces(cut(text, size), guard)[0] == text.replace(digits, "[CREDIT_CARD]")
    assert answer(text, guard) == text.replace(digits, "[CREDIT_CARD]")


@pytest.mark.parametrize("rest", ["\\", "\\u", "\\u00", "\\ud83d", "\\ud83d\\u", "\\\\"])
@pytest.mark.parametrize("half", ["", "\ud83d"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_text_that_ends_within_a_character_is_whole(rest: str, half: str, size: int) -> None:
    """What never became an escape or a character leaves as it came."""
    text = f'{{"a": "b{rest}{half}'
    assert in_pieces(cut(text, size))[0] == text


@pytest.mark.parametrize("mark", ["\n", "\t", "\b", "\f", "\r", '"', "\\", "/", "·", "\ud800"])
@pytest.mark.parametrize("head", ["", " \n", "Answer 200: ", "data: "])
def test_nothing_hides_behind_an_escape(mark: str, head: str) -> None:
    """What begins with a word is found behind any escape, and the text stays valid JSON."""
    text = head + json.dumps({"says": f"see{mark}E-204981{mark}now", "path": "C:\\new"})
    out = answer(text)
    assert out == text.replace("E-204981", "[FOUND]")
    assert json.loads(out.removeprefix(head))["says"] == f"see{mark}[FOUND]{mark}now"


def test_terms_stand_behind_escapes() -> None:
    """A term is found behind an escape that ends in a letter."""
    text = json.dumps([{"to": "all\nProject Falcon\tis late"}])
    out = answer(text, Keywords(terms=["project falcon"]))
    assert json.loads(out) == [{"to": "all\n[KEYWORD]\tis late"}]


def test_what_is_no_json_text_is_read_as_it_stands() -> None:
    """A path has no line breaks in it."""
    assert answer("in C:\\new\\table, see", Keywords(terms=["C:\\new"])) == "in [KEYWORD]\\table, see"


@pytest.mark.parametrize("backslashes", [1, 2, 3, 4, 8])
def test_numbered_escapes_of_a_text_within_texts(backslashes: int) -> None:
    """However deep the text stands in others, its numbered escapes hide nothing."""
    text = '{"body": "{to: ' + "\\" * backslashes + 'u0045-204981 }"}'
    assert answer(text) == '{"body": "{to: [FOUND] }"}'


@pytest.mark.parametrize("head", ["", 'It is 5" wide: '])
@pytest.mark.parametrize("strategy", ["redact", "mask", "remove"])
def test_json_stays_json(strategy: str, head: str) -> None:
    """What takes the place of a number is a string; what is hidden in a string stands in it."""
    text = json.dumps({"a": int(CARD), "b": [int(CARD), 1], "c": f"no: {CARD}, yes", "d": f'"{CARD}"'})
    out = answer(head + text, Regex(presets=["private-data"], strategy=strategy))
    hidden = {"redact": "[CREDIT_CARD]", "mask": "************5518", "remove": ""}[strategy]
    wanted = {"a": hidden, "b": [hidden, 1], "c": f"no: {hidden}, yes", "d": f'"{hidden}"'}
    assert json.loads(out.removeprefix(head)) == wanted


def test_what_takes_the_place_is_written_as_json() -> None:
    """Quotes and line breaks of a replacement are written as escapes."""
    rule = Rule(name="staff", pattern="E-[0-9]{6}", replacement='a "name"\n')
    out = answer('{"a": "E-204981"}', Regex(rules=[rule]))
    assert json.loads(out) == {"a": 'a "name"\n'}


def test_a_snapshot_shows_nothing_that_the_next_one_makes_private() -> None:
    """A JSON text within an object is held as far as it may become a card."""
    says = '{"m":"see 4539 5781 2204\\u00205518 ok"}'
    bodies = [
        {"type": "object", "runId": "r", "from": "AGENT", "object": {"raw": says[:end]}}
        for end in range(1, len(says) + 1)
    ]
    final = {"type": "object-result", "runId": "r", "from": "AGENT", "object": {"raw": says}}
    shown = [one["object"]["raw"] for one in guarded([*bodies, final], Regex(presets=["private-data"]))]
    assert shown[-1] == '{"m":"see [CREDIT_CARD] ok"}'
    assert all(shown[-1].startswith(one) for one in shown)


@example("[ \\u0045-123456", [9])
@example('{"\\\\', [])
@example("[" + "\\" * 21 + "u0045-123456", [18])
@given(TEXTS, st.lists(st.integers(0, 60), max_size=8))
def test_cutting_changes_nothing(text: str, cuts: Sequence[int]) -> None:
    """What comes out, and where something was found, depends on the text alone."""
    at = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[start:stop] for start, stop in pairwise(at)]
    anything = Patterns(find=r"[^ ]+")
    assert in_pieces(pieces) == in_pieces([text])
    assert in_pieces(pieces, anything) == in_pieces([text], anything)


@given(TEXTS)
def test_what_is_clean_leaves_as_it_was_written(text: str) -> None:
    """Escapes that are in nobody's way are not written anew, whole or in pieces."""
    never = Patterns(find="never")
    assert answer(text, never) == text
    assert in_pieces(cut(text, 1), never)[0] == text


@given(TEXTS.map(lambda text: text.replace("\\", "")), st.booleans())
def test_a_json_text_says_what_it_says_parsed(text: str, ascii_only: bool) -> None:
    """Read as text, it hides as much as the value that it stands for."""
    found = Patterns(find="E-[0-9]{6}")
    out = answer(json.dumps({"a": f" {text} "}, ensure_ascii=ascii_only), found)
    assert json.loads(out) == answer({"a": f" {text} "}, found)
