"""Finds terms: words, phrases or parts of words, thousands if need be, from the settings or from a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import AfterValidator, Field

from guardrails.files import read_file
from guardrails.processor import AsWritten, Strategy
from guardrails.text.processor import TextProcessor
from guardrails.text.scan import Search
from guardrails.text.terms import Terms
from guardrails.text.view import WordView
from processors._names import Name

LONGEST: Final = 200
"""Characters that a term may have."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""How large a file of terms may be."""


def _usable(term: str) -> str:
    """The term, if it can be looked for. What is wrong is said without the term: it may be a secret."""
    if not term.strip():
        raise ValueError("a term is empty, so it would be found everywhere")
    if len(term) > LONGEST:
        raise ValueError(f"a term may have {LONGEST} characters, not {len(term)}")
    if not _read(term, case=True):
        raise ValueError("a term is made of invisible characters, which are not looked at, and nothing else")
    return term


_Term: TypeAlias = Annotated[
    str,
    AfterValidator(_usable),
    Field(json_schema_extra={"minLength": 1, "maxLength": LONGEST, "pattern": r"\S"}),
]


def _read(term: str, *, case: bool) -> str:
    """A term as the text shows it when it is there."""
    return WordView(case=case).feed(term).strip(" ")


def _lines(file: Path) -> Iterator[str]:
    """The terms of a file, one a line.

    Raises:
        ValueError: the file cannot be read, or a line cannot be used.
    """
    try:
        data = read_file(file, MOST_BYTES)
    except ValueError as error:
        raise ValueError(f"file: {error}") from None
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            term = line.decode()
            if term.strip() and not term.startswith("#"):
                yield _usable(term.strip())
        except UnicodeDecodeError:
            raise ValueError(f"file: line {number}: it is not UTF-8") from None
        except ValueError as error:
            raise ValueError(f"file: line {number}: {error}") from None


@dataclass(frozen=True, slots=True)
class _Keyword:
    """What a finding says of any of the terms: never which one."""

    label: str
    code: str
    score: float = 1.0
    strategy: Strategy | None = None
    replacement: str | None = None


class Keywords(TextProcessor):
    """Finds terms, the longest that is there at a place.

    It does not matter in which of several ways a character is written (an accent with its letter or after
    it, full-width or plain, `’` or `'`), nor which white space stands for a space, nor whether invisible
    characters stand between. Case is folded in full (`STRASSE` is `straße`), but in no language's own way:
    `İ` is no `i`, `I` is no `ı`.

    Whole words are told by letters, digits, `_` and accents beside a term, and only where the term itself
    begins or ends with one: so `C` is found in `C++`, and `C++` in `C++20`. Scripts that are written without
    spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese), and Korean, know no such end of a word: there a
    term is found anywhere, and beside them any other term, too.

    Raises:
        ValueError: (on construction) a term or the file of terms cannot be used; as for `TextProcessor`.
    """

    without_anything: ClassVar[str] = "give `terms` or `file`; without either there is nothing to find"

    terms: Annotated[tuple[_Term, ...], AsWritten()] = Field(
        default=(),
        min_length=1,
        repr=False,  # terms may be secrets
        description=f"What to look for, up to {LONGEST} characters each. A space stands for any white space.",
    )
    file: Path | None = Field(
        default=None,
        description="A text file with more terms, one a line, in UTF-8; empty lines and lines that begin "
        "with `#` are skipped (with a space before it, a term may begin with `#`).",
    )
    match: Literal["word", "substring"] = Field(
        default="word", description="Whether terms are whole words and phrases, or stand anywhere."
    )
    case_sensitive: bool = Field(default=False, description="Whether upper and lower case differ.")
    label: Name = "KEYWORD"

    @classmethod
    def codes(cls) -> Mapping[str, str]:
        """One for all terms, which bears the label."""
        return {"keywords.<label>": "any of the terms; the label is in lower case", **super().codes()}

    def view(self) -> WordView:
        """The text as words."""
        return WordView(case=self.case_sensitive)

    def searches(self) -> Sequence[Search]:
        """One search for all terms."""
        given = [*self.terms, *(_lines(self.file) if self.file else ())]
        if not given:
            if self.file:
                raise ValueError("file: there is no term in the file")
            return ()
        keyword = _Keyword(self.label.upper(), f"keywords.{self.label.lower()}")
        read = (_read(term, case=self.case_sensitive) for term in given)
        terms = Terms(read, keyword, words=self.match == "word")
        if terms.longest >= self.max_hold:
            raise ValueError("max_hold: it must be more than the longest term, or clean text would block")
        return [terms]
