"""The preset `private-data` finds private data, and not what resembles it."""

import random
from collections.abc import Iterator, Sequence
from hashlib import md5, sha1, sha256
from typing import Final
from uuid import UUID

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from guardrails.text.pattern import Pattern
from guardrails.text.scan import Joined, Span
from processors._patterns import PRESETS
from processors._patterns._common import START
from processors._patterns.private_data import PRIVATE_DATA

LABELS = {"EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "US_SSN", "IP_ADDRESS"}
JOINED = regex.compile("|".join(f"(?:{pattern.pattern})" for pattern in PRIVATE_DATA))
TOUCHES_END = regex.compile(f"(?:{JOINED.pattern})(?!)")
PARTS = (
    *(
        "ilse",
        ".",
        "@",
        "@example.com",
        "example.",
        "com",
        "xn--",
        "-",
        "_",
        " ",
        "  ",
        ",",
        ":",
        "::",
        "/",
        "卡",
    ),
    *(
        "4539",
        "5781",
        "2204",
        "5518",
        "4111111111111111",
        "4 ",
        "37",
        "1800",
        "536-90-4399",
        "536 90 4399",
        "0",
    ),
    *(
        "+",
        "+1",
        "(212)",
        "212",
        "555",
        "0143",
        "020",
        "00",
        " x12",
        "Phone: ",
        "10",
        "255",
        ".1",
        "2001:db8",
    ),
    *("NO", "NO28", "no28 1234 5678 901", "DE", "12", "fe80::", "ffff", "1.2.3.4", "v", "é", "\n"),
    *("67565996-8555", "-4b36-af48-a1b1", "6910d8b0", "cb3e9e5ec5b6", "version", '": "', ".5", "be65"),
    *("030 901820-", "call ", "Desk: ", "answering at ", " office"),
)
DIGITS = st.text("0123456789", min_size=15, max_size=15)


def _accepted(text: str, start: int, patterns: Sequence[Pattern]) -> tuple[int, str]:
    for pattern in patterns:
        candidate = regex.compile(pattern.pattern).match(text, start)
        if candidate is None:
            continue
        length = pattern.verify(candidate[0]) if pattern.verify else len(candidate[0])
        if length:
            assert 0 < length <= len(candidate[0])
            return start + length, pattern.label
    return start, ""


def _scan(text: str) -> Iterator[tuple[str, str]]:
    """Yield (label, matched text): the whole-text scan that a streamed one must equal."""
    at = 0
    while candidate := JOINED.search(text, at):
        start = candidate.start()
        end, label = _accepted(text, start, PRIVATE_DATA)
        if label:
            yield label, text[start:end]
        at = max(end, start + 1)


def found(text: str) -> list[tuple[str, str]]:
    """What the whole text gives."""
    return list(_scan(text))


def labels(text: str) -> list[str]:
    """The labels of what the whole text gives."""
    return [label for label, _ in _scan(text)]


def marked(text: str) -> list[str]:
    """The parts of the text between ⟦ and ⟧."""
    return regex.findall(r"⟦(.*?)⟧", text)


def luhn_completed(digits: str) -> str:
    """Return the digits with their check digit, computed another way than in the code under test."""
    for check in "0123456789":
        values = [int(digit) for digit in reversed(digits + check)]
        total = sum(
            value if place % 2 == 0 else value * 2 - 9 * (value > 4) for place, value in enumerate(values)
        )
        if total % 10 == 0:
            return digits + check
    raise AssertionError


def iban(country: str, account: str) -> str:
    """Return an IBAN with its check digits."""
    rest = "".join(str(int(char, 36)) for char in account + country + "00")
    return f"{country}{98 - int(rest) % 97:02}{account}"


def grouped(text: str, size: int = 4, separator: str = " ") -> str:
    """Return the characters in groups."""
    return separator.join(text[place : place + size] for place in range(0, len(text), size))


def test_preset_holds_the_labels_with_their_codes() -> None:
    """The preset is found by its name and each label has the code of its kind."""
    assert PRESETS["private-data"] is PRIVATE_DATA
    assert {pattern.label for pattern in PRIVATE_DATA} == LABELS
    assert all(pattern.code == f"pii.{pattern.label.lower()}" for pattern in PRIVATE_DATA)


@pytest.mark.parametrize("pattern", PRIVATE_DATA, ids=lambda pattern: pattern.label)
def test_constructs(pattern: Pattern) -> None:
    """Every repeat is bounded and greedy, and nothing occurs whose hold-back is not exact."""
    without_classes = regex.sub(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]", "x", pattern.pattern)
    assert not regex.search(r"[*+]|\{[0-9]*,\}|[?}]\?", without_classes)
    assert not regex.search(r"\(\?(?![:=!]|<[=!])", without_classes)
    own = regex.sub(r"\\u[0-9a-f]{4}", "", pattern.pattern.removeprefix(START))
    assert pattern.pattern.startswith(START)
    assert not regex.search(r"\\[a-zA-Z0-9]", own)
    assert not set("^$") & set(without_classes)
    assert set(pattern.flags) <= set("aims")


LOOK_BEHIND: Final = regex.compile(r"\(\?<[=!]((?:\[(?:[^\]\\]|\\.)*\]|\\.|[^()\[\]\\]|\((?1)\))*)\)")


@pytest.mark.parametrize(
    "pattern", [each for table in PRESETS.values() for each in table], ids=lambda each: each.label
)
def test_no_repeats_in_look_behinds(pattern: Pattern) -> None:
    """A look-behind has no repeats: with one, the engine calls attempts partial that have failed for good."""
    for found_ in LOOK_BEHIND.finditer(pattern.pattern):
        body = regex.sub(r"\[(?:[^\]\\]|\\.)*\]|\\.|\(\?:", "x", found_[1])
        assert not regex.search(r"[*+?{]", body), found_[0]


BESIDE: Final = ('"', "'", ": ", "=", "#", "version", "ssn", "Phone", "tel", "Fig. ", "a/", "§ ", "|", "\\")
"""What the presets read beside a candidate."""


@pytest.mark.parametrize("preset", PRESETS)
@settings(deadline=None)  # other tests run beside it
@given(parts=st.lists(st.sampled_from((*PARTS, *BESIDE)), max_size=7))
def test_what_is_over_is_let_go(preset: str, parts: list[str]) -> None:
    """Behind what belongs to no pattern nothing is held: `{'port': 5000}` was, for good, and then refused."""
    joined = Joined(PRESETS[preset])
    for text in ("".join(parts), "{'port': 5000}", "{'a': 0, 'c': {'d': 4}}"):
        scan, spans = joined.scan(None, int), list[Span]()
        for char in f"{text} ~ ;\n" + "~ ;\n" * 30:
            scan.feed(char, spans)
        assert scan.settled > len(text)


def streamed(pieces: Sequence[str]) -> list[tuple[str, str]]:
    """Scan a growing text; take what no attempt that ran into the end of the text can change."""
    found_so_far, text, at = [], "", 0
    for place, piece in enumerate([*pieces, ""]):
        text, final = text + piece, place == len(pieces)
        while True:
            partial = None if final else TOUCHES_END.search(text, at, partial=True)
            hold = partial.start() if partial else len(text)
            candidate = JOINED.search(text, at)
            if candidate is None or (
                not final and (candidate.start() >= hold or candidate.end() == len(text))
            ):
                at = min(hold, candidate.start()) if candidate else hold
                break
            start = candidate.start()
            end, label = _accepted(text, start, PRIVATE_DATA)
            if label:
                found_so_far.append((label, text[start:end]))
            at = max(end, start + 1)
    return found_so_far


@given(parts=st.lists(st.sampled_from(PARTS), max_size=14), cuts=st.lists(st.integers(1, 9), max_size=40))
def test_cutting_does_not_matter(parts: list[str], cuts: list[int]) -> None:
    """A stream gives what the whole text gives, wherever it is cut."""
    text, pieces = "".join(parts), []
    for size in cuts:
        pieces.append(text[:size])
        text = text[size:]
    assert streamed([*pieces, text]) == found("".join(parts))


@pytest.mark.parametrize("pattern", PRIVATE_DATA, ids=lambda pattern: pattern.label)
@given(text=st.text("0123456789abx@.:+-_ (/卡é", max_size=40))
def test_never_matches_nothing(pattern: Pattern, text: str) -> None:
    """No candidate is empty, whatever the text, and no verdict is longer than its candidate."""
    for candidate in regex.finditer(pattern.pattern, text):
        assert candidate.end() > candidate.start()
        length = pattern.verify(candidate[0]) if pattern.verify else len(candidate[0])
        assert 0 <= length <= len(candidate[0])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Reach ⟦ilse.vandam@example.com⟧ today.", id="in a sentence"),
        pytest.param("Ask ⟦ilse.vandam@example.com⟧.", id="before a full stop"),
        pytest.param("<⟦ilse+news@mail.example.co.uk⟧>, (⟦o'dea@example.org⟧)", id="in brackets"),
        pytest.param("'⟦ilse@example.com⟧' \"⟦bo@example.org⟧\"", id="in quotes"),
        pytest.param("[mail](mailto:⟦ilse@example.com⟧)", id="mailto"),
        pytest.param("请写信到⟦ilse@example.com⟧。联系⟦bo@example.org⟧谢谢", id="next to Chinese"),
        pytest.param("⟦ilse@xn--bcher-kva.example⟧ ⟦bo@example.xn--p1ai⟧", id="punycode"),
        pytest.param("⟦jürgen@bücher.example⟧ ⟦иван@пример.рф⟧", id="other letters"),
        pytest.param("?to=⟦ilse@example.com⟧&x=1", id="in a query"),
        pytest.param("Contact.......⟦ilse@example.com⟧ or ------⟦bo@example.com⟧", id="after a leader"),
        pytest.param("⟦123-45-6789@example.com⟧ ⟦4111111111111111@example.com⟧", id="digits as local part"),
        pytest.param("**⟦ilse_v@example.com⟧** _⟦bo@example.com⟧_ |⟦kim@163.com⟧|", id="in Markdown"),
        pytest.param("⟦" + "a" * 64 + "@example.com⟧", id="longest local part"),
        pytest.param("⟦jose\u0301@example.com⟧ ⟦rene\u0301.dupont@example.fr⟧", id="decomposed"),
        pytest.param("⟦ilse@cafe\u0301.example⟧ ⟦ilse@example.cafe\u0301⟧", id="decomposed domain"),
        pytest.param("⟦info@1x.com⟧ ⟦jane@2x.de⟧ ⟦a@2x.png.example⟧", id="domain like a size"),
        pytest.param("⟦hg@company.com⟧, ⟦git@company.com⟧. ⟦git@company.com⟧: ask", id="mailbox of a tool"),
    ],
)
def test_email_address(text: str) -> None:
    """The whole address is found, and nothing of what stands around it."""
    plain = regex.sub("[⟦⟧]", "", text)
    assert found(plain) == [("EMAIL_ADDRESS", address) for address in marked(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ssh user@host or deploy@localhost:/srv", id="host without a dot"),
        pytest.param("npm install left-pad@1.3.0 @types/node@20.11.5", id="package version"),
        pytest.param("git clone git@github.com:octo/repo.git", id="repository"),
        pytest.param("ssh://git@git.example.com/octo hg@example.com:x svn@a-b.example:~c", id="repositories"),
        pytest.param("@media @app.route('/') A @ B.T", id="decorator"),
        pytest.param("logo icon@2x.png", id="file name"),
        pytest.param("a@1x.jpg b@2x.jpeg c@3x.webp d@2x.gif e@4x.svg f@2x.PNG", id="file names"),
        pytest.param("\u0301@example.com a.\u0301@example.com ilse@\u0301.example", id="only an accent"),
        pytest.param("a..@example.com, @example.com", id="no local part"),
        pytest.param("a" * 65 + "@example.com", id="local part too long"),
    ],
)
def test_not_an_email_address(text: str) -> None:
    """What has an at-sign but no mailbox stays."""
    assert found(text) == []


