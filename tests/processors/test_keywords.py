"""Keywords: what counts as a term, where one is found, and that no more is held than must be."""

import logging
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from guardrails import Finding, Parallel
from guardrails.testing import cuts
from guardrails.text.scan import Span
from guardrails.text.view import fold_accents, fold_case
from processors.keywords import LONGEST, Keywords
from tests.text.streams import cause, code, guard, ones, said, same_in_every_cutting, some_cuttings


def keywords(*terms: str, **settings: Any) -> Keywords:
    return Keywords(terms=terms, **settings)


def left(text: str, *terms: str, **settings: Any) -> str:
    """What a consumer reads, the same in every cutting; `[]` stands for what was found."""
    came = same_in_every_cutting(text, lambda: [keywords(*terms, **settings)])
    return came.result.text.replace("[KEYWORD]", "[]")


HITS: Final[dict[str, tuple[str, str, str]]] = {
    "a word": ("a secret plan", "secret", "a [] plan"),
    "the whole text": ("secret", "secret", "[]"),
    "between marks": ("(secret)-secret, 'secret'", "secret", "([])-[], '[]'"),
    "another case": ("SECRET Secret", "secret", "[] []"),
    "a term in capitals": ("secret", "SECRET", "[]"),
    "sharp s": ("Hauptstraße", "HAUPTSTRASSE", "[]"),
    "sharp s in the term": ("HAUPTSTRASSE", "Hauptstraße", "[]"),
    "capital sharp s": ("STRAẞE", "straße", "[]"),
    "final sigma": ("ΟΔΟΣ", "οδος", "[]"),
    "decomposed accents": ("un cafe\u0301!", "café", "un []!"),
    "decomposed accents in the term": ("un CAFÉ!", "cafe\u0301", "un []!"),
    "a dotted capital": ("İzmir", "İZMIR", "[]"),
    "a zero-width space within": ("se\u200bcr\u00adet", "secret", "[]"),
    "a zero-width space in the term": ("secret", "se\u200bcret", "[]"),
    "full-width letters": ("ｓｅｃｒｅｔ", "secret", "[]"),
    "full-width letters in the term": ("secret", "ｓｅｃｒｅｔ", "[]"),
    "a ligature": ("eﬃcient", "efficient", "[]"),
    "another dash": ("e‑mail e–mail", "e-mail", "[] []"),
    "a phrase": ("in New York now", "new york", "in [] now"),
    "a line break in it": ("new\nyork", "new york", "[]"),
    "much white space in it": ("new \t\r\n \u3000\u2028 york", "new york", "[]"),
    "hidden characters among white space": ("new \u200b \u200b york", "new york", "[]"),
    "white space of the term": ("new york", "  new \t\n york ", "[]"),
    "an end of no word": ("C++, .NET and $$", "c++\n.net\n$$", "[], [] and []"),
    "no end of a word needed there": ("C++20 ASP.NET x$$y", "c++\n.net\n$$", "[]20 ASP[] x[]y"),
    "what stands before a sign": ("C++ c# C", "c", "[]++ []# []"),
    "Chinese": ("我们用机密计划写", "机密", "我们用[]计划写"),
    "a Latin word amid Chinese": ("用ChatGPT写", "ChatGPT", "用[]写"),
    "a Latin word amid kana": ("がChatGPTー", "ChatGPT", "が[]ー"),
    "the same decomposed": ("か\u3099ChatGPTか\u3099", "ChatGPT", "か\u3099[]か\u3099"),
    "half-width kana": ("これはﾃﾞｰﾀです", "データ", "これは[]です"),
    "Korean with a particle": ("비밀은 없다", "비밀", "[]은 없다"),
    "decomposed Korean": ("\u1107\u1175\u1106\u1175\u11af은", "비밀", "[]은"),
    "decomposed Korean in the term": ("비밀은", "\u1107\u1175\u1106\u1175\u11af", "[]은"),
    "Thai": ("นี่คือความลับของเรา", "ความลับ", "นี่คือ[]ของเรา"),
    "Khmer, Lao and Burmese": ("កខគ ກຂຄ ကခဂ", "ខ\nຂ\nခ", "ក[]គ ກ[]ຄ က[]ဂ"),
    "Arabic and Hebrew": ("סוד سر", "סוד\nسر", "[] []"),
    "Devanagari": ("यह गुप्त है", "गुप्त", "यह [] है"),
    "emoji": ("a💣b 💣", "💣", "a[]b []"),
    "emoji with a selector": ("so ❤\ufe0f so", "❤", "so []\ufe0f so"),
    "styled letters": ("𝐬𝐞𝐜𝐫𝐞𝐭", "secret", "[]"),
    "one after the other": ("secret secret", "secret", "[] []"),
    "overlapping at the end": ("new york city hall", "new york\nyork city", "[] city hall"),
    "the longer one": ("new york city", "new york\nnew york city\nnew", "[]"),
    "the shorter one where the longer is not": (
        "new york cities",
        "new york\nnew york city\nnew",
        "[] cities",
    ),
    "the shortest": ("new yorker", "new york\nnew york city\nnew", "[] yorker"),
    "either apostrophe": ("don’t don't", "don’t", "[] []"),
    "either apostrophe in the term": ("don’t don't", "don't", "[] []"),
    "doubled terms": ("a secret", "secret\nSECRET\nsecret ", "a []"),
}
MISSES: Final[dict[str, tuple[str, str]]] = {
    "part of a word": ("secrets secretary unsecret", "secret"),
    "before a digit or underscore": ("secret1 secret_ _secret 1secret", "secret"),
    "an accent more": ("secreté secret\u0301", "secret"),
    "an accent more at the end": ("café cafe\u0301", "cafe"),
    "an accent less": ("cafe", "café"),
    "words joined": ("newyork new-york", "new york"),
    "a word less": ("new new y york", "new york"),
    "a hidden character joins words": ("a\u200bsecret", "secret"),
    "a syllable more in the block": ("밀", "미"),
    "the same decomposed": ("\u1106\u1175\u11af", "미"),
    "a tone more": ("กา\u0e48", "กา"),
    "a vowel sign of a word": ("राम", "र"),
    "the Turkish i": ("İstanbul ıstanbul", "istanbul"),
}


