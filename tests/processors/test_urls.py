"""The preset `urls` finds web addresses, and not the sentence around them."""

from typing import Final

import pytest
import regex

from guardrails.text.scan import Joined, PatternScan, Span
from processors._patterns import PRESETS
from processors._patterns.urls import URLS
from processors.regex import Regex
from tests.text.streams import guard, some_cuttings

JOINED: Final = Joined(URLS)
FOUND: Final = [
    pytest.param("See ⟦https://example.com⟧.", id="full stop"),
    pytest.param(
        "See ⟦https://example.com/a/b.html⟧, ⟦http://example.org/?q=1&r=2⟧; and ⟦ftp://example.net/x⟧!",
        id="list",
    ),
    pytest.param(
        "(⟦https://example.com/a⟧) [⟦https://example.com/b⟧] {⟦https://example.com/c⟧}", id="brackets"
    ),
    pytest.param("[text](⟦https://example.com/a⟧)[more](⟦https://example.com/b⟧).", id="Markdown"),
    pytest.param('![](⟦https://example.com/a.png?d=c2VjcmV0⟧ "t") <⟦https://example.com/a⟧>', id="image"),
    pytest.param("(see ⟦https://example.org/wiki/Go_(game)⟧), ⟦https://example.org/a(b)c⟧)", id="balanced"),
    pytest.param(
        "'⟦https://example.com/a⟧','⟦https://example.com/b⟧' \"⟦https://example.com/c⟧\"", id="quotes"
    ),
    pytest.param("⟦https://example.org/wiki/O'Neill⟧ is", id="apostrophe"),
    pytest.param("**⟦https://example.com/a⟧** and `⟦https://example.com/b⟧`", id="emphasis"),
    pytest.param("⟦HTTPS://EXAMPLE.COM/A⟧ ⟦Http://example.com⟧", id="capitals"),
    pytest.param(
        "⟦ws://example.com/chat⟧ ⟦wss://example.com/⟧ ⟦sftp://example.com/⟧ ⟦ftps://example.com⟧",
        id="schemes",
    ),
    pytest.param("⟦http://localhost:8080/x⟧ ⟦http://10.0.0.7:80⟧ ⟦http://[2001:db8::1]:8080/a⟧", id="hosts"),
    pytest.param("⟦https://ilse:pa.ss!@example.com/a⟧ ⟦https://ilse@example.com⟧", id="user"),
    pytest.param("⟦www.example.com⟧, ⟦www.example.com/a?b#c⟧; ⟦WWW.example.org⟧", id="without a scheme"),
    pytest.param(
        "⟦https://bücher.example/straße⟧ ⟦https://пример.рф/путь⟧ ⟦https://xn--p1ai.example⟧",
        id="other letters",
    ),
    pytest.param("⟦https://例え.jp/a⟧ ⟦https://www.例子.中国⟧", id="other scripts"),
    pytest.param("请看⟦https://example.com/a⟧了解更多。见⟦https://example.com⟧谢谢", id="within Chinese"),
    pytest.param(
        "git+⟦https://example.com/a.git@v1.2⟧ view-source:⟦http://example.com⟧", id="behind another scheme"
    ),
    pytest.param("⟦https://example.com/%E4%BD%A0?a[]=1&b={x}⟧ is", id="escapes"),
    pytest.param("⟦https://example.com⟧: this, ⟦https://example.com⟧?", id="colon and question mark"),
    pytest.param("at ⟦https://example.com/a⟧...", id="dots"),
    pytest.param("⟦https://example.com/a|b?q7Rb2⟧ | ⟦https://example.com/a⟧| x", id="bar"),
    pytest.param(
        "⟦https://example.com/a?b=秘密⟧。⟦https://example.com/?b=秘c密#d⟧ x", id="other scripts in a query"
    ),
    pytest.param("⟦https://u:p@ss@example.com/a⟧ is", id="at sign in a password"),
    pytest.param("⟦ssh://git@example.com:22/a.git⟧", id="shell"),
    pytest.param(
        "![](⟦//example.com/x.png?d=q7Rb2⟧) [a](<⟦//example.com/x⟧>) [a]: ⟦//example.com/y⟧ "
        '<img src="⟦//example.com⟧">',
        id="link without a scheme",
    ),
    pytest.param('{"a":"⟦https:\\/\\/example.com\\/a\\/b?c=d⟧","b":"\\n⟦http://example.org⟧"}', id="in JSON"),
    pytest.param("u%3D⟦https://example.com⟧ \x1b[34m⟦www.example.com/a⟧", id="behind an escape"),
]


def found(text: str) -> list[tuple[str, str]]:
    scan, decided = PatternScan(JOINED, None), list[Span]()
    scan.feed(text, decided)
    scan.feed("", decided, last=True)
    return [(pattern.label, text[start:end]) for start, end, pattern in decided]


def marked(text: str) -> list[str]:
    return regex.findall(r"⟦(.*?)⟧", text)


