"""Which patterns are held back exactly, and how many are joined into one."""

from contextlib import suppress
from random import Random
from typing import Final

import pytest
import regex

from guardrails.testing import Patterns
from guardrails.text.pattern import Pattern
from guardrails.text.scan import Joined, PatternScan, Span
from guardrails.text.syntax import NotExactError, exact_form, joined
from tests.text import random_patterns
from tests.text.streams import within

REFUSED: Final = {
    r"ab\Kc": r"`\K`",
    r"\Gab": r"`\G`",
    r"a(*SKIP)b": "a backtracking verb",
    r"a(*PRUNE)b": "a backtracking verb",
    r"a(*FAIL)": "a backtracking verb",
    r"(?r)abc": r"`(?r`|reverse",
    r"a(?r:bc)": "a reverse search",
    r"(?:abc){e<=1}": r"`{`",
    r"(?:abc){i<=1,s<=2}": r"`{`",
    r"(?>a+)b": "an atomic group",
    r"x(?>a|ab)c": "an atomic group",
    r"a++b": "a possessive repeat",
    r"a*+b": "a possessive repeat",
    r"a?+b": "a possessive repeat",
    r"a{1,3}+b": "a possessive repeat",
    r"\mword": r"`\m`",
    r"word\M": r"`\M`",
    r"a(?<=a)b": "a look-behind that does not lead the pattern",
    r"a(?<!b)b": "a look-behind that does not lead the pattern",
    r"(?:(?<=a)b)+": "a look-behind that does not lead the pattern",
    r"(a)\1": r"`\1`",
    r"(?P<x>a)(?P=x)": "a reference to a group",
    r"(?P<x>a)\g<x>": r"`\g`",
    r"(a)?(?(1)b|c)": "a conditional",
    r"a(?R)?b": "recursion",
    r"(a(?1)?b)": r"`(?1`",
    r"(?<!a+)b": "a look-behind of more than 63 characters",
    r"(?<=a*)b": "a look-behind of more than 63 characters",
    r"(?<=a{64})b": "a look-behind of more than 63 characters",
    r"(?<=\bx)b": "a test inside a look-behind",
    r"(?<=(?=x))b": "a test inside a look-behind",
    r"a*": "the empty string",
    r"a?|b": "the empty string",
    r"(?=a)": "the empty string",
    r"\b": "the empty string",
    r"a{0,3}": "the empty string",
    r"(?:)": "the empty string",
    r"(?=a)+b": "a repeated zero-width test",
    r"(?:ab)\Z": r"`\Z`",
    r"\Aab": r"`\A`",
    r"a\Xb": r"`\X`",
    r"a\Rb": r"`\R`",
    r"(?|(a)|(b))c": "a branch reset",
    r"a(?#why)b": "a comment",
    r"a(?i)b": "write flags in `flags`",
    r"a(?i:b)": "write flags in `flags`",
    r"(?x) a b": "write flags in `flags`",
    r"\L<words>": r"`\L`",
}
ACCEPTED: Final = (
    *("abc", "a|bc|d", "[a-z]{2,4}", "[^a]x", "[]a]x", "[^]a]x", r"[\]\-]x", "[[:alpha:]]x", "a.c"),
    *(
        r"\d+",
        r"\w\W\s\S\D",
        r"\x41\u0042\U00000043",
        r"\p{Lu}\P{Lu}",
        r"\n\t\.",
        "a+?b",
        "a{2,}?c",
        "a{,3}b",
    ),
    *("(a)(?:b)(?P<name>c)(?<other>d)", r"\bword\b", r"a\Bb", "^a$", "a(?=b)", "a(?!b)c", "(?=ab)a"),
    *(
        "(?<=a)b",
        "(?<!ab|c)d",
        "(?<!a{1,63})b",
        r"\b(?<!x)y",
        "a|(?<!x)y",
        "(?<=a|bc)d",
        "(?i)a",
        "(?ims)a.$",
    ),
    *("é漢", "a b", "@", "-", "a}", "(?:a|)b", "a{0}b"),
)
FLAGS: Final = ["", "", "i", "m", "s", "im"]


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_cannot_be_held_exactly_is_refused_by_name(pattern: str) -> None:
    """A construct whose hold-back is not exact is refused, and the message names it."""
    with pytest.raises(NotExactError) as refused:
        exact_form(pattern)
    names = REFUSED[pattern].split("|")
    assert any(name in str(refused.value) for name in names), str(refused.value)


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_processor_refuses_it_too(pattern: str) -> None:
    """What cannot be held is an error before the first chunk."""
    with pytest.raises(ValueError, match=r"it (has|can match)|does not compile"):
        Patterns(find=pattern)


def test_the_message_says_where() -> None:
    """The place is that of the construct, counted from 1."""
    with pytest.raises(NotExactError, match="it has an atomic group at character 3"):
        exact_form("ab(?>c)")


@pytest.mark.parametrize("pattern", ACCEPTED)
def test_what_can_be_held_exactly_is_accepted(pattern: str) -> None:
    """Everything else is read whole, and its touching form compiles and never matches."""
    form = exact_form(pattern)
    found, touching = joined([form])
    regex.compile(found)
    assert regex.search(touching, "abc ABC 123 aab b d word - @ }") is None


