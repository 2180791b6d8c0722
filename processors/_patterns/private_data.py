r"""The preset `private-data`: what private data looks like, as patterns.

The patterns are written for a normalised view of the text: compatibility forms folded, format characters
dropped, exotic spaces and dashes plain, so that ASCII separators suffice; CJK and other scripts stay.

Three things hold for all of them. Their hold-back is exact, so they use only classes, groups, alternation,
bounded repeats, look-aheads and, before anything is consumed, look-behinds. Each begins with the same
`START`, which the engine then tests once for all of them: within a word, that is at most places of a text,
nothing else is tried. And where two patterns can start at the same place, their order decides: see
`PRIVATE_DATA`.
"""

from ipaddress import AddressValueError, IPv6Address
from types import MappingProxyType
from typing import Final

import regex

from guardrails.text.pattern import Pattern
from processors._patterns._common import ACCENT, ALNUM, HEX, LETTER, START, up_to

# --- Identifiers. A UUID (RFC 9562, 4: groups of 8, 4, 4, 4 and 12 hexadecimal digits) and a digest have runs
# of digits in them that look like anything. What stands in the place of a group of a UUID is no finding; nor
# is a number that goes on with letters and digits of a digest, or follows such by a dash.
_FOUR: Final = HEX * 4  # written out, for look-behinds: see `up_to`
_LAST: Final = rf"{HEX}{{12}}(?![{ALNUM}])"
_NO_UUID: Final = rf"(?!{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{_LAST})"
# Each second branch says that the first is none: or else, whenever the rest fails, it would be tried as well.
_NOT_IN_UUID: Final = (
    rf"(?:(?<!{_FOUR * 2}-)|(?<={_FOUR * 2}-)(?!(?:{HEX}{{4}}-){{3}}{_LAST}))"
    rf"(?:(?<!{_FOUR * 2}-{_FOUR}-)|(?<={_FOUR * 2}-{_FOUR}-)(?!(?:{HEX}{{4}}-){{2}}{_LAST}))"
    rf"(?<!{_FOUR * 2}-{_FOUR}-{_FOUR}-)(?<!{_FOUR * 2}-{_FOUR}-{_FOUR}-{_FOUR}-)"
)
_MIXED: Final = "(?:[0-9][A-Fa-f]|[A-Fa-f][0-9])"
# Eight or more of them: a card may well stand behind `A1-` or `3f2a-`.
_NOT_BEHIND_HEX: Final = rf"(?<!(?:{'|'.join(HEX * at + _MIXED + HEX * (6 - at) for at in range(7))})-)"
# `4111111111111111D2512201…` is what is on the magnetic stripe of a card (ISO/IEC 7813, track 2; EMV Book 3,
# tag 57): number, separator, four digits for the end of its validity and three for the service.
_NOT_BEFORE_HEX: Final = (
    rf"(?!(?![Dd][0-9]{{7}})[A-Fa-f](?=[0-9A-Fa-f\-]{{3}})[A-Fa-f\-]{{0,6}}[0-9]"
    rf"|-(?={HEX}{{8,12}}(?![{ALNUM}]))(?:[0-9]{{1,11}}[A-Fa-f]|[A-Fa-f]{{1,11}}[0-9]))"
)
_NOT_IN_IDENTIFIER: Final = rf"(?:(?<!{HEX}-)|(?<={HEX}-){_NOT_IN_UUID}{_NOT_BEHIND_HEX})"

