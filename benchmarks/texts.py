"""What the benchmarks and the leak tests are run on. All values are invented."""

import random
from collections.abc import Mapping, Sequence

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
TRAPS: Mapping[str, str] = {
    "1.1.1.": "1.1.1.",
    "dots": ".",
    "a@": "a@",
    "dashes": "-",
    "digits": "492912345678",
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


def many_patterns() -> Sequence[str]:
    """Fifty-three patterns in the shape of common key formats."""
    prefixes = (
        *("ghp_", "gho_", "ghu_", "ghs_", "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza", "ya29."),
        *("sk_live_", "rk_live_", "pk_live_", "SG.", "key-", "npm_"),
    )
    shaped = [rf"{regex_escape(prefix)}[A-Za-z0-9_\-]{{20,80}}" for prefix in prefixes]
    numbered = [rf"\bk{number}_[A-Za-z0-9]{{24,64}}\b" for number in range(53 - len(shaped))]
    return [*shaped, *numbered]


def regex_escape(prefix: str) -> str:
    """A prefix as a pattern."""
    return prefix.replace(".", r"\.").replace("-", r"\-")
