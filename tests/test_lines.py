"""Bytes to lines: what ends one, and how long one may be."""

import pytest

from guardrails import lines
from guardrails.lines import LineError, Lines


def test_lines_keep_what_is_no_line_feed() -> None:
    """A line ends with a line feed alone; the last one may lack it."""
    cut = Lines()
    assert list(cut.feed(b"a\r\nb")) == [b"a\r"]
    assert list(cut.feed(b"c")) == []
    assert list(cut.feed(b"\n\nd")) == [b"bc", b""]
    assert cut.close() == b"d"


def test_there_is_a_longest_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What never ends is not kept for ever, however it comes; what ends in time is."""
    monkeypatch.setattr(lines, "LONGEST", 10)
    cut = Lines()
    assert list(cut.feed(b"0123456789\n01234")) == [b"0123456789"]
    assert list(cut.feed(b"56789")) == []
    with pytest.raises(LineError, match="the line is longer than 10 bytes"):
        list(cut.feed(b"x"))