# --- E-mail: RFC 5321 (4.5.3.1: local part at most 64, label at most 63), RFC 5322 (3.2.3, dot-atom),
# RFC 6531 (non-ASCII addresses), RFC 5890 (`xn--`).
_MARK: Final = r".+%&'_\-"  # what is likely between the letters; `=`, `/`, `|`, `*` more often stand around
_ATOM: Final = rf"[{ALNUM}][{ALNUM}{ACCENT}]{{0,63}}"
_JOINT: Final = r"(?:[.+%&']|[_\-]{1,2})"  # not `...` or `----`: these lead from a word to an address
_LOCAL_PART: Final = (
    rf"(?=[{ALNUM}][{ALNUM}{ACCENT}{_MARK}]{{0,63}}@){_ATOM}(?:{_JOINT}{_ATOM}){{0,31}}[+_\-]{{0,2}}"
)
_DOMAIN_LABEL: Final = rf"[{ALNUM}][{ALNUM}{ACCENT}\-]{{0,62}}"
_TOP_LEVEL: Final = rf"(?:[xX][nN]--[a-zA-Z0-9\-]{{1,59}}|[{LETTER}][{LETTER}{ACCENT}]{{1,62}})"
# `git@host.example:path` is where a repository is, `icon@2x.png` a file.
_NOT_A_MAILBOX: Final = rf"(?!(?:git|hg|svn)@[{ALNUM}.\-]{{1,253}}[:/][{ALNUM}~/._])"
_IMAGE: Final = r"(?:[pP][nN][gG]|[jJ][pP][eE]?[gG]|[wW][eE][bB][pP]|[gG][iI][fF]|[sS][vV][gG])"
_NOT_A_FILE: Final = rf"(?![1-4]x\.{_IMAGE}(?![{ALNUM}\-]|\.[{ALNUM}]))"

_EMAIL: Final = (
    rf"{START}(?<![{ALNUM}{ACCENT}][{_MARK}]{up_to(1, '[_-]')})"
    rf"{_NOT_A_MAILBOX}{_LOCAL_PART}@{_NOT_A_FILE}(?:{_DOMAIN_LABEL}\.){{1,10}}{_TOP_LEVEL}"
)

# --- Payment cards: ISO/IEC 7812-1 (at most 19 digits, Luhn check digit), issuers' published ranges as
# collected in https://en.wikipedia.org/wiki/Payment_card_number. First four digits, number of digits.
_ISSUERS: Final = (
    (range(4000, 5000), (13, 16, 19)),  # Visa
    (range(5100, 5600), (16,)),  # Mastercard
    (range(2221, 2721), (16,)),  # Mastercard, the second series
    (range(3400, 3500), (15,)),  # American Express
    (range(3700, 3800), (15,)),
    (range(6011, 6012), range(16, 20)),  # Discover
    (range(6440, 6600), range(16, 20)),  # Discover, RuPay, Troy
    (range(3000, 3060), (14, 16, 17, 18, 19)),  # Diners Club
    (range(3095, 3096), (14, 16, 17, 18, 19)),
    (range(3600, 3700), range(14, 20)),
    (range(3800, 4000), (14, 16, 17, 18, 19)),
    (range(3500, 3600), range(16, 20)),  # JCB has 3528-3589, and test numbers are made from all of 35
    (range(1800, 1801), (15,)),  # JCB, the old series
    (range(2131, 2132), (15,)),
    (range(6200, 6300), range(16, 20)),  # UnionPay
    (range(8100, 8172), range(16, 20)),  # UnionPay, RuPay
    (range(8172, 8300), (16,)),  # RuPay
    (range(6000, 6100), (16,)),
    (range(5000, 5100), range(12, 20)),  # Maestro; RuPay 508, Verve 506
    (range(5600, 5900), range(12, 20)),  # Maestro
    (range(6304, 6305), range(12, 20)),
    (range(6360, 6400), range(12, 20)),  # Maestro, InterPayment, InstaPayment
    (range(6700, 6800), range(12, 20)),
    (range(2200, 2205), range(16, 20)),  # Mir
    (range(9792, 9793), (16,)),  # Troy
    (range(8600, 8601), (16,)),  # UzCard
    (range(9860, 9861), (16,)),  # Humo
)
_CARD_LENGTHS: Final = MappingProxyType(
    {str(prefix): tuple(lengths) for prefixes, lengths in _ISSUERS for prefix in prefixes}
)
_DOUBLED: Final = MappingProxyType({str(digit): sum(divmod(2 * digit, 10)) for digit in range(10)})
_LEAST_GROUP: Final = 3  # digits; a number in smaller groups (spelt out) must be all there is
_ISSUER_NUMBER: Final = (6, 8)  # digits, ISO/IEC 7812-1
_ARTICLE_NUMBER: Final = (12, 13)  # digits of a GTIN-12 (UPC-A) and a GTIN-13 (EAN)
_PRINTED_GROUPS: Final = ((4, 6, 5), (4, 6, 4), (4, 3, 3, 3))  # American Express, Diners Club, Visa of 13