CARDS = {
    "Visa": "4539578122045518",
    "Visa of 13": luhn_completed("402233445566"),
    "Visa of 19": luhn_completed("402233445566778899"),
    "Mastercard": luhn_completed("531122334455667"),
    "Mastercard 2-series": "2223004817266306",
    "American Express": luhn_completed("37112233445566"),
    "Discover": luhn_completed("601122334455667"),
    "Diners Club": luhn_completed("3611223344556"),
    "JCB": luhn_completed("353011223344556"),
    "UnionPay of 19": luhn_completed("622233445566778899"),
    "Maestro of 12": luhn_completed("50181122334"),
    "RuPay": luhn_completed("817311223344556"),
    "Mir": luhn_completed("220011223344556"),
}


@pytest.mark.parametrize("number", CARDS.values(), ids=CARDS.keys())
@pytest.mark.parametrize("separator", ["", " ", "-"], ids=["plain", "spaces", "dashes"])
def test_credit_card(number: str, separator: str) -> None:
    """Each issuer's numbers are found, grouped by four or not, next to words, CJK and other digits."""
    card = grouped(number, separator=separator)
    for text in (f"card {card}.", f"卡号{card}。", f"({card})", f"no 7 {card}", f"{card}, 12/29"):
        assert found(text) == [("CREDIT_CARD", card)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("⟦4111 1111 1111 1111⟧ 123", id="security code behind"),
        pytest.param("⟦4111 1111 1111 1111⟧ 12/29 x", id="expiry behind"),
        pytest.param("⟦3782 822463 10005⟧", id="4-6-5"),
        pytest.param("⟦3056 930902 5904⟧", id="4-6-4"),
        pytest.param("⟦4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1⟧ is it", id="digit by digit"),
        pytest.param("⟦41 11 11 11 11 11 11 11⟧", id="pairs"),
        pytest.param("No.⟦4111111111111111⟧", id="after a full stop"),
        pytest.param("⟦4111-1111 1111-1111⟧", id="mixed separators"),
        pytest.param("⟦4111.1111.1111.1111⟧. ⟦3782.822463.10005⟧", id="dots"),
        pytest.param("⟦4111  1111  1111  1111⟧  12/29", id="two spaces"),
        pytest.param(
            "⟦4111 1111 1111 1111⟧. 5 more, ⟦4111111111111111⟧. ⟦4111111111111111⟧.", id="full stops"
        ),
        pytest.param("⟦4222 2222 2222 2⟧, ⟦4222 222 222 222⟧, ⟦4222222222222⟧", id="13 digits"),
        pytest.param("⟦4111111111111111⟧D25122010000", id="magnetic stripe"),
        pytest.param("⟦4111111111111111⟧-202412071234 7-⟦4111111111111111⟧", id="time beside it"),
        pytest.param("A1-⟦4111111111111111⟧ 3f2a-⟦4111111111111111⟧-b2", id="short labels beside it"),
        pytest.param("⟦4111111111111111⟧and ⟦4111111111111111⟧exp 12/25 dad-⟦4111111111111111⟧", id="words"),
        pytest.param("⟦4111111111111111⟧,5 ⟦4111 1111 1111 1111⟧.5", id="comma, groups and point"),
    ],
)
def test_credit_card_as_written(text: str) -> None:
    """The number is found as people write it, and ends where it ends."""
    assert found(regex.sub("[⟦⟧]", "", text)) == [("CREDIT_CARD", card) for card in marked(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("at 1796092179175 and 1796092179175123", id="times since 1970"),
        pytest.param("0.4539578122045518 -1.4111111111111111 0.4111111111111111e5", id="decimals"),
        pytest.param("4111111111111111.5 4111111111111111.00, 5834331092319.776", id="with decimals"),
        pytest.param("4006381333931 4006381333900 4000539003509 4895117160084 4980438604406", id="EAN"),
        pytest.param("5000112637939 5012345678900 5000000000128 5790000000006", id="EAN like a Maestro card"),
        pytest.param("4 006381 333931, 4 895117 160084, 4-895117-160084", id="EAN as printed"),
        pytest.param("EAN 4006381333931, ISBN 978-3-16-148410-0", id="article numbers"),
        pytest.param("4539578122045519", id="wrong check digit"),
        pytest.param("9111111111111111", id="no issuer"),
        pytest.param("Order 4111-2222-3333", id="order number"),
        pytest.param("x4539578122045518", id="in a word"),
        pytest.param("4096 8192 16384 32768", id="sizes"),
        pytest.param("45395781220455181234567", id="longer number"),
        pytest.param("411 11111 1111 1 111", id="unlikely groups"),
        pytest.param("4111.111111111111 411111.1111111111 41.11.11.11.11.11.11.11", id="decimals in groups"),
        pytest.param("4111.1111.1111.1112 4111.1111.1111.1111.1", id="dots, near"),
        pytest.param("4111  1111  1111  1112 4111   1111   1111   1111", id="spaces, near"),
    ],
)
def test_not_a_credit_card(text: str) -> None:
    """Numbers that are no card stay."""
    assert found(text) == []


