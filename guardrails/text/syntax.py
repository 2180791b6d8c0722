r"""Which patterns can be held back exactly, and the form of them that shows where text is undecided.

A pattern is held back exactly when the `regex` engine, asked for a partial match of the pattern
followed by `(?!)`, names every position from which an attempt ran into the end of the text. That
holds for the constructs read here (`tests/text/test_syntax.py` compares random patterns, texts and
cuttings with the whole text) once two things are rewritten that the engine overlooks: zero-width
tests read the end of the text unnoticed, so they become look-aheads; lazy repeats skip lengths
before a test, so they become greedy.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, NoReturn

import regex

LOOK_BEHIND: Final = 63
"""The most characters a look-behind may look at; the scan keeps one more as left context."""

_CLASS_ESCAPES: Final = frozenset("dDwWsS")
_CHAR_ESCAPES: Final = frozenset("nrtfv")
_HEX_ESCAPES: Final = {"x": 2, "u": 4, "U": 8}
_REPEAT: Final = regex.compile(r"[*+?]|\{(?:(\d+)(,)?(\d+)?|,(\d+))\}")
_NAMED_CLASS: Final = regex.compile(r"\[:\^?\w+:\]")
_OUT_OF_REACH: Final = regex.compile(r"\\(?P<escape>[\s\S])|\(\?(?P<flags>[a-zA-Z0-9]*)(?:-[a-zA-Z]+)?[:)]")
_LEADING_FLAGS: Final = regex.compile(r"\(\?([ims]+)\)")
_GROUP: Final = regex.compile(r"\((?:\?:|\?P?<[A-Za-z_]\w*>)?(?!\?)")
_END: Final = r"(?![\s\S])"
_TESTS: Final = {
    r"\b": r"(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))",
    r"\B": r"(?:(?<=\w)(?=\w)|(?<!\w)(?!\w))",
    "^": "^",
}
_NAMES: Final = {
    "(?>": "an atomic group",
    "(?|": "a branch reset",
    "(?#": "a comment",
    "(?(": "a conditional",
    "(?R": "recursion",
    "(?r": "a reverse search",
    "(?=": "a repeated look-ahead",
    "(?!": "a repeated look-ahead",
    "(?<": "a look-behind that does not lead the pattern",
    "(?P": "a reference to a group",
    "(*": "a backtracking verb",
}


class NotExactError(ValueError):
    """The pattern is valid but its hold-back cannot be exact; it must state `max_length`."""


@dataclass(frozen=True, slots=True)
class ExactForm:
    """A pattern that is held back exactly.

    Attributes:
        found: what is searched.
        touching: the same without overlooked ends: followed by `(?!)`, its partial matches are the
            attempts that ran into the end of the text.
        flags: what both are read with.
        first: the literal characters that every match begins with one of; None when they are not few.
        lead: the test that both forms begin with, such as a look-behind; empty if not all branches have it.
    """

    found: str
    touching: str
    flags: str
    first: frozenset[str] | None
    lead: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece that has been read: its touching form, its least and most characters, what it can begin with.

    `first` is None when that is more than a few literal characters.
    """

    touching: str
    least: int
    most: int | None
    first: frozenset[str] | None = frozenset()
    test: bool = False


@lru_cache(maxsize=1024)
def exact_form(pattern: str, flags: str = "") -> ExactForm:
    """Read a pattern; it is asked for when the pattern is made and again when it is joined with others.

    Args:
        pattern: a regular expression of the `regex` module that compiles.
        flags: any of `i`, `m`, `s`.

    Raises:
        NotExactError: it has a construct whose hold-back is not exact, or can match nothing.
    """
    leading = _LEADING_FLAGS.match(pattern)
    if leading:
        pattern, flags = pattern[leading.end() :], flags + leading[1]
    reader = _Reader(pattern, multiline="m" in flags)
    part = reader.whole()
    if part.least == 0:
        raise NotExactError("it can match the empty string")
    return ExactForm(pattern, part.touching, "".join(sorted(set(flags))), part.first, reader.lead)


def check_window(pattern: str, length: int) -> None:
    """Refuse what no window can hold: a search that runs backwards, or that moves its own beginning.

    So is a window that is too small for any match, as far as that can be told.

    Raises:
        NotExactError: it has one.
    """
    for token in _OUT_OF_REACH.finditer(pattern):
        if token["escape"] in ("K", "G"):
            raise NotExactError(f"it has `{token[0]}`, which no `max_length` can hold")
        if "r" in (token["flags"] or ""):
            raise NotExactError("it has a reverse search, which no `max_length` can hold")
    try:
        least = _Reader(pattern, multiline=False).whole().least
    except NotExactError:
        return
    if least > length:
        raise NotExactError(f"a match has at least {least} characters, more than its max_length of {length}")