# Digits in a row or in groups; or in groups with dots; or spelt out, singly or in pairs, and then no digit
# may follow. Not the decimals of a number, nor a number with decimals but `.0`. `1796092179175` (a time in
# milliseconds) is no candidate: of the numbers that start with 1 only the old JCB series are cards.
_NO_MORE: Final = r"(?![ \-]?[0-9])"
_CARD: Final = (
    rf"{START}(?=[2-689]|18)(?<![0-9]\.){_NOT_IN_IDENTIFIER}{_NO_UUID}(?![0-9]{{12,19}}\.(?!0(?![0-9]))[0-9])"
    rf"(?:[0-9]{{3}}(?:(?: {{1,2}}|-)?[0-9]){{9,16}}(?![0-9]){_NOT_BEFORE_HEX}"
    r"|[2-689][0-9]{3}\.(?:[0-9]{4}(?:\.[0-9]{4}){1,3}|[0-9]{6}\.[0-9]{4,5})(?![0-9]|\.[0-9])"
    rf"|[2-689](?:[ \-][0-9]){{11,18}}{_NO_MORE}"
    rf"|[2-689][0-9](?:[ \-][0-9]{{2}}){{5,8}}(?:[ \-][0-9])?{_NO_MORE})"
)

# --- IBAN: ISO 13616, check digits by ISO/IEC 7064 MOD 97-10, lengths from the SWIFT IBAN registry
# (https://www.swift.com/standards/data-standards/iban-international-bank-account-number).
_IBAN_COUNTRIES: Final = MappingProxyType(
    {
        15: "NO",
        16: "BE",
        18: "DK FI FK FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }
)
_IBAN_LENGTHS: Final = MappingProxyType(
    {country: length for length, countries in _IBAN_COUNTRIES.items() for country in countries.split()}
)
# Countries whose letters are hexadecimal digits and whose accounts are, by the registry, decimal digits.
# Without that, an identifier such as `be65cb3e9e5ec5b6` would be an IBAN as often as its check digits fit.
_ONLY_DIGITS: Final = frozenset(("AE", "BA", "BE", "DE", "EE"))
# At most 33 characters, and one that may follow.
_IBAN: Final = (
    rf"{START}(?=[A-Za-z]{{2}}[0-9]{{2}}){_NOT_IN_IDENTIFIER}{_NO_UUID}"
    r"[A-Za-z]{2}[0-9]{2}(?:(?: {1,2}|-)?[A-Za-z0-9]){11,30}"
)

# --- IP addresses: RFC 791; RFC 4291 (2.2, the text forms of IPv6). What stands after `version`, `>=`
# or `Chrome/`, in a longer dotted number or after a letter (`v1.2.3.4`) is a version, not an address.
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_QUOTE: Final = r"(?:|[\"'`]|\\[\"']|\*\*)"  # of JSON within JSON and of Markdown, too
_SPACES: Final = up_to(8, "[ \t]")
_VERSION: Final = (
    r"==|[<>~]=(?:| )|(?:[Vv]ersion|VERSION)"
    rf"(?:(?:|s|:| is| number) |{_QUOTE}{_SPACES}[:=|]{_QUOTE}{_SPACES}{_QUOTE}|[ (]{_QUOTE}|>|-)"
    r"|(?:[Rr]elease|[Ss]ection|[Cc]hapter) |§(?:| )"
    # A product, not `https://example.com/ip/203.0.113.77`.
    f"|[ \n(\"'`,;][{LETTER}]{up_to(23, f'[{LETTER}]')}/"
)
_IPV4: Final = (
    rf"{START}(?<![0-9]\.)(?=[0-9]{{1,3}}\.[0-9])(?<!{_VERSION})"
    rf"{_OCTET}(?:\.{_OCTET}){{3}}(?![0-9]|\.[0-9])"
)
_IPV6: Final = (
    rf"{START}(?<![0-9A-Fa-f:]:)"
    rf"{HEX}{{0,4}}(?::{HEX}{{0,4}}){{2,7}}(?:\.[0-9]{{1,3}}){{0,3}}"
    rf"(?![0-9A-Za-z_]|:{HEX}|\.[0-9])"
)

# --- US social security number: area not 000, 666 or 9xx, group not 00, serial not 0000
# (https://www.ssa.gov/employer/randomization.html). With spaces it looks like any three numbers, so that
# no other number may stand beside it; in one piece it must be announced.
_AREA: Final = r"(?!000|666|9)[0-9]{3}"
_GROUP: Final = r"(?!00)[0-9]{2}"
_SERIAL: Final = r"(?!0000)[0-9]{4}"
_IS: Final = r"(?: | is | #|(?:|[\"'])[:=#](?:| )(?:|[\"']))"
_SSN_WORD: Final = (
    rf"(?<![a-zA-Z](?:SSN|ssn){_IS})"
    rf"(?<=(?:SSN|ssn|[Ss]ocial [Ss]ecurity(?:| [Nn]umber| [Nn]o| [Nn]o\.)){_IS})"
)
_SSN: Final = (
    rf"{START}(?=[0-8])"
    rf"(?:(?<![0-9][.\-]){_AREA}-{_GROUP}-{_SERIAL}(?![0-9]|[.\-][0-9])"
    rf"|(?<![0-9)][ .\-]){_AREA} {_GROUP} {_SERIAL}(?![0-9]|[ .\-][0-9])"
    rf"|{_SSN_WORD}{_AREA}{_GROUP}{_SERIAL}(?![0-9]|[.\-][0-9]))"
)

# --- Telephone numbers: ITU-T E.164 (at most 15 digits; `+` or `00` before the country code), the North
# American Numbering Plan (https://www.nanpa.com: an area code starts with 2-9), ITU-T E.123 (national
# notation: a trunk prefix 0). Ten digits in one piece are not taken for one
# unless a word announces them, and neither are three groups with spaces: `450 650 1200 mm`.
_EXTENSION: Final = r"(?:,? ?(?:[xX#]|[eE][xX][tT](?:\.|ension)?) ?[0-9]{1,6})?"
_NOT_IN_A_NUMBER: Final = r"(?<![0-9][.\-])"
_NOT_A_FIGURE: Final = r"(?<![Ff]ig(?:|ure|\.) )"  # `fig. 212-300-4000`
_NOT_IN_A_ROW: Final = r"(?<![0-9)][ .\-])"
_COLON: Final = r"(?:| [Nn]umber)(?:(?:\.|:|[.:][.:])(?:| )| | is )"
_ANNOUNCEMENT: Final = (
    rf"(?<![a-zA-Z]tel{_COLON})"  # not `hotel`
    rf"(?<=(?:[Pp]hone|[Tt]el|[Mm]obile|[Ff]ax|[Ww]hats[Aa]pp){_COLON}"
    r"|(?:[Cc]all|[Rr]each|[Rr]ing|[Tt]ext) (?:me|us|him|her|them) (?:on|at) |answering at )"
)
_CALL: Final = r"(?<![a-zA-Z][Cc]all )(?<=(?:[Cc]all|[Dd]ial) )"  # not `recall`
_DESK: Final = r"(?<=(?:[Dd]esk|[Oo]ffice|[Cc]ell):(?:| ))"
_INTERNATIONAL: Final = (
    rf"(?:{_ANNOUNCEMENT}|(?!00(?:[ \-][0-9]{{2}}){{4}}))"  # `00 48 65 68 69 21` is bytes
    # `4 006381 333931` is a bar code
    r"(?:(?<![0-9] )|(?<=[0-9][0-9] )|(?<=[0-9] )(?<![0-9][0-9] )(?!00[0-9]{4} [0-9]{6}(?![0-9])))"
    rf"(?:\+|{_NO_UUID}00[ \-]?(?=[1-9]))[1-9][0-9]{{0,2}}(?:[ .\-]?\([0-9]{{1,4}}\))?"
    rf"(?:[ ./\-]?[0-9]){{4,14}}{_EXTENSION}(?![0-9]){_NOT_BEFORE_HEX}"
)
_NORTH_AMERICAN: Final = (
    r"(?:1[ .\-])?(?:\([2-9][0-9]{2}\)[ \-]?[0-9]{3}[ .\-]|[2-9][0-9]{2}(?:-[0-9]{3}-|\.[0-9]{3}\.))[0-9]{4}"
    rf"{_EXTENSION}(?![0-9]|[.\-][0-9])"
)
_NATIONAL: Final = (
    # 212 555-0143, 212 555 0143: three figures do not end with one that begins with 0
    r"(?:(?:1 [2-9][0-9]{2} [2-9][0-9]{2}[ \-]|[2-9][0-9]{2} [2-9][0-9]{2}(?:-| (?=0)))[0-9]{4}"
    r"|0[1-9](?:\.[0-9]{2}){4}"  # 01.23.45.67.89, France
    r"|0[1-9][0-9]{0,3}(?:(?: [0-9]{2,8}){1,4}|(?:-[0-9]{2,8}){1,4})"  # 020 7946 0958, 03-1234-5678
    r"|0[1-9][0-9]{1,3} [0-9]{5,8}-[0-9]{1,4}"  # 030 901820-0, an extension by DIN 5008
    r"|\(0[1-9][0-9]{0,3}\) ?[0-9]{2,8}(?:(?:[ \-][0-9]{2,8}){0,3}|-[0-9]))"  # (030) 1234567
    rf"{_EXTENSION}(?![0-9]|[.:\-][0-9]| [0-9]{{2}}){_NOT_BEFORE_HEX}"
)
# 212 555 1234 and 2125551234 may be anything; here somebody says what they are.
_CALLED: Final = (
    rf"(?:{_CALL}[2-9][0-9]{{2}} [2-9][0-9]{{2}} |{_DESK}[2-9][0-9]{{2}}[ .\-]?[2-9][0-9]{{2}}[ .\-]?)"
    rf"[0-9]{{4}}{_EXTENSION}(?![0-9]|[.:\-][0-9]| [0-9]{{2}})"
)
# A line of a signature: `416 60 039 office`.
_OFFICE: Final = "(?:office|cell|fax)"
_SIGNATURE: Final = (
    "(?<![^\n])"
    r"[0-9]{2,5}(?:[ \-][0-9]{2,7}){1,4}"
    rf"(?= (?:\({_OFFICE}\)|{_OFFICE})"
    "(?![^\n]))"
)
# A number behind a word that announces it may be short and grouped in any way.
_ANNOUNCED: Final = (
    rf"{_ANNOUNCEMENT}(?:[0-9]{{7,13}}|(?:\([0-9]{{2,4}}\) ?)?[0-9]{{2,5}}(?:[ \-][0-9]{{2,7}}){{1,4}})"
    rf"(?![0-9]|[.:\-][0-9])"
)
_PHONE: Final = (
    rf"{START}(?=[0-9(+]){_NOT_IN_IDENTIFIER}"
    rf"(?:{_NOT_IN_A_NUMBER}{_INTERNATIONAL}|{_NOT_IN_A_NUMBER}{_NOT_A_FIGURE}{_NORTH_AMERICAN}"
    rf"|{_NOT_IN_A_ROW}{_NATIONAL}|{_CALLED}|{_ANNOUNCED}|{_SIGNATURE})"
)
_NORTH_AMERICAN_DIGITS: Final = 11  # with the country code 1
_USUAL_DIGITS: Final = 13  # no country's own numbers are usually longer, country code included
_LEAST_DIGITS: Final = 7
_NATIONAL_DIGITS: Final = 12  # in groups, with the trunk prefix
_LEAST_DIGITS_WITH_TRUNK_PREFIX: Final = 9  # a date has 8
_LEAST_DIGITS_IN_ONE_PIECE: Final = 9  # `+1234567` is rather a difference
_DOUBLE_ZERO_IN_ONE_PIECE: Final = range(11, 16)  # digits, the zeros included
_NO_SEPARATORS: Final = MappingProxyType(dict.fromkeys(map(ord, " -./()+")))
_SEPARATOR: Final = regex.compile(r" {1,2}|[.\-]")
_ROUND_SUM: Final = regex.compile(r"\+[0-9]{1,3}(?:[ .][0-9]{3}){0,3}[ .]000")
_DATE: Final = regex.compile(
    r"(?:(?:19|20)[0-9]{2}[ \-][0-9]{2}|[0-9]{2}[ \-][0-9]{2}[ \-](?:19|20)[0-9]{2})(?![0-9]).{0,20}"
    r"|(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
)
_TIME: Final = "(?:[01][0-9]|2[0-3])[03]0"
_TIMES: Final = regex.compile(rf"(?:{_TIME}[ \-]?){{3,}}|{_TIME}-{_TIME}")  # 0800-1200-1600, 1000-1800


def _digits(text: str) -> str:
    return text.translate(_NO_SEPARATORS)


def _ends(candidate: str) -> list[int]:
    """Where each digit of the candidate ends."""
    return [place for place, char in enumerate(candidate, start=1) if char.isdigit()]


def _luhn(digits: str) -> bool:
    """Tell whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    return (sum(map(int, digits[::-2])) + sum(map(_DOUBLED.__getitem__, digits[-2::-2]))) % 10 == 0


def _printed_like_a_card(number: str, *, whole: bool) -> bool:
    """Tell whether the digits are grouped as on a card, and not as numbers that merely follow each other."""
    groups = tuple(map(len, _SEPARATOR.split(number)))
    size, last = groups[0], groups[-1]
    if len(groups) == 1 or groups in _PRINTED_GROUPS:
        return True
    if len(groups) == 2 and size in _ISSUER_NUMBER:  # noqa: PLR2004 - the issuer's number and the rest
        return True
    return set(groups[:-1]) == {size} and last <= size and (size >= _LEAST_GROUP or whole)


def _is_article_number(number: str) -> bool:
    """Tell whether these are the digits of a bar code, by its check digit (GS1 General Specifications, 7.9).

    One in ten passes for a card, too; cards of so few digits are no longer issued.
    """
    if len(number) not in _ARTICLE_NUMBER or not number.isdigit():
        return False
    return (sum(map(int, number[::-2])) + 3 * sum(map(int, number[-2::-2]))) % 10 == 0


def card_length(candidate: str) -> int:
    """Return how many leading characters are a card number: issuer, length, grouping and check digit fit."""
    digits = _digits(candidate)
    for count in reversed(_CARD_LENGTHS.get(digits[:4], ())):
        if count > len(digits) or not _luhn(digits[:count]):
            continue
        end = _ends(candidate)[count - 1]
        number, rest = candidate[:end], candidate[end:]
        if _is_article_number(number):
            continue
        if not rest[:1].isdigit() and _printed_like_a_card(number, whole=not rest):
            return end
    return 0


def iban_length(candidate: str) -> int:
    """Return how many leading characters are an IBAN: the country's length, then a check by MOD 97-10."""
    length = _IBAN_LENGTHS.get(candidate[:2].upper())
    if length is None:
        return 0
    places = [place for place, char in enumerate(candidate) if char.isalnum()]
    if length > len(places) or candidate[places[length - 1] + 1 :][:1].isalnum():
        return 0
    iban = "".join(candidate[place] for place in places[:length])
    if iban[:2].upper() in _ONLY_DIGITS and not iban[2:].isdigit():
        return 0
    checked = int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4]))
    return places[length - 1] + 1 if checked % 97 == 1 else 0


