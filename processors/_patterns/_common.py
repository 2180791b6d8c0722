r"""What the tables share: where a word begins, and repeats for look-behinds.

Nearly every pattern begins with `START`, written alike, so that it is tested once for all of them; a pattern
that begins otherwise makes the whole table slower (see `guardrails.text.syntax.joined`).
"""

from typing import Final

# Latin, Greek and Cyrillic letters. CJK is written without spaces: a number or address may follow it at
# once, and must not be joined with the sentence before it.
LETTER: Final = r"a-zA-Z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff"
ALNUM: Final = rf"{LETTER}0-9"
ACCENT: Final = r"\u0300-\u036f"  # `e\u0301` where the text was decomposed
HEX: Final = "[0-9A-Fa-f]"


def up_to(most: int, part: str) -> str:
    """As many of a part as there are, for look-behinds; those have no repeats.

    With one in a look-behind, the engine calls attempts partial that have failed for good: text would be held
    from there on, whatever came, and refused as too long.
    """
    return f"(?:|{part}" * most + ")" * most


# The letter or digit before may end an escape: of JSON (`\n`, `\u003d`), of a URL (`%3D`, `%253D`), or of a
# terminal's colours, real or written out (`\x1b[31m`). In `C:\new` that is a mistake, which costs little.
_COLOUR: Final = up_to(10, "[0-9;]")
_ESCAPE: Final = (
    rf"\\[nrtbf]|(?:%|%25|\\x|\\u{HEX}{HEX}){HEX}{HEX}"
    rf"|(?:\x1b|\\x1[bB]|\\033|\\u001[bB]|\\e)\[{_COLOUR}[mK]"
)
START: Final = rf"(?:(?<![{ALNUM}{ACCENT}])|(?<={_ESCAPE}))"