def joined(forms: Sequence[ExactForm]) -> tuple[str, str]:
    """One pattern for many, in their order: what is searched, and what shows where text is undecided.

    Neighbours that each begin with one of a few characters stand behind one test for these, those of them
    that may begin alike behind one of their own, and all behind the test that they share. So a hundred
    key formats cost little more than one where none can begin, and where one can, only its like are tried.
    """
    leads = {(form.lead, form.flags) for form in forms}
    shared, shared_flags = leads.pop() if len(leads) == 1 else ("", "")
    found, touching = [], []
    for (flags, narrow), group in groupby(forms, lambda form: (form.flags, form.first is not None)):
        neighbours = list(group)
        sets = _alike(neighbours) if narrow else [neighbours]
        found.append(f"(?{flags}:{_branches(sets, lambda form: form.found[len(shared) :])})")
        touching.append(f"(?{flags}:{_branches(sets, lambda form: form.touching[len(shared) :])})")
    lead = f"(?{shared_flags}:{shared})" if shared else ""
    return f"{lead}(?:{'|'.join(found)})", f"{lead}(?:{'|'.join(touching)})(?!)"


def _alike(forms: Sequence[ExactForm]) -> list[list[ExactForm]]:
    """Sets of forms that may begin alike; of different sets, only one can match at a place."""
    sets: list[tuple[frozenset[str], list[ExactForm]]] = []
    for form in forms:
        first, members = folded(form.first or ()), [form]
        for other in [each for each in sets if each[0] & first]:
            sets.remove(other)
            first, members = first | other[0], [*other[1], *members]
        sets.append((first, members))
    return [members for _, members in sets]


def folded(characters: Iterable[str]) -> frozenset[str]:
    """Characters without their case, so that what the engine takes for one under any flags is one here."""
    return frozenset("".join(characters).casefold().replace("ı", "i"))


def _branches(sets: Sequence[Sequence[ExactForm]], of: Callable[[ExactForm], str]) -> str:
    """The forms as branches, each set of them behind a test for what its forms begin with."""
    branches = [f"{_begins(forms)}(?:{'|'.join(f'(?:{of(form)})' for form in forms)})" for forms in sets]
    if len(sets) == 1:
        return branches[0]
    return f"{_begins([form for forms in sets for form in forms])}(?:{'|'.join(branches)})"


def _begins(forms: Sequence[ExactForm]) -> str:
    """A test for the characters that the forms may begin with; empty if these are not few."""
    if any(form.first is None for form in forms):
        return ""
    characters = sorted(frozenset[str]().union(*(form.first or () for form in forms)))
    return f"(?=[{''.join(map(regex.escape, characters))}])"


def _written_out(part: _Part, low: int, high: int) -> str:
    """A repeat without one: behind a repeat in a look-behind, the engine calls partial what has failed."""
    if part.most == 0:
        return ""
    rest = ""
    for _ in range(high - low):
        rest = f"(?:|{part.touching}{rest})"
    return part.touching * low + rest