def ipv4_length(candidate: str) -> int:
    """Return the whole length, or 0 for `1.0.0.0`, a version, and what is nobody's (RFC 1122, 3.2.1.3)."""
    return 0 if candidate.endswith(".0.0.0") or candidate.startswith("127.") else len(candidate)


def ipv6_length(candidate: str) -> int:
    """Return how many leading characters are an IPv6 address that is none of its look-alikes."""
    address = candidate if candidate.endswith("::") else candidate.rstrip(":")
    try:
        IPv6Address(address)
    except AddressValueError:
        return 0
    return len(address) if _addresses_something(address) else 0


def _addresses_something(address: str) -> bool:
    """Exclude names in scopes (`add::face`), slices (`1::2`, `::1`) and hardware addresses of eight bytes."""
    groups = address.split(":")
    if not any(map(str.isdigit, address)):
        return False
    if "::" not in address:
        return max(map(len, groups)) > 2  # noqa: PLR2004 - a byte has two digits
    known = ("::ffff:", "64:ff9b:", "100::")  # RFC 4291 (2.5.5.2), RFC 6052, RFC 6666
    # Every other network that is in use starts with four digits: 2000::/3, fc00::/7, fe80::/10, ff00::/8.
    return len(groups[0]) == 4 or address.lower().startswith(known)  # noqa: PLR2004