def article_number(digits: str) -> str:
    """Return twelve digits with the check digit of a bar code."""
    return digits + str(-sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10)


def test_no_article_number_is_a_card() -> None:
    """No bar code of 13 digits is taken for a card, though one in ten has the check digit of one."""
    chance = random.Random(2)
    for _ in range(2000):
        number = chance.choice("345") + "".join(chance.choices("0123456789", k=11))
        assert found(article_number(number)) == []


IDENTIFIERS: Final = (
    *("b18c8632-2266-4668-8665-0967dbc38a39", "d2f69ff4-4996-4768-9028-5f9a743db520"),
    *("5d4598bf-0954-4093-957c-c982bd203367", "89516ad2-0546-404b-be65-cb3e9e5ec5b6"),
    *("be181716-2b0a-4228-aca1-2024fe730f23", "67565996-8555-4b36-af48-a1b16910d8b0"),
    *("95e9954e-ac20-4023-821e-00711994925b", "14c1cdff-0696-4086-9382-ec80d14b5d1d"),
    *("AF65FA0F-0039-4009-8714-55967861BDD6", "56EA1CE3-112F-460F-98ED-005752368648"),
    *("4514459783730ed8172544468b83522092756c5e", "57494323859303c532a2e96bcd2a5b1f"),
    *("002137902507de831e1c7f371aef1e6631c66cb540f3635cd9c99076167d97b1", "009172016753c02d76ca14be776af756"),
    *("be33b06d-0072-5232-1e55b818-2416", "38855206-73980048-46a22e3f-2e6e897d-8dab5be5-000c"),
    *("be65cb3e9e5ec5b6", "12345678-1234-5678-1234-567812345678"),
)
"""UUIDs, digests and other identifiers of which a part looks like a card, an IBAN or a telephone number."""


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_identifiers(identifier: str) -> None:
    """No part of an identifier is found, wherever it stands."""
    for text in (
        identifier,
        f"id {identifier}.",
        f"urn:uuid:{identifier}",
        f'"{identifier}"',
        f"/{identifier}/1",
    ):
        assert found(text) == []
        assert streamed(list(text)) == []