@pytest.mark.parametrize(("text", "terms", "rest"), HITS.values(), ids=HITS)
def test_what_is_found(text: str, terms: str, rest: str) -> None:
    """Each of these is found, in every cutting, and what is around it stays."""
    assert left(text, *terms.split("\n") if "\t" not in terms else [terms]) == rest


@pytest.mark.parametrize(("text", "term"), MISSES.values(), ids=MISSES)
def test_what_is_not_found(text: str, term: str) -> None:
    """Each of these is something else, and passes."""
    assert left(text, term) == text


def test_substrings() -> None:
    """With `substring`, terms stand anywhere; but a letter with an accent is another letter."""
    assert left("unsecretly SECRET1", "secret", match="substring") == "un[]ly []1"
    assert left("cafeteria café cafe\u0301", "cafe", match="substring") == "[]teria café cafe\u0301"
    assert left("aaaaa", "aa", match="substring") == "[][]a"
    assert left("xﬃx", "f", match="substring") == "x[]x"


def test_case_may_matter() -> None:
    """With `case_sensitive`, only the case of the term is found; all else reads as it does without."""
    assert left("US us Us", "US", case_sensitive=True) == "[] us Us"
    assert left("ＵＳ\u200b U\u00adS", "US", case_sensitive=True) == "[]\u200b []"
    assert left("Cafe\u0301 café", "Café", case_sensitive=True) == "[] café"
    assert left("STRASSE straße", "straße", case_sensitive=True) == "STRASSE []"
    assert left("US US\nA", "US  A", case_sensitive=True) == "US []"


def test_spans_are_those_of_the_original() -> None:
    """A finding covers whole original characters, hidden ones within it included, none around it."""
    came = same_in_every_cutting("a\u200b ne\u200bw \n y\u00adoﬃ\u200b b", lambda: [keywords("new yoffi")])
    assert [(one.start, one.end) for one in came.result.findings] == [(3, 14)]
    assert came.result.text == "a\u200b [KEYWORD]\u200b b"


def test_one_character_is_one_finding() -> None:
    """The search goes on after the whole original character, so a ligature is found once."""
    came = same_in_every_cutting("xﬃf", lambda: [keywords("f", match="substring", strategy="warn")])
    assert [(one.start, one.end) for one in came.result.findings] == [(1, 2), (2, 3)]


@pytest.mark.parametrize("length", range(250, 270))
def test_a_long_word_stays_one(length: int) -> None:
    """However much of a text is decided and forgotten, what stood before a place is known."""
    text = "x" * length + "secret"
    assert said(ones(text), keywords("secret")) == text


def test_a_finding_says_the_label_and_never_the_term(caplog: pytest.LogCaptureFixture) -> None:
    """Label and code are those of the setting; neither findings, reasons nor log lines name the term."""
    caplog.set_level(logging.DEBUG, "guardrails")
    came = guard(ones("the Falkland plan"), keywords("falkland", label="Code-names", strategy="block"))
    (finding,) = came.result.findings
    assert (finding.label, finding.code) == ("CODE-NAMES", "keywords.code-names")
    assert code(came.result) == "keywords.code-names"
    told = [repr(finding), repr(came.result.tripwire), caplog.text]
    assert came.result.text == "the "
    assert not [one for one in told if "falkland" in one.lower()]


