r"""The preset `urls`: web addresses, and the two kinds of URI that carry code or data themselves.

A URL has a scheme or begins with `www.`; a bare `example.com` is not found, since most of its kind are
files (`notes.md`), methods (`list.sort`) and sentences without a space. `//example.com` is found where a
link stands in Markdown or HTML. `file:`, `vbscript:` and other schemes are not found. Letters of scripts
without spaces are a URL's in its query only, and an emoji, `^`, a backslash or a second `|` in a row ends
it. Up to the first bracket, at most 2,048 characters behind the host are a URL's, and then eight pairs of
brackets with 512 in and behind each; of `javascript:` 512; of `data:` 8,192 in base64, else 512. What is
beyond that is not matched. The bounds are low where a sentence may close the match early, since its text is
read to them again from its next URL.
"""

from typing import Final

import regex

from guardrails.text.pattern import Pattern
from processors._patterns._common import ACCENT, ALNUM, START

# --- RFC 3986 (3, syntax), RFC 5891 (host names beyond ASCII), RFC 3987 (letters beyond ASCII). Scripts that
# are written without spaces may be in a host, where a whole label is of one kind, but not behind it: there
# the sentence goes on (`见https://example.com/a了解`).
_LABEL: Final = rf"(?:[{ALNUM}_][{ALNUM}{ACCENT}_\-]{{0,62}}|\p{{Lo}}[\p{{Lo}}\p{{M}}0-9\-]{{0,62}})"
_HOST: Final = rf"(?:\[[0-9A-Fa-f:.]{{2,45}}\]|{_LABEL}(?:\.{_LABEL}){{0,30}})"
_PORT: Final = r"(?::[0-9]{1,5}|)"
_USER: Final = r"(?:[A-Za-z0-9._~%!$&'()*+,;=:@\-]{1,256}@|)"
_CHARACTER: Final = rf"[{ALNUM}{ACCENT}\-._~:/?#@!$&*+,;=%]"
# Brackets in pairs, and an apostrophe or bar within a word: what closes without having opened is the
# sentence's. The slashes of JSON; letters of other scripts, of which `url_length` keeps those of a query.
_PAIR: Final = (
    rf"(?:\({_CHARACTER}{{0,512}}\)|\[{_CHARACTER}{{0,512}}\]|\{{{_CHARACTER}{{0,512}}\}}|['|](?=[{ALNUM}])"
    r"|\\/|\p{Lo}{1,512})"
)
_TAIL: Final = rf"(?:(?:[/?#]|\\/){_CHARACTER}{{0,2047}}(?:{_PAIR}{_CHARACTER}{{0,512}}){{0,8}}|)"
# The first letter apart, so that a scan can look for it alone; few repeats, since each costs at every place.
_SCHEME: Final = (
    r"(?:(?:h|H)[tT][tT][pP](?:[sS]|)|(?:f|F)[tT][pP](?:[sS]|)|(?:s|S)(?:[fF][tT][pP]|[sS][hH])|(?:w|W)[sS](?:[sS]|))"
    r":(?://|\\/\\/)"
)
# Without a scheme where only a link stands: in Markdown and in an attribute.
_LINKED: Final = r"(?<=\]\(|\]\([ <]|\]: |\]: <|(?:[sS][rR][cC]|[hH][rR][eE][fF])(?:=|=[\"']))//"
_URL: Final = rf"{START}(?:{_SCHEME}{_USER}|(?:w|W)[wW][wW]\.|{_LINKED}{_USER}){_HOST}{_PORT}{_TAIL}"

# --- https://html.spec.whatwg.org/multipage/browsing-the-web.html#the-javascript:-url-special-case
# To be code, it has one of these characters soon.
_JAVASCRIPT: Final = (
    rf"{START}(?:j|J)[aA][vV][aA][sS][cC][rR][iI][pP][tT]:[{ALNUM}_$./!]{{0,128}}[(=%`;\[]"
    rf"[{ALNUM}\-._~:/?#\[\]@!$&'()*+,;=%{{}}`|\\^]{{0,512}}"
)
# --- RFC 2397: a media type or a parameter, or both. Markup behind the comma may have angle brackets.
_DATA: Final = (
    rf"{START}(?:d|D)[aA][tT][aA]:[a-zA-Z0-9/;=.+\-]{{4,200}},"
    rf"(?:[A-Za-z0-9+/=_\-]{{512,8192}}|[{ALNUM}\-._~:/?#\[\]@!$&'()*+;=%{{}}<>]{{1,512}})"
)

_BEFORE_TAIL: Final = regex.compile(rf"(?:(?:[a-zA-Z]+:|)(?://|\\/\\/){_USER}|[wW]{{3}}\.){_HOST}{_PORT}")
_TAIL_BEGINS: Final = ("/", "?", "#", "\\")
_OTHER_SCRIPT: Final = regex.compile(rf"[^\P{{Lo}}{ALNUM}]")
_NO_CODE: Final = regex.compile(r"[A-Z]\w*\(\w*\)\w+")  # `JavaScript:The(Good)Parts`
_QUOTE: Final = regex.compile(rf"'(?![{ALNUM}])")  # `O'Neill` is a name, `'a', 'b'` are two strings
_BRACKET: Final = regex.compile(r"[()\[\]{}]")
_OPENING: Final = {")": "(", "]": "[", "}": "{"}


def _without_sentence(candidate: str, tail: int) -> int:
    """The length without what belongs to the sentence around: from a quote or bracket that closes on.

    Args:
        candidate: what matched.
        tail: where that may begin.
    """
    quote = _QUOTE.search(candidate, tail)
    end = quote.start() if quote else len(candidate)
    opened = dict.fromkeys("([{", 0)
    for bracket in _BRACKET.finditer(candidate, tail, end):
        if bracket[0] in opened:
            opened[bracket[0]] += 1
        elif opened[_OPENING[bracket[0]]] == 0:
            end = bracket.start()
            break
        else:
            opened[_OPENING[bracket[0]]] -= 1
    return max(tail, len(candidate[:end].rstrip(".,;:!?'\"*([{")))


def url_length(candidate: str) -> int:
    """Return how many leading characters are a URL and not the sentence around it."""
    before = _BEFORE_TAIL.match(candidate)
    if before is None:
        return 0
    host = before.end()
    if "/" not in before[0] and before[0].count(".") == 1:  # `www.example`
        return 0
    if candidate[host : host + 1] not in _TAIL_BEGINS:
        return host
    other = _OTHER_SCRIPT.search(candidate, host)
    if other and "?" not in candidate[host : other.start()]:
        candidate = candidate[: other.start()]
    return _without_sentence(candidate, host)


def javascript_length(candidate: str) -> int:
    """Return how many leading characters are a `javascript:` URI; 0 if there is no code in it."""
    scheme = candidate.index(":") + 1
    length = _without_sentence(candidate, scheme)
    return length if length > scheme and not _NO_CODE.fullmatch(candidate, scheme, length) else 0


def data_length(candidate: str) -> int:
    """Return how many leading characters are a `data:` URI; 0 if there is no data in it."""
    comma = candidate.index(",") + 1
    if not {"/", ";"} & set(candidate[:comma]):
        return 0
    length = _without_sentence(candidate, comma)
    return length if length > comma else 0


URLS: Final[tuple[Pattern, ...]] = (
    Pattern("URL", _URL, "urls.url", verify=url_length),
    Pattern("JAVASCRIPT_URI", _JAVASCRIPT, "urls.javascript", verify=javascript_length),
    Pattern("DATA_URI", _DATA, "urls.data", verify=data_length),
)
