"""Random patterns of the constructs whose hold-back is exact, and random texts for them to bite on."""

from random import Random

ALPHABET = "abc1 -.@\nA"
TESTS = [r"\b", r"\B", "(?![b1])", "(?=[a ])", "(?!ab)", "(?=a?b)", r"(?=\s*$)", "$", "^"]
CLASSES = [r"\d", r"\w", r"\W", r"\S", "[ab]", "[^a]", r"\s", ".", "[a-c1]", r"\p{Lu}", r"\x61"]
REPEATS = ["?", "*", "+", "{2}", "{1,3}", "{2,}", "{,2}", "*?", "+?", "??", "{1,2}?"]
LEADS = ["", "", "", "(?<![a1])", "(?<=[a ])", "(?<!ab)", "(?<!a{1,2}b?)", r"\b", r"\B"]
ESCAPED = {"-": r"\-", ".": r"\.", "\n": r"\n", "@": "@", " ": " "}


def text(random: Random, longest: int = 14) -> str:
    """A short text over a small alphabet, so that patterns often match, nearly match and overlap."""
    letters = ALPHABET[: random.choice([3, 5, 9, 10])]
    return "".join(random.choice(letters) for _ in range(random.randint(0, longest)))


def cutting(random: Random, whole: str) -> list[str]:
    """The text in small pieces, empty ones among them."""
    pieces, at = [], 0
    while at < len(whole):
        size = random.choice([0, 1, 1, 2, 3])
        pieces.append(whole[at : at + size])
        at += size
    return pieces


def pattern(random: Random) -> str:
    """A pattern, perhaps with a leading look-behind or test, at the top or in a branch."""
    body = _alternatives(random, 2, leading=True)
    return random.choice(LEADS) + random.choice(["(?:{})", "{}"]).format(body)


def _alternatives(random: Random, depth: int, *, leading: bool = False) -> str:
    branches = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        lead = random.choice(LEADS) if leading and random.random() < 0.15 else ""
        branches.append(lead + "".join(_piece(random, depth) for _ in range(random.randint(1, 4))))
    return "|".join(branches)


def _piece(random: Random, depth: int) -> str:
    if random.random() < 0.1:
        return random.choice(TESTS)
    if depth and random.random() < 0.05:
        return random.choice(["(?=", "(?!"]) + _alternatives(random, depth - 1) + ")"
    atom = _atom(random, depth)
    return atom + random.choice(REPEATS) if random.random() < 0.35 else atom


def _atom(random: Random, depth: int) -> str:
    roll = random.random()
    if roll < 0.5:
        letter = random.choice(ALPHABET)
        return ESCAPED.get(letter, letter)
    if roll < 0.7 or not depth:
        return random.choice(CLASSES)
    opening = random.choice(["(?:", "(?:", "(", "(?P<name>"])
    return f"{opening}{_alternatives(random, depth - 1)})"
