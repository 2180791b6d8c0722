"""Server-sent events: what is written is read again, however it is cut, and what others write is read too."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardrails import Chunk, dump_chunk, lines, parse_chunk
from guardrails.adapters import sse
from guardrails.adapters.sse import DONE, LAST_EVENT, EventError, Events, event_of
from guardrails.lines import LineError

TEXTS = st.text(st.characters(exclude_categories=())) | st.sampled_from(
    ["a\r\nb", "\n\ndata: x\n\n", "\u2028"]
)
CHUNKS = st.lists(
    st.builds(lambda text: parse_chunk({"type": "text-delta", "payload": {"id": "t", "text": text}}), TEXTS)
)
LINE_ENDS = ("\n", "\r\n", "\r")


def read(blocks: Iterable[bytes]) -> list[bytes]:
    """The data of all events."""
    events = Events()
    return [data for block in blocks for data in events.feed(block)] + list(events.close())


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    """The bytes, cut at these places."""
    ends = sorted(place % (len(data) + 1) for place in places)
    return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]


@given(CHUNKS, st.lists(st.integers(min_value=0), max_size=8), st.sampled_from(LINE_ENDS))
def test_what_is_written_is_read(chunks: list[Chunk], places: list[int], line_end: str) -> None:
    """Any chunks come back equal, whatever ends the lines and wherever the bytes are cut."""
    written = b"".join(map(event_of, chunks)) + LAST_EVENT
    *came, last = read(cut(written.replace(b"\n", line_end.encode()), places))
    assert last == DONE
    assert [dump_chunk(parse_chunk(data)) for data in came] == [dump_chunk(chunk) for chunk in chunks]


@given(st.binary() | st.text("data:\r\n x{[").map(str.encode), st.lists(st.integers(min_value=0), max_size=8))
def test_the_cutting_does_not_matter(data: bytes, places: list[int]) -> None:
    """Any bytes give the same events, or the same error, in one piece as in several."""

    def outcome(blocks: list[bytes]) -> tuple[list[bytes], str]:
        events = Events()
        came: list[bytes] = []
        try:
            for block in blocks:
                came.extend(events.feed(block))
            came.extend(events.close())
        except (EventError, LineError) as error:
            return came, f"{events.line}: {error}"
        return came, ""

    assert outcome(cut(data, places)) == outcome([data])


@pytest.mark.parametrize(
    ("written", "data"),
    [
        ("data: a\n\n", ["a"]),
        ("data:a\n\ndata:  b\n\n", ["a", " b"]),
        ("data: a\ndata: b\n\n", ["a\nb"]),
        ("data: a\n\n\n\n\ndata: b\n\n", ["a", "b"]),
        (": comment\n\nevent: x\nid: 1\nretry: 3\nunknown: y\ndata: a\n\n", ["a"]),
        ("event: x\n\n", []),
        ("data\n\n", []),
        ("data: a\n", ["a"]),
        ("data: a", ["a"]),
        ("", []),
    ],
    ids=repr,
)
@pytest.mark.parametrize("line_end", LINE_ENDS, ids=repr)
def test_events_of_others(written: str, data: list[str], line_end: str) -> None:
    """Comments, ids, several lines of data and a missing end are read, byte by byte too."""
    sent = written.replace("\n", line_end).encode()
    assert read([sent]) == read([bytes([byte]) for byte in sent]) == [each.encode() for each in data]


def test_the_line_is_that_of_the_data() -> None:
    """The newest event's line is that at which its data begins."""
    events = Events()
    found = [events.line for _ in events.feed(b": hello\n\nid: 1\ndata: a\ndata: b\n\r\n\ndata: c\n\n")]
    assert found == [4, 8]


def test_json_without_data_is_an_error() -> None:
    """A chunk cannot get lost because nobody said `data:`; the line is known."""
    events = Events()
    with pytest.raises(EventError, match="without `data:`"):
        list(events.feed(b': hello\n{"type": "start"}\n'))
    assert events.line == 2


@pytest.mark.parametrize("written", [b"some text", b"\nsome text\n\nmore: text\n"])
def test_what_has_no_events_is_an_error(written: bytes) -> None:
    """Text is not taken for a stream without events: unknown lines are skipped only beside known ones."""
    events = Events()
    assert list(events.feed(written)) == []
    with pytest.raises(EventError, match="this is no server-sent event"):
        list(events.close())
    assert events.line == written.count(b"\n", 0, 1) + 1


def test_there_is_a_longest_line_and_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """What never ends is not kept for ever."""
    monkeypatch.setattr(sse, "LONGEST", 10)
    monkeypatch.setattr(lines, "LONGEST", 10)
    events = Events()
    with pytest.raises(LineError, match="the line is longer than 10 bytes"):
        list(events.feed(b"data: a\n\n" + b"data: more than that"))
    assert events.line == 3
    with pytest.raises(EventError, match="the event is longer than 10 bytes"):
        list(Events().feed(b"data: abcd\n" * 3))