def phone_length(candidate: str) -> int:
    """Return how many leading characters are a telephone number, by its number of digits."""
    extension = regex.search(r",? ?[xX#eE]", candidate)
    number = candidate[: extension.start()] if extension else candidate
    accepted = _international_length(number) if number.startswith(("+", "00")) else _national_length(number)
    return len(candidate) if accepted == len(number) else accepted


def _international_length(number: str) -> int:
    """The longest prefix, ending with a group, that can be a number with a country code."""
    if _ROUND_SUM.fullmatch(number):
        return 0
    if number.lstrip("+").isdigit():
        plus = number.startswith("+")
        fits = len(number) > _LEAST_DIGITS_IN_ONE_PIECE if plus else len(number) in _DOUBLE_ZERO_IN_ONE_PIECE
        return len(number) if fits and _is_international(number) else 0
    group_ends = (end for end in reversed(_ends(number)) if not number[end : end + 1].isdigit())
    return next((end for end in group_ends if _is_international(number[:end])), 0)


def _is_international(number: str) -> bool:
    digits = _digits(number).removeprefix("00")
    if digits.startswith("1"):
        return len(digits) == _NORTH_AMERICAN_DIGITS
    return _LEAST_DIGITS <= len(digits) - ("(0)" in number) <= _USUAL_DIGITS


