"""The normalised view: what detectors read, and the way back to the original."""

import sys
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guardrails import Pattern, TextProcessor
from guardrails.testing import Patterns
from guardrails.text.view import RawView, View, WordView, fold, fold_accents, fold_case
from tests.text.streams import guard, ones, said, same_in_every_cutting, some_cuttings

TRICKY: Final = (
    "ab1 .-@ﬃ㍿１９\u00a0\u2009\u3000\u200b\u200d\u00ad\ufe0f\U000e0061\u2013\u2212é漢👍\u0301\ufdfa"
)
TEXTS: Final = st.text(st.one_of(st.sampled_from(TRICKY), st.characters()), max_size=30)
CLEAN: Final = {
    "emoji joiners": "a family 👨‍👩‍👧‍👦 and a flag 🏳️‍🌈, a thumb 👍🏽 and a heart ❤️.",
    "persian": "می‌خواهم کتاب‌ها را بخوانم",
    "cjk": "漢字かな交じり文、半角ｶﾅ「引用」。全角１２３",
    "ligatures": "eﬃcient ﬁnd ㍿ ½ ™ ①",
    "spaces and dashes": "a\u00a0b\u2009c\u3000d – e — f − g\u00adh",
    "tags and selectors": "x\U000e0061\U000e007f\ufe0f\ufe0e\u034f",
}


class Raw(TextProcessor):
    """Looks for invisible characters."""

    normalised: ClassVar[bool] = False

    def patterns(self) -> Sequence[Pattern]:
        """Zero-width space, soft hyphen, tags."""
        return [Pattern("HIDDEN", "[\u200b\u00ad\U000e0000-\U000e007f]{1,50}", "test.hidden")]


def viewed(text: str) -> str:
    return View().feed(text)


def mail(strategy: str = "redact") -> Patterns:
    return Patterns(find=r"[a-z]{1,9}@[a-z]{1,9}\.[a-z]{2,3}", strategy=strategy)


@pytest.mark.parametrize(
    "invisible",
    [
        *("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\u061c", "\u202e"),
        *("\ufe00", "\ufe0f", "\U000e0100", "\U000e0001", "\U000e0061", "\U000e007f", "\u034f", "\u3164"),
    ],
    ids=ascii,
)
def test_what_cannot_be_seen_is_dropped(invisible: str) -> None:
    """Zero-width, soft hyphen, direction marks, tags and variation selectors are not in the view."""
    assert viewed(f"ja{invisible}ne{invisible}") == "jane"


@pytest.mark.parametrize(
    "space", [*"\u00a0\u1680\u2002\u2003\u2007\u2009\u200a\u202f\u205f\u3000"], ids=ascii
)
def test_exotic_spaces_are_plain(space: str) -> None:
    """Every space separator reads as a space."""
    assert viewed(f"a{space}b") == "a b"


@pytest.mark.parametrize("dash", [*"\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"], ids=ascii)
def test_dashes_are_plain(dash: str) -> None:
    """Every dash, and the minus sign, reads as a hyphen."""
    assert viewed(f"1{dash}2") == "1-2"


@pytest.mark.parametrize(
    ("original", "plain"),
    [
        ("１２３", "123"),
        ("ｊａｎｅ＠ｘ．ｃｏ", "jane@x.co"),
        ("ﬃ", "ffi"),
        ("㍿", "株式会社"),
        ("①", "1"),
        ("𝐤𝐞𝐲", "key"),
    ],
)
def test_compatibility_forms_are_folded(original: str, plain: str) -> None:
    """Full-width, circled and styled characters and ligatures read as what they stand for."""
    assert viewed(original) == plain


@pytest.mark.parametrize("text", ["", "plain text 123 -@", "漢字かな", "привет", "é\u0301", "naïve"])
def test_other_text_reads_as_it_is(text: str) -> None:
    """What has no plainer form is left alone."""
    assert viewed(text) == text


@pytest.mark.parametrize("folding", [fold, fold_accents, fold_case])
def test_folding_ends(folding: Callable[[str], str]) -> None:
    """What a character reads as has no plainer form itself: a superscript minus is a dash, too."""
    unfinished = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if "".join(map(folding, folding(chr(code)))) != folding(chr(code))
    ]
    assert unfinished == []


@given(TEXTS)
def test_offsets_map_back(text: str) -> None:
    """Each character of the view maps to the original character that it comes from, in order."""
    view = View()
    folded = view.feed(text)
    origins = [view.original(offset) for offset in range(len(folded))]
    assert origins == [offset for offset, char in enumerate(text) for _ in fold(char)]
    assert view.original(len(folded)) == len(text)


@given(TEXTS, st.data())
def test_spans_cover_whole_characters(text: str, data: st.DataObject) -> None:
    """A span of the view covers every original character of which it covers a part, each whole."""
    view = View()
    folded = view.feed(text)
    if not folded:
        return
    start = data.draw(st.integers(0, len(folded) - 1))
    end = data.draw(st.integers(start + 1, len(folded)))
    first, last = view.span(start, end)
    assert folded[start:end] in viewed(text[first:last])
    assert fold(text[first])
    assert fold(text[last - 1])


