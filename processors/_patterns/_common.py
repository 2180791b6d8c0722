r"""What the tables share: where a word begins.

Nearly every pattern begins with `START`, written alike: the engine then tests it once for all of them. It
does so for a look-behind of one character only; with another, or with none in between, a table of a hundred
patterns costs ten times as much.
"""

from typing import Final

# Latin, Greek and Cyrillic letters. CJK is written without spaces: a number or address may follow it at
# once, and must not be joined with the sentence before it.
LETTER: Final = r"a-zA-Z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff"
ALNUM: Final = rf"{LETTER}0-9"
ACCENT: Final = r"\u0300-\u036f"  # `e\u0301` where the text was decomposed
START: Final = rf"(?<![{ALNUM}{ACCENT}])"