def _national_length(number: str) -> int:
    """The whole length unless there are too few or too many digits, or they are a date or a series."""
    digits = len(_digits(number))
    least = _LEAST_DIGITS_WITH_TRUNK_PREFIX if number.lstrip("(").startswith("0") else _LEAST_DIGITS
    most = _USUAL_DIGITS if number.isdigit() else _NATIONAL_DIGITS
    if not least <= digits <= most or _DATE.fullmatch(number) or _is_series(number):
        return 0
    return len(number)


def _is_series(number: str) -> bool:
    """Tell whether these are three sizes, each twice the one before, three round figures, or times."""
    if _TIMES.fullmatch(number):
        return True
    figures = [int(figure) for figure in number.split(" ") if figure.isdigit()]
    if len(figures) != 3:  # noqa: PLR2004
        return False
    first, second, third = figures
    return (second, third) == (2 * first, 4 * first) or all(figure % 100 == 0 for figure in figures)


# The order decides between patterns that start at the same place. An address that begins with digits is an
# address. A card is checked most strictly, so it comes before what has its digits in part. `012-34-5678` is
# a social security number before it is a telephone number with a trunk prefix.
PRIVATE_DATA: Final[tuple[Pattern, ...]] = (
    Pattern("EMAIL_ADDRESS", _EMAIL, "pii.email_address"),
    Pattern("IBAN_CODE", _IBAN, "pii.iban_code", verify=iban_length),
    Pattern("CREDIT_CARD", _CARD, "pii.credit_card", verify=card_length),
    Pattern("IP_ADDRESS", _IPV4, "pii.ip_address", verify=ipv4_length, score=0.9),
    Pattern("IP_ADDRESS", _IPV6, "pii.ip_address", verify=ipv6_length),
    Pattern("US_SSN", _SSN, "pii.us_ssn", score=0.9),
    Pattern("PHONE_NUMBER", _PHONE, "pii.phone_number", verify=phone_length, score=0.8),
)