@pytest.mark.parametrize("make", [View, WordView])
@given(text=TEXTS, sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6))
@example(text="0¼\r\r", sizes=[3])
def test_the_cutting_does_not_matter(make: type[View], text: str, sizes: list[int]) -> None:
    """However the text is fed and forgotten, the view and the map of what is kept are the same."""
    whole, cut = make(), make()
    folded = whole.feed(text)
    seen, at, turn, kept = "", 0, 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        seen += cut.feed(text[at : at + size])
        at, turn = at + size, turn + 1
        kept = max(kept, len(seen) - turn % 3)  # a piece may read as nothing; what is forgotten stays so
        expected = [whole.original(offset) for offset in range(kept, len(seen))]
        cut.forget(kept)
        assert [cut.original(offset) for offset in range(kept, len(seen))] == expected
    assert seen == folded


@given(TEXTS)
def test_the_raw_view_is_the_text(text: str) -> None:
    """A raw view changes nothing and maps each offset to itself."""
    view = RawView()
    assert view.feed(text) == text
    assert [view.original(offset) for offset in range(len(text) + 1)] == list(range(len(text) + 1))
    assert not text or view.span(0, len(text)) == (0, len(text))


@pytest.mark.parametrize("text", CLEAN.values(), ids=CLEAN)
def test_clean_text_passes_as_it_came(text: str) -> None:
    """Edits are made on the original, so joiners, selectors, wide forms and spaces survive."""
    for pieces in some_cuttings(text):
        assert said(pieces, mail()) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "j\u200bane@ex\u00adample.org",
        "ｊａｎｅ＠ｅｘａｍｐｌｅ．ｏｒｇ",
        "jane\ufe0f@example\U000e0061.org",
        "𝐣ane@eﬃ.org",
    ],
    ids=ascii,
)
def test_what_is_disguised_is_found(hidden: str) -> None:
    """Disguised text is found and goes whole, disguise included; text around it stays."""
    for pieces in some_cuttings(f"to {hidden}\u200d, é"):
        assert said(pieces, mail()) == "to [FOUND]\u200d, é"


def test_what_is_hidden_may_be_longer_than_what_it_reads_as() -> None:
    """Offsets of findings are those of the original."""
    came = same_in_every_cutting("ﬃ a\u200b\u200bb@c.de ok", lambda: [mail()])
    assert [(finding.start, finding.end) for finding in came.result.findings] == [(2, 11)]


@pytest.mark.parametrize("strategy", ["redact", "warn"])
def test_a_character_that_reads_as_several_is_found_once(strategy: str) -> None:
    """The scan goes on after the whole original character, so one ligature is one finding."""
    came = same_in_every_cutting("xﬃ ﬃ", lambda: [Patterns(find="f", strategy=strategy)])
    assert [(finding.start, finding.end) for finding in came.result.findings] == [(1, 2), (3, 4)]


def test_part_of_a_character_takes_it_all() -> None:
    """What is found in a part of a ligature takes the whole of it."""
    assert same_in_every_cutting("a-eﬃ!", lambda: [Patterns(find="ef")]).result.text == "a-[FOUND]!"


def test_a_raw_view_sees_the_original() -> None:
    """A guard against invisible characters finds them, and nothing is folded for it."""
    came = guard(ones("a\u200b\U000e0061b１"), Raw())
    assert came.result.text == "a[HIDDEN]b１"
    assert [(finding.start, finding.end) for finding in came.result.findings] == [(1, 3)]


# The text as words.

WORDY: Final = st.text(st.one_of(st.sampled_from(f"{TRICKY} \n\t´ßẞİÉ한"), st.characters()), max_size=30)


def as_words(text: str) -> str:
    return WordView().feed(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "straße"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("É", "e\u0301"),
        ("Ệ", "e\u0323\u0302"),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"),
        ("ガ", "カ\u3099"),
        ("ｶﾞ", "ガ"),
        ("Ǆ", "dz\u030c"),
        ("ŉ", "ʼN"),
        ("ﬃ", "FFI"),
        ("a \t\r\n\u2028\u3000\u200b b", "A b"),
        ("\u2014", "-"),
    ],
)
def test_one_word_reads_in_one_way(one: str, other: str) -> None:
    """Case, the composition of accents, compatibility forms and the kind of white space do not show."""
    assert as_words(one) == as_words(other)


@pytest.mark.parametrize(("one", "other"), [("e", "é"), ("i", "İ"), ("i", "ı"), ("ab", "a b"), ("か", "が")])
def test_other_words_read_otherwise(one: str, other: str) -> None:
    """Accents stay, and folding case knows no language."""
    assert as_words(one) != as_words(other)


def test_case_stays_where_it_matters() -> None:
    """With `case`, all else is folded."""
    assert WordView(case=True).feed("ＡéB \n ẞ") == "Ae\u0301B ẞ"


@given(WORDY)
def test_words_map_back(text: str) -> None:
    """Each character maps to the original that it comes from; of white space, to the first in the run."""
    view = WordView()
    folded = view.feed(text)
    unjoined = [(form, offset) for offset, char in enumerate(text) for form in fold_case(char)]
    kept = [
        one
        for place, one in enumerate(unjoined)
        if one[0] != " " or place == 0 or unjoined[place - 1][0] != " "
    ]
    assert [(char, view.original(offset)) for offset, char in enumerate(folded)] == kept
    assert view.original(len(folded)) == len(text)