def test_no_part_of_a_uuid_is_found() -> None:
    """However many of its digits are decimal, a UUID has nothing private in it."""
    chance = random.Random(3)
    for _ in range(2000):
        digits = "".join(chance.choices("0123456789" * 5 + "abcdefABCDEF", k=32))
        uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        assert found(f"id {uuid} ok") == []


def test_no_part_of_a_random_identifier_is_found() -> None:
    """Nothing is found in thousands of UUIDs and digests, of which some had a part that was."""
    chance = random.Random(1)
    for _ in range(4000):
        digest = chance.randbytes(8)
        uuid = UUID(int=chance.getrandbits(128), version=4)
        digests = (made(digest, usedforsecurity=False).hexdigest() for made in (md5, sha1, sha256))
        assert found(f"{uuid} {' '.join(digests)}") == []


@given(digits=DIGITS, prefix=st.sampled_from(["4", "51", "2221", "6011"]))
def test_card_by_its_check_digit(digits: str, prefix: str) -> None:
    """Of the ten numbers that differ in the last digit exactly one is a card, and none with a digit more."""
    start = (prefix + digits)[:15]
    right = luhn_completed(start)
    assert [n for n in (f"{start}{last}" for last in range(10)) if "CREDIT_CARD" in labels(n)] == [right]
    assert ("CREDIT_CARD", right) not in found(f"{right}0") + found(f"0{right}")