@pytest.mark.parametrize(
    ("strategy", "rest"),
    [("remove", "a  b"), ("mask", "a *****q b"), ("warn", "a secreq b"), ("redact", "a [KEYWORD] b")],
)
def test_strategies(strategy: str, rest: str) -> None:
    """The strategies do what they do for every text processor."""
    came = same_in_every_cutting("a secreq b", lambda: [keywords("secreq", strategy=strategy)])
    assert came.result.text == rest
    assert len(came.result.findings) == 1


def test_in_a_group_the_findings_become_one() -> None:
    """Side by side with others, overlapping findings become one under the stronger strategy."""

    def make() -> Sequence[Parallel]:
        members = keywords("new york", id="a"), keywords("york city", id="b", strategy="remove")
        return [Parallel(members=members)]

    assert same_in_every_cutting("to new york city at", make).result.text == "to  at"


def test_white_space_without_end_reaches_the_limit() -> None:
    """A term that white space keeps undecided is held up to `max_hold`, then blocks."""
    came = same_in_every_cutting(f"new{' ' * 100}york", lambda: [keywords("new york", max_hold=64)])
    assert cause(came.result) == "limit"


# Terms from a file.


def file_of(tmp_path: Path, data: str | bytes) -> Path:
    file = tmp_path / "terms.txt"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file


def test_terms_of_a_file(tmp_path: Path) -> None:
    """A file gives a term a line, with or without a byte order mark and carriage returns, beside `terms`."""
    file = file_of(tmp_path, "\ufeff# names\r\n\r\nFalkland\r\n  new   york \r\n #tag\r\n \t\r\nα#b")
    processor = keywords("inline", file=file)
    text = "falkland, NEW YORK, #tag, α#B, names, inline"
    assert said(ones(text), processor) == ", ".join(["[KEYWORD]"] * 4) + ", names, [KEYWORD]"


def test_a_comment_after_a_byte_order_mark(tmp_path: Path) -> None:
    """The mark is no part of the first line."""
    assert said("a # b", Keywords(file=file_of(tmp_path, "\ufeff#a\nb\n"))) == "a # [KEYWORD]"


def test_the_file_is_read_once(tmp_path: Path) -> None:
    """What stands in it when the processor is made holds for all its streams."""
    file = file_of(tmp_path, "secret")
    processor = Keywords(file=file)
    file.write_text("other", encoding="utf-8")
    assert said("secret other", processor) == "[KEYWORD] other"


def test_it_can_be_pickled() -> None:
    """It is pickled as its settings, and prepared anew."""
    assert said("a secret", pickle.loads(pickle.dumps(keywords("secret")))) == "a [KEYWORD]"  # noqa: S301


def test_many_terms(tmp_path: Path) -> None:
    """Ten thousand terms load, and each is found."""
    random = Random(7)
    terms = ["".join(random.choices("abcdefgh", k=random.randint(4, 20))) for _ in range(10_000)]
    processor = Keywords(file=file_of(tmp_path, "\n".join(terms)))
    text = " ".join(terms[:500])
    assert said(text, processor) == " ".join(["[KEYWORD]"] * 500)
    assert said("none of these words", processor) == "none of these words"


# What is refused.