@pytest.mark.parametrize("pattern", ["a[[:b]", "[[:a]]", r"[\p{L}[:x]", "a[[:]b"])
def test_a_class_may_hold_a_bracket_and_a_colon(pattern: str) -> None:
    """`[:` in a class begins a named class only when `:]` ends it; reading comes to an end."""
    with within(5), suppress(NotExactError):
        exact_form(pattern)


@pytest.mark.parametrize("pattern", [r"[[:](?>a+):]", r"[[:](?<=a)b:]]", r"[[:]a++b:]]", r"[[:](?>a+)b]"])
def test_a_bracket_and_a_colon_hide_nothing(pattern: str) -> None:
    """What follows a class with `[:` in it is read, whatever the class looks like."""
    regex.compile(pattern)
    with pytest.raises(NotExactError):
        exact_form(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\p{L", r"a\p{", r"\P{Lu", r"\x4", r"\u12", "a\\", "(", "a)", "[a", "*a", "a{"]
)
def test_what_is_no_pattern_is_an_error(pattern: str) -> None:
    """A pattern that does not compile is an error, and reading it comes to an end."""
    with within(5), pytest.raises(ValueError, match=r"."):
        Patterns(find=pattern)


@pytest.mark.parametrize(
    "pattern", [r"(?<!ba ?)5{1,2}(?:x|y)", r"(?<!b(?:a ){0,2})5{1,2}(?:x|y)", r"(?<!ba {0,3})(?:5x|55x)"]
)
def test_a_repeat_in_a_look_behind_does_not_hold(pattern: str) -> None:
    """A candidate that has failed is let go, whatever the text before it was compared with."""
    scan, spans = PatternScan(Joined([Pattern("A", pattern, "a")]), None), list[Span]()
    for piece in ("a5 5 ", *("prose " * 50)):
        scan.feed(piece, spans)
    assert scan.settled > 290
    assert spans == []


def test_flags_belong_to_their_pattern() -> None:
    """Joined patterns are read each with its own flags."""
    one = [Pattern("A", "abc", "a", "i"), Pattern("B", "def", "b"), Pattern("C", "^g.h", "c", "ms")]
    scan = PatternScan(Joined(one), None)
    spans: list[Span] = []
    scan.feed("ABC DEF def G\nh\ng\nh", spans)
    scan.feed("", spans, last=True)
    assert [(span.pattern.label, span.start, span.end) for span in spans] == [
        ("A", 0, 3),
        ("B", 8, 11),
        ("C", 16, 19),
    ]


@pytest.mark.parametrize("pattern", ["(?i)k", "(?i)ß", "(?i)ſ", "(?i)i", "(?i)σ", "(?i)[k]"])
def test_the_first_characters_are_those_of_every_case(pattern: str) -> None:
    """The test for first characters passes everything that the pattern itself matches."""
    form = exact_form(pattern)
    found, _ = joined([form, exact_form("(?i)zz")])
    for text in "kKK ßẞſsS iIİı σςΣ":
        assert bool(regex.match(found, text)) == bool(regex.match(pattern, text)), ascii(text)


def one_by_one(patterns: list[tuple[str, str]], text: str) -> list[tuple[int, int, int]]:
    """Leftmost first, then the first pattern in order, each asked alone."""
    spans, at = [], 0
    compiled = [regex.compile(f"(?{flags}:{pattern})") for pattern, flags in patterns]
    while at <= len(text):
        hits = [(place, one.match(text, at, timeout=1.0)) for place, one in enumerate(compiled)]
        hit = next(((place, match) for place, match in hits if match), None)
        if hit is None:
            at += 1
            continue
        place, match = hit
        spans.append((match.start(), match.end(), place))
        at = match.end()
    return spans


def together(patterns: list[tuple[str, str]], pieces: list[str]) -> list[tuple[int, int, int]]:
    """The same, joined and streamed."""
    many = [Pattern(str(place), one, "x", flags) for place, (one, flags) in enumerate(patterns)]
    scan = PatternScan(Joined(many), 1.0)
    spans: list[Span] = []
    for piece in pieces:
        scan.feed(piece, spans)
    scan.feed("", spans, last=True)
    return [(span.start, span.end, int(span.pattern.label)) for span in spans]


def exact(random: Random) -> tuple[str, str]:
    """A random pattern that is held exactly, half of them beginning with a few literal characters."""
    while True:
        pattern, flags = random_patterns.pattern(random), random.choice(FLAGS)
        if random.random() < 0.5:
            pattern = (
                random.choice(["a", "b(?:c)?", "(?:a|b)", "(?!ab)a", r"\ba", "a?c", "-"]) + f"(?:{pattern})"
            )
        try:
            exact_form(pattern, flags)
            regex.compile(pattern)
        except (NotExactError, regex.error):
            continue
        return pattern, flags


@pytest.mark.parametrize("seed", range(4))
def test_joined_patterns_find_what_each_finds_alone(seed: int) -> None:
    """Joining patterns behind tests for first characters never changes what is found, nor by which."""
    random = Random(seed)
    for _ in range(150):
        patterns = [exact(random) for _ in range(random.randint(2, 5))]
        for _ in range(25):
            text = random_patterns.text(random)
            try:
                expected = one_by_one(patterns, text)
            except TimeoutError:
                break
            assert together(patterns, [text]) == expected, (patterns, text)
            pieces = random_patterns.cutting(random, text)
            assert together(patterns, pieces) == expected, (patterns, pieces)