IBANS = {
    "shortest": iban("NO", "12345678901"),
    "Germany": iban("DE", "123456781234567890"),
    "United Kingdom": iban("GB", "ABCD12345612345678"),
    "France": iban("FR", "1234512345ABCDEFGHIJK12"),
    "Malta": iban("MT", "ABCD12345ABCDEFGHIJKLMNOPQR"),
    "longest": iban("RU", "12345678912345ABCDEFGHIJKLMNO"),
}


@pytest.mark.parametrize("code", IBANS.values(), ids=IBANS.keys())
def test_iban_code(code: str) -> None:
    """An IBAN is found in groups or not, in either case, and ends at its country's length."""
    spaced = grouped(code).replace(" ", "  ", 1)
    for written in (code, code.lower(), grouped(code), grouped(code, separator="-"), spaced):
        for text in (f"to {written}.", f"账号{written}。", f"({written})", f"{written} is it, thank you"):
            assert found(text) == [("IBAN_CODE", written)]


@pytest.mark.parametrize("code", IBANS.values(), ids=IBANS.keys())
def test_not_an_iban_code(code: str) -> None:
    """With another check digit, one character more or fewer or another country it is none."""
    other = code[:3] + str((int(code[3]) + 1) % 10) + code[4:]
    for text in (
        other,
        f"{code}0",
        f"0{code}",
        f"{code}x",
        code[:-1],
        "ZZ" + code[2:],
        grouped(code, separator="   "),
    ):
        assert "IBAN_CODE" not in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("call ⟦+1 212-555-0143⟧ from", id="North America with country code"),
        pytest.param("⟦+442079460958⟧ ⟦+49 30 901820⟧", id="in one piece"),
        pytest.param("⟦+46 (0)8 123 456 78⟧", id="trunk prefix in brackets"),
        pytest.param("⟦+1 (212) 555-0143 ext. 12⟧", id="extension"),
        pytest.param("⟦001-212-555-0143⟧, ⟦0044 20 7946 0958⟧", id="double zero"),
        pytest.param("⟦(212) 555-0143⟧ ⟦(212)555-0143⟧", id="area code in brackets"),
        pytest.param("⟦212-555-0143⟧/⟦212.555.0143x459⟧", id="dashes and dots"),
        pytest.param("⟦1-800-555-0199⟧; ⟦1 212 555 0143⟧, ⟦212 555-0143⟧", id="leading 1, spaces"),
        pytest.param("⟦01.23.45.67.89⟧ or ⟦020 7946 0958⟧, ⟦(030) 1234567⟧", id="national"),
        pytest.param("Phone: ⟦555 0143⟧. Call me on ⟦9472 7916⟧", id="announced"),
        pytest.param(
            "Phone: ⟦2125550143⟧, Tel: ⟦01711234567⟧ Mobile: ⟦07911123456⟧", id="announced, one piece"
        ),
        pytest.param("call me at ⟦2125550143⟧. Phone number is ⟦5550143⟧", id="announced in a sentence"),
        pytest.param("Fax ⟦8613800138000⟧ Tel. ⟦212 555 0143⟧", id="announced, 13 digits or spaces"),
        pytest.param("⟦0033612345678⟧ 电话⟦008613800138000⟧ ⟦00493012345⟧", id="double zero, one piece"),
        pytest.param("⟦00 33 6 12 34 56 78⟧ Tel: ⟦00 49 30 90 18 20⟧", id="double zero, pairs"),
        pytest.param("电话⟦+86 138 0013 8000⟧。手机⟦212-555-0143⟧", id="next to Chinese"),
        pytest.param(
            "⟦+1 212 555 0143⟧ 203 rooms, 2 ⟦0049 30 901820⟧ ⟦004930 901820⟧", id="number beside it"
        ),
        pytest.param("⟦+46 8 123 456 78⟧ 2024", id="year behind"),
        pytest.param("tel:⟦+4930901820⟧", id="link"),
        pytest.param("7,⟦212-555-0143⟧,⟦020 7946 0958⟧,9", id="row of a table"),
        pytest.param(
            "⟦212 555 0143⟧, ⟦212 555 0143 x12⟧. Call ⟦212 555 1234⟧ or dial ⟦646 555 2345⟧", id="spaces"
        ),
        pytest.param(
            "⟦030 901820-0⟧, (⟦0211 12345-678⟧), ⟦(030) 901820-0⟧; ⟦(030) 901820-12⟧", id="DIN 5008"
        ),
        pytest.param(
            "Desk: ⟦5403926876⟧\nOffice: ⟦540 392 6876⟧ Cell:⟦540.392.6876⟧", id="announced by place"
        ),
        pytest.param("They're not answering at ⟦78 651 450⟧ or answering at ⟦71-33-52-22⟧.", id="answering"),
        pytest.param("Reach us at ⟦99 668472⟧, text me on ⟦374 780 163⟧", id="announced by a verb"),
        pytest.param("Ilse Roth\n⟦416 60 039⟧ office\n⟦781 1704⟧ (fax)\n⟦655 437 108⟧ cell", id="signature"),
    ],
)
def test_phone_number(text: str) -> None:
    """Telephone numbers are found in the usual notations, and nothing of what stands around them."""
    assert found(regex.sub("[⟦⟧]", "", text)) == [("PHONE_NUMBER", number) for number in marked(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2026-11-24 10:45:59 +0000, 24.11.2026, 01-02-2024 10:30, 11/24/2026", id="dates"),
        pytest.param("Fax 2024-11-24, phone 24-11-2026", id="announced dates"),
        pytest.param("2026-02-10T21:20:19.281+01:00", id="timestamp"),
        pytest.param("v1.2.3, 10.4.12, 2024.10.1, 5.12.1234", id="versions"),
        pytest.param("5403926876 and 2147483647, 9223372036854775807", id="plain numbers"),
        pytest.param("$1,234,567.89 or 12.345.678,90 EUR, +1 000 000, +2.450.000", id="sums"),
        pytest.param("order 4111-2222-3333, ref 12-345-6789, no 302-0171234-1234567", id="order numbers"),
        pytest.param("ISBN 978-3-16-148410-0", id="book number"),
        pytest.param(
            "sizes 256 512 1024, 64 128 256 512 1024 2048, 200 300 1000, 01 02 03 04 05 06", id="sizes"
        ),
        pytest.param("ports 49152-65535, x+1234567, 3+4539578122", id="ranges and sums"),
        pytest.param("212-555-01433, 1212-555-0143, 212-555-0143-1", id="a digit more"),
        pytest.param("00000000-0000-0000-0000-000000000000", id="identifier"),
        pytest.param("2125550143, order: 2125550143, hotel 21255501, Intel: 21255501", id="not announced"),
        pytest.param(
            "Phone: 212555, Tel: 12345678901234, mobile 20241124, Tel: 01234567", id="announced, near"
        ),
        pytest.param("0033612345 0003361234567 00336123456789012 10033612345678", id="double zero, near"),
        pytest.param("450 650 1200 mm, scores 250 312 1500, fig. 212-300-4000", id="three figures"),
        pytest.param("00 48 65 68 69 21, 00 48 65 68 69 21 0a, 00-48-65-68-69-21", id="bytes"),
        pytest.param("0800-1200-1600, 0930-1200-1730, call us at 1000-1800", id="times of the day"),
        pytest.param("699 956 915, 78 651 450, 416 60 039 people, 374 780 163 EUR", id="sums with spaces"),
        pytest.param("order 5403926876, call 2147483647, Desk: 12345, Cell: 1234567", id="plain, announced"),
        pytest.param("256 512 1024, 212 555 1234, recall 450 650 1200, call 200 300 1000", id="figures"),
        pytest.param("Office: 2019-2024, 2024-12 office, 12 2024 office", id="years"),
        pytest.param("12 345 678 office chairs\nand 12 345 678 office workers\n", id="sums before a word"),
        pytest.param("page 012 345-678, lines 0100 2024-11, 0123 2024-11-24, 03 12345-6", id="ranges"),
        pytest.param("ISBN 3-16-148410-0, 0 19 852663 6, 978 0 19 852663 6", id="book numbers with spaces"),
        pytest.param("51.5007 -0.1246, 40 26 46 N 79 58 56 W, 048.8566 002.3522", id="coordinates"),
        pytest.param("10:45 2024-12-07, 2024 12 07 10 45, 07 12 2024 1045, 20241207 104500", id="times"),
        pytest.param("1 234 567.89, 12 345 678, 1 200 000 office\n", id="sums"),
        pytest.param("kernel 212 555 01433, 1 212 555 014, 212 155 0143, 112 555 0143", id="near spaces"),
    ],
)
def test_not_a_phone_number(text: str) -> None:
    """Dates, versions, sums and other numbers stay."""
    assert found(text) == []