def unmarked(text: str) -> str:
    return regex.sub("[⟦⟧]", "", text)


def test_preset_holds_codes_of_its_own() -> None:
    """The preset is found by its name and says what carries code or data itself."""
    assert PRESETS["urls"] is URLS
    assert {pattern.label: pattern.code for pattern in URLS} == {
        "URL": "urls.url",
        "JAVASCRIPT_URI": "urls.javascript",
        "DATA_URI": "urls.data",
    }


@pytest.mark.parametrize("text", FOUND)
def test_url(text: str) -> None:
    """A URL is found without the sentence around it."""
    assert found(unmarked(text)) == [("URL", url) for url in marked(text)]


@pytest.mark.parametrize("text", FOUND)
def test_cutting_does_not_matter(text: str) -> None:
    """Redacted in pieces as in the whole."""
    processor = Regex(presets=["urls"])
    expected = regex.sub(r"⟦.*?⟧", "[URL]", text)
    for pieces in some_cuttings(unmarked(text)):
        assert guard(pieces, processor).result.text == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("example.com and list.sort in notes.md, 1.2.3.4", id="no scheme"),
        pytest.param("http:// and https://, www. and www.example", id="no host"),
        pytest.param("http://<host>/a http://$HOST http://{host}/", id="variables"),
        pytest.param("xhttps://example.com, mailto:ilse@example.com, file:///etc/hosts", id="other schemes"),
        pytest.param("a // comment, a//b.c, f(//x.y) [0] //a.b", id="slashes"),
        pytest.param("JavaScript:The(Good)Parts, and so on", id="title"),
        pytest.param("javascript: the good parts; use javascript:strict, data:, metadata:a/b,c", id="words"),
        pytest.param('{"data":1,"javascript":2} data: [1,2] data:text data:a,b', id="keys"),
    ],
)
def test_no_url(text: str) -> None:
    """What has no scheme, no host or no content stays."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "label"),
    [
        pytest.param("[x](⟦javascript:alert(1)⟧)", "JAVASCRIPT_URI", id="call"),
        pytest.param('href="⟦JaVaScRiPt:location=document.cookie⟧"', "JAVASCRIPT_URI", id="mixed case"),
        pytest.param("⟦javascript:%61lert%281%29⟧.", "JAVASCRIPT_URI", id="escaped"),
        pytest.param("src='⟦data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==⟧'", "DATA_URI", id="image"),
        pytest.param("url(⟦data:image/gif;base64,R0lGODlhAQABAAAAACw=⟧)", "DATA_URI", id="in a style"),
        pytest.param("⟦data:text/html,<script>alert(1)</script>⟧ is", "DATA_URI", id="markup"),
        pytest.param("⟦data:;base64,c2VjcmV0⟧, and", "DATA_URI", id="no media type"),
    ],
)
def test_what_carries_its_content(text: str, label: str) -> None:
    """Code and data in a URI have labels of their own."""
    assert found(unmarked(text)) == [(label, uri) for uri in marked(text)]


def test_length_is_bounded() -> None:
    """Behind its host a URL has at most 2,048 characters; what is beyond them is not matched."""
    for tail in (2048, 2049, 5000):
        url = "https://example.com/" + "a" * (tail - 1)
        assert [len(match) for _, match in found(url)] == [len("https://example.com") + min(tail, 2048)]


def test_disguised() -> None:
    """Wide characters and invisible ones do not hide a URL."""
    processor = Regex(presets=["urls"])
    for text in ("ｈｔｔｐｓ：／／ｅｘａｍｐｌｅ．ｃｏｍ／ａ", "h\u200bttps:/\u00ad/exam\u200dple.com/a"):
        assert guard([f"see {text} ok"], processor).result.text == "see [URL] ok"


@pytest.mark.parametrize(
    ("presets", "label"), [(("secrets", "urls"), "SLACK_WEBHOOK"), (("urls", "secrets"), "URL")]
)
def test_the_earlier_preset_wins(presets: tuple[str, str], label: str) -> None:
    """Where two kinds begin at the same place, the preset that is named first decides."""
    hook = "https://hooks.sl" + "ack.com/services/T024BE7LD3Q/B05RX91KZ/q7Rb2LxW9vTn4KdYc8ZpGm3H"
    result = guard([f"post to {hook}."], Regex(presets=presets)).result
    assert [finding.label for finding in result.findings] == [label]
    assert result.text == f"post to [{label}]."


def test_a_token_within_a_url_goes_with_it() -> None:
    """The URL begins earlier, so that all of it is one finding."""
    token = "gl" + "pat-q7Rb2LxW9vTn4KdYc8Zp"
    for url in (f"https://example.com/?t={token}", f"https://{token}@example.com/a"):
        result = guard([f"get {url} now"], Regex(presets=["secrets", "urls"])).result
        assert [finding.label for finding in result.findings] == ["URL"]
