"""What the benchmarks and the leak tests are run on. All values are invented."""

import random
from collections.abc import Mapping

_random = random.Random(7)
_LETTERS = "ABCDEFGHabcdefgh0123456789"
_MARK = "PRIVATE" + " KEY-----"

FOUR_PATTERNS: Mapping[str, str] = {
    "card": r"\b(?:\d[ -]?){13,16}\b",
    "email": r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b",
    "key": r"sk-[A-Za-z0-9]{40,}",
    "pem": rf"-----BEGIN {_MARK}[\s\S]+?-----END {_MARK}",
}
"""A card, an address, a key and a private-key block, as people write such rules."""

KEY = "sk-" + "".join(_random.choice(_LETTERS) for _ in range(240))
PEM = (
    f"-----BEGIN {_MARK}\n"
    + "\n".join("".join(_random.choice(_LETTERS + "+/") for _ in range(64)) for _ in range(8))
    + f"\n-----END {_MARK}"
)
PROSE = (
    "The quick brown fox jumps over the lazy dog near the river bank. "
    "Plain prose flows on without any private data at all in it. "
)
PRIVATE = "My card is 4111 1111 1111 1111 and mail jane.doe@example.com ok"
SECRETS = {"card": "4111 1111 1111 1111", "email": "jane.doe@example.com"}
PRESETS = (("private-data",), ("private-data", "secrets"), ("private-data", "secrets", "urls"))
"""Presets that are measured together, from few to all."""
TRAPS: Mapping[str, str] = {
    "1.1.1.": "1.1.1.",
    "dots": ".",
    "a@": "a@",
    "dashes": "-",
    "digits": "492912345678",
    "eyJ": "-eyJ",
    "_eyJ": "_eyJ",
    "-----BEGIN": "-----BEGIN ",
    "https://": "https://",
    "sk-": "sk-",
    "a.a.a.": "a.",
    "a+/": "a+/",
    "URLs in brackets": "https://a/)",
}
"""Texts on which a naive search does work that grows with the square of their length."""


def prose(size: int) -> str:
    """So many characters without anything private in them."""
    return (PROSE * (size // len(PROSE) + 1))[:size]


def pieces(text: str, size: int) -> list[str]:
    """The text in deltas of so many characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def cuttings(text: str) -> dict[str, list[str]]:
    """Nine cuttings of a text: fixed sizes, random sizes, uncut."""
    cut = {f"{size} characters": pieces(text, size) for size in range(1, 6)}
    for seed in (1, 2, 3):
        chance, out, at = random.Random(seed), list[str](), 0
        while at < len(text):
            size = chance.randint(1, 5)
            out.append(text[at : at + size])
            at += size
        cut[f"random {seed}"] = out
    return {**cut, "uncut": [text]}


def longest_common(first: str, second: str) -> int:
    """Length of the longest run of characters that both texts share."""
    best, row = 0, [0] * (len(second) + 1)
    for left in first:
        new = [0] * (len(second) + 1)
        for place, right in enumerate(second, 1):
            if left == right:
                new[place] = row[place - 1] + 1
                best = max(best, new[place])
        row = new
    return best


def terms(count: int) -> tuple[str, ...]:
    """So many invented words, and phrases of two, of the syllables that the prose is made of, too."""
    chance, made = random.Random(11), dict[str, None]()
    syllables = (
        *("the", "qu", "ick", "br", "own", "fo", "ju", "mp", "la", "zy", "do", "near", "ri", "ver", "ba"),
        *("pla", "pro", "flow", "with", "any", "da", "ta", "ka", "men", "sol"),
    )

    def word() -> str:
        return "".join(chance.choices(syllables, k=chance.randint(3, 5)))

    while len(made) < count:
        made[word() if chance.random() < 0.7 else f"{word()} {word()}"] = None
    return tuple(made)