@pytest.mark.parametrize("separator", ["-", " "], ids=["dashes", "spaces"])
def test_social_security_number(separator: str) -> None:
    """A number is found unless its area, group or serial is never given out or a digit is glued on."""
    number = separator.join(("536", "90", "4399"))
    for text in (f"SSN {number}.", f"号{number}。", f"({number})", f"7,{number},9"):
        assert found(text) == [("US_SSN", number)]
    for parts in ("000-90-4399", "666-90-4399", "912-90-4399", "536-00-4399", "536-90-0000"):
        assert found(parts.replace("-", separator)) == []
    for text in (f"1{number}", f"{number}1", f"{number}{separator}1", f"12{separator}{number}"):
        assert "US_SSN" not in labels(text)


@pytest.mark.parametrize(
    "lead",
    ["SSN: ", "SSN ", "ssn=", "SSN#", '"ssn": "', "Social Security Number is ", "social security no. "],
)
def test_announced_social_security_number(lead: str) -> None:
    """Behind words that announce it a number may be in one piece; another number stays."""
    assert found(f"{lead}123456789.") == [("US_SSN", "123456789")]
    for number in ("000456789", "666456789", "912456789", "123006789", "123450000", "12345678", "1234567890"):
        assert found(f"{lead}{number}") == []
    assert found("no 123456789, ASSN: 123456789, SSN of 123456789") == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("from ⟦203.0.113.77⟧ now.", id="v4"),
        pytest.param(
            "http://⟦203.0.113.77⟧:8080/, ⟦10.0.0.1⟧-⟦10.0.0.9⟧, ⟦192.168.7.0⟧/24.", id="v4 in context"
        ),
        pytest.param("地址⟦255.255.255.255⟧。", id="v4 next to Chinese"),
        pytest.param(
            "https://example.com/ip/⟦203.0.113.77⟧ src == ⟦10.0.0.1⟧ ip=⟦10.0.0.2⟧", id="v4, no version"
        ),
        pytest.param("released ⟦203.0.113.77⟧", id="v4 behind another word"),
        pytest.param('"host": "⟦10.0.0.1⟧", "server": "⟦10.0.0.2⟧" server ⟦10.0.0.3⟧', id="v4 under a key"),
        pytest.param('"version": "2", "ip": "⟦10.0.0.1⟧" version 2 on ⟦10.0.0.2⟧', id="v4 near a version"),
        pytest.param("⟦2001:db8::1⟧, [⟦fe80::1⟧]:80.", id="v6 compressed"),
        pytest.param("⟦2001:0db8:0000:0000:0000:ff00:0042:8329⟧ 地址⟦2001:DB8::8A2E:370:7334⟧。", id="v6"),
        pytest.param("⟦::ffff:203.0.113.77⟧ or ⟦64:ff9b::203.0.113.77⟧", id="v6 with v4"),
        pytest.param("⟦2001:db8::1⟧: up; addr:⟦2001:db8::⟧/32", id="v6 beside colons"),
    ],
)
def test_ip_address(text: str) -> None:
    """Addresses of both kinds are found in their text forms."""
    assert found(regex.sub("[⟦⟧]", "", text)) == [("IP_ADDRESS", address) for address in marked(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("version 1.2.3.4.5, OID 1.3.6.1.4.1.311.21.10", id="longer dotted number"),
        pytest.param("v1.2.3.4 lib==1.2.3.4 Version 1.2.3.4 section 4.2.1.1", id="versions"),
        pytest.param("256.1.1.1 1.2.3.400 1.2.3", id="no octets"),
        pytest.param("on 127.0.0.1 or 0.0.0.0", id="this host"),
        pytest.param("on Chrome/120.0.0.0 with nginx/1.2.3.4 (Edg/1.2.3.4)", id="products"),
        pytest.param('AssemblyVersion("1.0.0.0"), AssemblyVersion("1.2.3.4"), 7.0.0.0', id="assemblies"),
        pytest.param('Version: 1.2.3.4 version=1.2.3.4 "version": "1.2.3.4" release 1.2.3.4', id="releases"),
        pytest.param('"version": "10.0.0.1", "version" : "10.0.0.1", "appVersion":"10.0.0.1"', id="JSON"),
        pytest.param('{\\"version\\": \\"10.0.0.1\\"} version = "10.0.0.1"', id="JSON in JSON, TOML"),
        pytest.param("VERSION=10.0.0.1 VERSION '10.0.0.1' version:\t10.0.0.1", id="version in capitals, tab"),
        pytest.param("Version     : 10.0.0.1\nversion:   10.0.0.1", id="version in a column"),
        pytest.param("**Version:** 10.0.0.1 **Version**: 10.0.0.1 `version`: `10.0.0.1`", id="Markdown"),
        pytest.param("| Version | 10.0.0.1 | <Version>10.0.0.1</Version>", id="version in a table, XML"),
        pytest.param("version is 10.0.0.1, version number 10.0.0.1, versions 10.0.0.1", id="in a sentence"),
        pytest.param("foo>=1.2.3.4 foo~=1.2.3.4 foo <= 1.2.3.4 chapter 4.3.2.1 § 1.2.3.4", id="requirements"),
        pytest.param("a[::1] http://[::1]:8080 ::1.", id="v6 of this host"),
        pytest.param("12:30:45, 10:30, 01:02:03:04", id="times"),
        pytest.param("std::vector std::add face::add foo::f1", id="scopes"),
        pytest.param("x[::2] x[1::2] x[::-1] :: a::b", id="slices"),
        pytest.param("00:1a:2b:3c:4d:5e 00:1a:2b:3c:4d:5e:6f:70", id="hardware addresses"),
        pytest.param("2001:db8::1::2 1:2:3:4:5:6:7:8:9 2001:db8::12345", id="malformed"),
    ],
)
def test_not_an_ip_address(text: str) -> None:
    """Versions, times, scopes, slices and hardware addresses stay."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("453-12-6789 123", ["US_SSN"], id="number behind, together as long as a card"),
        pytest.param("012-34-5678", ["US_SSN"], id="trunk prefix or area"),
        pytest.param("4539578122045518 212-555-0143", ["CREDIT_CARD", "PHONE_NUMBER"], id="card then phone"),
        pytest.param("212-555-0143 4539578122045518", ["PHONE_NUMBER", "CREDIT_CARD"], id="phone then card"),
        pytest.param("10.0.0.1 212-555-0143", ["IP_ADDRESS", "PHONE_NUMBER"], id="address then phone"),
        pytest.param("536-90-4399, 536-90-4398", ["US_SSN", "US_SSN"], id="two in a list"),
        pytest.param("+4539578122", ["PHONE_NUMBER"], id="phone that starts like a card"),
    ],
)
def test_order_decides(text: str, expected: list[str]) -> None:
    """Where several kinds can start, the right one wins and the next is still found."""
    assert labels(text) == expected


@given(
    words=st.lists(
        st.text("abcdefghijklmnopqrstuvwxyzäéßжλ", min_size=1, max_size=9), min_size=1, max_size=20
    ),
    joint=st.sampled_from([" ", ", ", ". ", "-", ": ", "\n", " - "]),
)
def test_prose_is_clean(words: list[str], joint: str) -> None:
    """Words without digits or at-signs are never found."""
    assert found(joint.join(words)) == []