TOO_LONG: Final = "x" * (LONGEST + 1)
INVISIBLE: Final = "a term is made of invisible characters, which are not looked at, and nothing else"
BAD: Final[dict[str, tuple[dict[str, Any], tuple[str | int, ...], str]]] = {
    "nothing": ({}, (), "give `terms` or `file`; without either there is nothing to find"),
    "no terms": ({"terms": ()}, ("terms",), "Tuple should have at least 1 item after validation, not 0"),
    "an empty term": (
        {"terms": ("a", "")},
        ("terms", 1),
        "a term is empty, so it would be found everywhere",
    ),
    "white space": (
        {"terms": (" \t\u3000",)},
        ("terms", 0),
        "a term is empty, so it would be found everywhere",
    ),
    "invisible": ({"terms": ("a", "b", "\u200b \u00ad")}, ("terms", 2), INVISIBLE),
    "too long": ({"terms": (TOO_LONG,)}, ("terms", 0), f"a term may have {LONGEST} characters, not 201"),
    "a label of several words": (
        {"terms": ("a",), "label": "two words"},
        ("label",),
        "String should match pattern '^[A-Za-z0-9][A-Za-z0-9_.-]*$'",
    ),
    "another way to match": (
        {"terms": ("a",), "match": "regex"},
        ("match",),
        "Input should be 'word' or 'substring'",
    ),
    "held for less than it is long": (
        {"terms": ("x" * 64,), "max_hold": 64},
        (),
        "max_hold: it must be more than the longest term, or clean text would block",
    ),
    "hash without a key": (
        {"terms": ("a",), "strategy": "hash"},
        (),
        "key_env: the strategy `hash` needs a key; name the variable that holds it",
    ),
}
BAD_FILES: Final[dict[str, tuple[bytes, str]]] = {
    "empty": (b"", "there is no term in the file"),
    "comments alone": (b"# a\n\n  \n", "there is no term in the file"),
    "not UTF-8": (b"a\nb\n\xff\xfe\n", "line 3: it is not UTF-8"),
    "a long line": (b"a\n" + b"x" * 300, "line 2: a term may have 200 characters, not 300"),
    "an invisible line": ("a\n\u200b\n".encode(), f"line 2: {INVISIBLE}"),
}


@pytest.mark.parametrize(("settings", "where", "sentence"), BAD.values(), ids=BAD)
def test_bad_settings(settings: dict[str, Any], where: tuple[str | int, ...], sentence: str) -> None:
    """Each is refused with a sentence that says what is wrong, at its place."""
    with pytest.raises(ValidationError) as refused:
        Keywords(**settings)
    error, *_ = refused.value.errors()  # pydantic counts only what is right in a list
    assert (error["loc"], error["msg"].removeprefix("Value error, ")) == (where, sentence)