class _Reader:
    """A recursive descent over the constructs whose hold-back is exact."""

    def __init__(self, pattern: str, *, multiline: bool) -> None:
        self.pattern, self.at, self.behind = pattern, 0, False
        self.lead = ""
        self.line_end = r"(?=\n|(?![\s\S]))" if multiline else r"(?=\n?(?![\s\S]))"

    def whole(self) -> _Part:
        part = self._alternatives(leading=True, top=True)
        if self.at < len(self.pattern):
            self._refuse("an unmatched `)`")
        return part

    def _alternatives(self, *, leading: bool, top: bool = False) -> _Part:
        branches = [self._branch(leading=leading, top=top)]
        while self._take("|"):
            branches.append(self._branch(leading=leading, top=top))
            if top:
                self.lead = ""  # some branches begin otherwise
        mosts = [branch.most for branch in branches]
        firsts = [branch.first for branch in branches]
        return _Part(
            "|".join(branch.touching for branch in branches),
            min(branch.least for branch in branches),
            None if None in mosts else max(most for most in mosts if most is not None),
            None if None in firsts else frozenset().union(*(first or () for first in firsts)),
        )

    def _branch(self, *, leading: bool, top: bool) -> _Part:
        out: list[str] = []
        least = most = 0
        unbounded = False
        first: frozenset[str] | None = frozenset()
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            part = self._piece(leading=leading, top=top)
            leading = leading and part.test
            if top and leading and not out and part.touching == self.pattern[: self.at]:
                self.lead = part.touching
            out.append(part.touching)
            if least == 0 and first is not None:
                first = None if part.first is None else first | part.first
            least += part.least
            unbounded = unbounded or part.most is None
            most += part.most or 0
        return _Part("".join(out), least, None if unbounded else most, first)

    def _piece(self, *, leading: bool, top: bool) -> _Part:
        start = self.at
        part = self._test(leading=leading, top=top)
        if part is not None:
            if self.behind:
                self._refuse("a test inside a look-behind")
            if _REPEAT.match(self.pattern, self.at):
                self._refuse("a repeated zero-width test")
            return part
        part = self._atom(leading=leading)
        repeat = _REPEAT.match(self.pattern, self.at)
        if repeat is None:
            return part
        if leading:  # what comes again does not lead: read it once more under that rule
            self.at = start
            part = self._atom(leading=False)
        self.at = repeat.end()
        self._take("?")
        if self._peek("+"):
            self._refuse("a possessive repeat")
        low, high = _bounds(repeat)
        most = None if high is None or part.most is None else part.most * high
        touching = part.touching + repeat[0]
        if self.behind and high is not None and most is not None and most <= LOOK_BEHIND:
            touching = _written_out(part, low, high)
        return _Part(touching, part.least * low, most, part.first)

    def _test(self, *, leading: bool, top: bool) -> _Part | None:
        """A zero-width test, or None when something else stands here."""
        for token, form in (*_TESTS.items(), ("$", self.line_end)):
            if self._take(token):
                return _Part(self._test_form(token, form, leading=leading, top=top), 0, 0, test=True)
        for opening in ("(?=", "(?!"):
            if self._take(opening):
                inner = self._alternatives(leading=False)
                self._close()
                return _Part(f"{opening}{inner.touching})", 0, 0, test=True)
        for opening in ("(?<=", "(?<!"):
            if leading and self._take(opening):
                return self._look_behind(opening)
        return None

    def _test_form(self, test: str, form: str, *, leading: bool, top: bool) -> str:
        r"""A leading `\b` sees the next character or there is nothing to hold; a last one only reads it.

        Written out everywhere, they make the search three times as slow.
        """
        if test == r"\b" and leading:
            return test
        if test == r"\b" and top and (self.at == len(self.pattern) or self.pattern[self.at] == "|"):
            return r"(?!\w)"
        return form

    def _look_behind(self, opening: str) -> _Part:
        self.behind = True
        inner = self._alternatives(leading=False)
        self.behind = False
        if inner.most is None or inner.most > LOOK_BEHIND:
            self._refuse(f"a look-behind of more than {LOOK_BEHIND} characters")
        self._close()
        return _Part(f"{opening}{inner.touching})", 0, 0, test=True)

    def _atom(self, *, leading: bool) -> _Part:
        char = self.pattern[self.at]
        if char == "(":
            return self._group(leading=leading)
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "*+?{":
            self._refuse("an unescaped `{`" if char == "{" else f"a stray `{char}`")
        self.at += 1
        return _Part(char, 1, 1, None if char == "." else frozenset(char))

    def _group(self, *, leading: bool) -> _Part:
        opening = _GROUP.match(self.pattern, self.at)
        if opening is None or self.pattern.startswith("(*", self.at):
            self._refuse(self._name_group())
        self.at = opening.end()
        inner = self._alternatives(leading=leading)
        self._close()
        return _Part(f"(?:{inner.touching})", inner.least, inner.most, inner.first, test=inner.most == 0)

    def _name_group(self) -> str:
        for opening, name in _NAMES.items():
            if self.pattern.startswith(opening, self.at):
                return name
        return f"`{self.pattern[self.at : self.at + 3]}` (write flags in `flags`)"

    def _class(self) -> _Part:
        start = self.at
        self.at += 1
        self._take("^")
        self._take("]")
        while not self._take("]"):
            if self.at >= len(self.pattern):
                self._refuse("a class without its `]`")
            named = _NAMED_CLASS.match(self.pattern, self.at)
            if named:
                self.at = named.end()
            elif self._peek("\\"):
                self._escape()
            else:
                self.at += 1
        return _Part(self.pattern[start : self.at], 1, 1, None)

    def _escape(self) -> _Part:
        start, name = self.at, self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if name in _HEX_ESCAPES:
            self.at += _HEX_ESCAPES[name]
        elif name and name in "pP" and self._peek("{"):
            end = self.pattern.find("}", self.at)
            if end < 0:
                self._refuse("a property without its `}`")
            self.at = end + 1
        elif name.isalnum() and name not in _CLASS_ESCAPES | _CHAR_ESCAPES:
            self._refuse(f"`\\{name}`")
        literal = not name.isalnum()
        return _Part(self.pattern[start : self.at], 1, 1, frozenset(name) if literal else None)

    def _peek(self, token: str) -> bool:
        return self.pattern.startswith(token, self.at)

    def _take(self, token: str) -> bool:
        taken = self._peek(token)
        if taken:
            self.at += len(token)
        return taken

    def _close(self) -> None:
        if not self._take(")"):
            self._refuse("a group without its `)`")

    def _refuse(self, what: str) -> NoReturn:
        raise NotExactError(f"it has {what} at character {self.at + 1}")


def _bounds(repeat: "regex.Match[str]") -> tuple[int, int | None]:
    """The least and most of a repeat; None for no most."""
    if repeat[0] in ("*", "+", "?"):
        return (1 if repeat[0] == "+" else 0), (1 if repeat[0] == "?" else None)
    low, comma, high, only_high = repeat.groups()
    if only_high is not None:
        return 0, int(only_high)
    return int(low), int(high) if high is not None else None if comma else int(low)