@pytest.mark.parametrize(("data", "sentence"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(data: bytes, sentence: str, tmp_path: Path) -> None:
    """Each is refused with a sentence that names the key and the line."""
    file = file_of(tmp_path, data)
    with pytest.raises(ValidationError, match=re.escape(f"Value error, file: {sentence} [")):
        Keywords(file=file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is missing, and what is no regular file, are told as such."""
    missing, other = "the file cannot be read: No such file or directory", "only a regular file is read"
    for file, reason in ((tmp_path / "none", missing), (tmp_path, other), (Path("/dev/zero"), other)):
        sentence = f"Value error, file: {reason}"
        with pytest.raises(ValidationError, match=re.escape(sentence)):
            Keywords(file=file)


def test_a_file_of_terms_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is larger than what is read is refused."""
    monkeypatch.setattr("processors.keywords.MOST_BYTES", 3)
    assert said("abc", Keywords(file=file_of(tmp_path, "abc"))) == "[KEYWORD]"
    with pytest.raises(ValidationError, match="file: the file is larger than 3 bytes, the most that is read"):
        Keywords(file=file_of(tmp_path, "abcd"))


def test_terms_are_not_shown() -> None:
    """Terms may be secrets; a processor does not show them."""
    assert "secret" not in repr(keywords("secret"))


# Exact hold-back, beside a plain reading of the rules on the whole text.

UNSPACED: Final = r"\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}\u3099\u30fc"
BEFORE: Final = regex.compile(rf"(?V1).*[[\w\p{{M}}]--[{UNSPACED}]]", regex.DOTALL)
GOES_ON: Final = regex.compile(r"[\p{Mn}\p{Mc}\p{Me}\u1160-\u11ff]")
ALPHABETS: Final = (
    "ab ",
    "aA b\n\t",
    "ab+-_1 ",
    "ae\u0301éE ",
    "ßsSẞ ",
    "漢字aあがか\u3099 ",
    "하한가\u1112\u1161\u11ab",
    "fﬃi\u200b ｆ",
    "iİıI\u0307 ",
    "k𝐤👍💣\ud83d ",
    "กา\u0e48ำน a",
    "a\u200b\u00ad \n\u3000b",
    "´a \u0301",
)


class Reference:
    """Finds terms in a whole text by trying each at each place."""

    def __init__(self, terms: Iterable[str], *, words: bool, case: bool) -> None:
        self._fold: Callable[[str], str] = fold_accents if case else fold_case
        self._terms = {"".join(char for char, _ in self.read(term)).strip(" ") for term in terms}
        self._words = words

    def read(self, text: str) -> list[tuple[str, int]]:
        """The characters of the view, each with the place that it comes from."""
        all_ = [(form, place) for place, char in enumerate(text) for form in self._fold(char)]
        pairs = zip([("", 0), *all_], all_, strict=False)
        return [one for before, one in pairs if (before[0], one[0]) != (" ", " ")]

    def spans(self, text: str, *, final: bool) -> tuple[list[tuple[int, int]], int]:
        """The decided matches in the original, and the first place that is not decided."""
        read = self.read(text)
        view, places = "".join(char for char, _ in read), [place for _, place in read]
        spans: list[tuple[int, int]] = []
        at = 0
        while at < len(view):
            could = [term for term in self._terms if self._may_begin(view, at, term)]
            if not final and any(term.startswith(view[at:]) for term in could):
                return spans, places[at]
            ends = [at + len(term) for term in could if self._is_there(view, at, term)]
            if ends:
                last = places[max(ends) - 1]
                spans.append((places[at], last + 1))
                at = next((new for new in range(at, len(view)) if places[new] > last), len(view))
            else:
                at += 1
        return spans, len(text)

    def _may_begin(self, view: str, at: int, term: str) -> bool:
        return not (self._words and BEFORE.fullmatch(view[:at]) and BEFORE.fullmatch(term[0]))

    def _is_there(self, view: str, at: int, term: str) -> bool:
        if not view.startswith(term, at):
            return False
        after = view[at + len(term) :][:1]
        in_word = self._words and BEFORE.fullmatch(after) and BEFORE.fullmatch(term)
        return not in_word and not GOES_ON.match(after)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], str, Keywords, Reference]:
    """Terms and a text over a small alphabet, so that terms often are there, nearly are, and overlap."""
    alphabet = draw(st.sampled_from(ALPHABETS))
    words = st.text(st.sampled_from(alphabet), min_size=1, max_size=draw(st.integers(1, 5)))
    case, match = draw(st.booleans()), draw(st.sampled_from(["word", "substring"]))
    terms = draw(st.lists(words.filter(visible), min_size=1, max_size=6))
    parts = draw(st.lists(st.one_of(words, st.sampled_from(terms), st.sampled_from(" .\n")), max_size=8))
    processor = Keywords(terms=tuple(terms), match=match, case_sensitive=case)
    return terms, "".join(parts), processor, Reference(terms, words=match == "word", case=case)


def visible(term: str) -> bool:
    return bool("".join(map(fold_case, term)).strip())


def whole(text: str) -> str:
    """The text with surrogates joined that a text over an alphabet may have parted."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@given(cases(), st.lists(st.integers(0, 5), min_size=1, max_size=5))
def test_findings_are_those_of_the_whole_text(
    case: tuple[list[str], str, Keywords, Reference], sizes: list[int]
) -> None:
    """However the text is cut, even between the halves of a character, found is what each term tells."""
    _, text, processor, reference = case
    text = whole(text)
    findings: Sequence[Finding] = guard(cuts(sizes)(text), processor).result.findings
    assert [(one.start, one.end) for one in findings] == reference.spans(text, final=True)[0]


@given(cases(), st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_nothing_is_held_that_is_no_beginning(
    case: tuple[list[str], str, Keywords, Reference], sizes: list[int]
) -> None:
    """At any time, what is settled and found is what no future can change, and nothing less."""
    _, text, processor, reference = case
    (search,) = processor.searches()
    view, spans = processor.view(), list[Span]()
    scan = search.scan(None, view.whole)
    found: list[tuple[int, int]] = []
    for taken, piece in pieces(text, sizes):
        scan.feed(view.feed(piece), spans)
        found += [view.span(span.start, span.end) for span in spans[len(found) :]]
        assert (found, view.original(scan.settled)) == reference.spans(text[:taken], final=False)
        view.forget(scan.settled)


def pieces(text: str, sizes: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Pieces of these sizes, again and again, each with the place where it ends."""
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        yield min(at + size, len(text)), text[at : at + size]
        at, turn = at + size, turn + 1


@pytest.mark.parametrize(
    ("text", "term"),
    [("a" * 3000, "a" * 199 + "b"), ("a" * 3000, "a" * 200), ("a " * 1500, "a " * 99 + "b")],
)
def test_a_text_that_always_might_be_one_is_held_no_longer_than_one(text: str, term: str) -> None:
    """Of a text that goes on beginning a term, no more is held than the term is long."""
    processor = keywords(term, match="substring")
    (search,) = processor.searches()
    scan, spans = search.scan(None, int), list[Span]()
    for taken, piece in pieces(text, [4]):
        scan.feed(piece, spans)
        assert taken - scan.settled <= len(term)


def test_terms_of_several_processors_do_not_mix() -> None:
    """Each looks for its own."""
    for cut in some_cuttings("red and blue"):
        first, second = keywords("red", id="a", label="a"), keywords("blue", id="b", label="b")
        assert said(cut, first, second) == "[A] and [B]"
