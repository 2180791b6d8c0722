"""The preset `secrets` finds keys by their form, and not what resembles them. All values are invented."""

import json
import random
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from time import process_time
from typing import Final
from zlib import crc32

import pytest
import regex

from guardrails.text.pattern import Pattern
from guardrails.text.scan import Joined, PatternScan, Span
from processors._patterns import PRESETS
from processors._patterns._common import START
from processors._patterns.secrets import SECRETS
from processors.regex import Regex
from tests.text.streams import guard, some_cuttings

JOINED: Final = Joined(SECRETS)
DIGITS: Final = "0123456789"
HEX: Final = DIGITS + "abcdef"
UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER: Final = UPPER.lower()
BASE62: Final = DIGITS + UPPER + LOWER
URL_SAFE: Final = BASE62 + "-_"
BASE64: Final = BASE62 + "+/"
_chance: Final = random.Random(4)


def some(alphabet: str, size: int) -> str:
    """So many characters of an alphabet, with a letter or digit at both ends."""
    ends = [char for char in alphabet if char.isalnum()]
    middle = "".join(_chance.choice(alphabet) for _ in range(size - 2))
    return _chance.choice(ends) + middle + _chance.choice(ends)


def uuid() -> str:
    return "-".join(some(HEX, size) for size in (8, 4, 4, 4, 12))


def checked(prefix: str) -> str:
    """A token with its checksum, computed another way than in the code under test."""
    body = some(BASE62, 30)
    number = crc32(body.encode())
    return prefix + body + "".join(BASE62[number // 62**place % 62] for place in range(5, -1, -1))


def encoded(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def jwt(header: object, parts: int = 3) -> str:
    return ".".join(
        [encoded(header), encoded({"sub": "ilse"}), *(some(URL_SAFE, 43) for _ in range(parts - 2))]
    )


def block(kind: str, line_end: str = "\n", *, lines: int = 3) -> str:
    """A private-key block."""
    body = [some(BASE64, 64) for _ in range(lines)]
    return line_end.join([f"-----BEGIN {kind}-----", *body, some(BASE62, 9) + "=", f"-----END {kind}-----"])


def grafana() -> str:
    body = "gl" + "sa_" + some(BASE62, 32)
    return f"{body}_{crc32(body.encode()):08x}"


# Prefixes are in two parts, so that nobody takes these for secrets that leaked.
VALUES: Final[dict[str, Sequence[str]]] = {
    "PRIVATE_KEY": (
        block("PRIVATE" + " KEY"),
        block("ENCRYPTED PRIVATE" + " KEY", "\\n"),
        block("RSA PRIVATE" + " KEY", "\r\n"),
        block("PRIVATE" + " KEY", " "),
        block("PGP PRIVATE" + " KEY BLOCK"),
        block("EC PRIVATE" + " KEY").replace("\n", "\n> "),
        block("SSH2 PRIVATE" + " KEY")
        .replace("-----", "--" + "--")
        .replace("----BEGIN", "---- BEGIN")
        .replace("KEY----", "KEY ----")
        .replace("----END", "---- END"),
        block("RSA PRIVATE" + " KEY").replace(
            "\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A1B2\n\n", 1
        ),
        "Private" + "-Lines: 2\n" + some(BASE64, 64) + "\n" + some(BASE64, 40),
    ),
    "TELEGRAM_BOT_TOKEN": (
        "5712345" + "098:AA" + some(URL_SAFE, 33),
        "bot" + "7391846" + "205:AA" + some(URL_SAFE, 33),
    ),
    "AZURE_CLIENT_SECRET": ("a1B8" + "Q~" + some(URL_SAFE, 34),),
    "AZURE_DEVOPS_TOKEN": (some(BASE62, 76) + "AZ" + "DOq7Rb",),
    "AZURE_KEY": (some(BASE62, 76) + "+A" + "St" + some(BASE62, 6) + "==",),
    "TERRAFORM_TOKEN": (some(BASE62, 14) + ".atlas" + "v1." + some(URL_SAFE, 67),),
    "MAILCHIMP_KEY": (some(HEX, 32) + "-us" + "21",),
    "URL_CREDENTIALS": ("postgres" + "://app:h7!Kq2@", "redis" + "://:pw0rd@", "https" + "://ci:to@k:en@"),
    "JWT": (jwt({"alg": "HS256", "typ": "JWT"}), jwt({"alg": "dir", "enc": "A256GCM"}, 5)),
    "AWS_ACCESS_KEY": ("AK" + "IA" + some(UPPER + "234567", 16), "AS" + "IA" + some(UPPER + "234567", 16)),
    "AWS_BEDROCK_KEY": ("ABSK" + "QmVkcm9ja0FQSUtleS" + some(BASE62, 90),),
    "GOOGLE_API_KEY": ("AI" + "za" + some(URL_SAFE, 35), "AQ" + ".Ab" + some(URL_SAFE, 50)),
    "GOOGLE_OAUTH_SECRET": ("GOC" + "SPX-" + some(URL_SAFE, 28),),
    "GOOGLE_OAUTH_TOKEN": ("ya" + "29." + some(URL_SAFE, 120), "1/" + "/0" + some(URL_SAFE, 100)),
    "ALIBABA_ACCESS_KEY": ("LT" + "AI5t" + some(BASE62, 12) + "7a",),
    "TENCENT_SECRET_ID": ("AK" + "ID" + some(BASE62, 32),),
    "DIGITALOCEAN_TOKEN": ("dop" + "_v1_" + some(HEX, 64),),
    "CLOUDFLARE_TOKEN": ("cf" + "ut_" + some(BASE62, 48), f"v1.0-{some(HEX, 24)}-{some(HEX, 146)}"),
    "HEROKU_KEY": ("HR" + "KU-AA" + some(URL_SAFE, 58),),
    "VERCEL_TOKEN": ("vc" + "p_" + some(BASE62, 48) + "4",),
    "NETLIFY_TOKEN": ("nf" + "p_" + some(BASE62, 36),),
    "FLY_TOKEN": ("fo" + "1_" + some(URL_SAFE, 43), "fm" + "2_" + some(BASE64, 200)),
    "DATABRICKS_TOKEN": ("da" + "pi" + some(HEX, 32), "da" + "pi" + some(HEX, 32) + "-2"),
    "SUPABASE_KEY": ("sb" + "p_" + some(HEX, 40),),
    "PLANETSCALE_TOKEN": ("pscale" + "_tkn_" + some(URL_SAFE, 43),),
    "TAILSCALE_KEY": ("tskey" + "-auth-" + some(BASE62, 17) + "-" + some(BASE62, 30) + "b3",),
    "GITHUB_TOKEN": (
        *(checked(kind) for kind in ("gh" + "p_", "gh" + "o_", "gh" + "u_", "gh" + "s_", "gh" + "r_")),
        "github" + "_pat_" + some(BASE62, 22) + "_" + some(BASE62, 59),
        "gh" + "s_12345_" + jwt({"alg": "RS256"}),
    ),
    "GITLAB_TOKEN": (
        "gl" + "pat-" + some(URL_SAFE, 20),
        "gl" + "rt-" + some(URL_SAFE, 27) + ".01.0w" + some(HEX, 7),
        "GR1348" + "941" + some(URL_SAFE, 20),
    ),
    "ATLASSIAN_TOKEN": (
        "AT" + "ATT3xFfGF0" + some(URL_SAFE, 170) + "=1A2B3C4D",
        "AT" + "BB" + some(BASE62, 32),
    ),
    "NPM_TOKEN": (checked("np" + "m_"),),
    "PYPI_TOKEN": ("pypi-" + "AgEIcHlwaS5vcmc" + some(URL_SAFE, 130),),
    "RUBYGEMS_KEY": ("ruby" + "gems_" + some(HEX, 48),),
    "CRATES_IO_TOKEN": ("ci" + "o" + some(BASE62, 31) + "7",),
    "NUGET_KEY": ("oy" + "2" + some(LOWER + DIGITS, 42) + "x",),
    "DOCKER_TOKEN": ("dckr" + "_pat_" + some(URL_SAFE, 27),),
    "ARTIFACTORY_KEY": ("AK" + "Cp" + some(BASE62, 69),),
    "CIRCLECI_TOKEN": ("CCI" + "PAT_" + some(BASE62, 22) + "_" + some(HEX, 40),),
    "BUILDKITE_TOKEN": ("bk" + "ua_" + some(HEX, 40),),
    "SONAR_TOKEN": ("sq" + "p_" + some(HEX, 40),),
    "SOURCEGRAPH_TOKEN": ("sg" + "p_" + some(HEX, 16) + "_" + some(HEX, 40),),
    "POSTMAN_KEY": ("PM" + "AK-" + some(HEX, 24) + "-" + some(HEX, 34),),
    "PULUMI_TOKEN": ("pu" + "l-" + some(HEX, 40),),
    "PREFECT_KEY": ("pn" + "u_" + some(LOWER + DIGITS, 36),),
    "OPENAI_KEY": ("sk" + "-proj-" + some(URL_SAFE, 74) + "T3Blbk" + "FJ" + some(URL_SAFE, 74),),
    "ANTHROPIC_KEY": ("sk" + "-ant-api03-" + some(URL_SAFE, 93) + "AA",),
    "OPENROUTER_KEY": ("sk" + "-or-v1-" + some(HEX, 64),),
    "LANGFUSE_KEY": ("sk" + "-lf-" + uuid(),),
    "MODEL_API_KEY": (
        "sk" + "-" + some(HEX, 30) + "3b",
        "sk" + "-" + some(BASE62, 20) + "T3Blbk" + "FJ" + some(BASE62, 20),
    ),
    "HUGGINGFACE_TOKEN": ("hf" + "_" + some(UPPER + LOWER, 34),),
    "GROQ_KEY": ("gs" + "k_" + some(BASE62, 52),),
    "XAI_KEY": ("xa" + "i-" + some(BASE62, 80),),
    "PERPLEXITY_KEY": ("pp" + "lx-" + some(BASE62, 48),),
    "REPLICATE_TOKEN": ("r8" + "_" + some(BASE62, 37),),
    "CEREBRAS_KEY": ("cs" + "k-" + some(LOWER + DIGITS, 48),),
    "NVIDIA_KEY": ("nv" + "api-" + some(URL_SAFE, 64),),
    "PINECONE_KEY": ("pc" + "sk_" + some(BASE62, 6) + "_" + some(BASE62, 63),),
    "ELEVENLABS_KEY": ("sk" + "_" + some(HEX, 48),),
    "TAVILY_KEY": ("tv" + "ly-dev-" + some(BASE62, 32),),
    "LANGSMITH_KEY": ("lsv2" + "_pt_" + some(HEX, 32) + "_" + some(HEX, 10),),
    "SLACK_TOKEN": (
        "xo" + "xb-" + some(DIGITS, 12) + "-" + some(DIGITS, 13) + "-" + some(BASE62, 24),
        "xa" + "pp-1-A" + some(UPPER + DIGITS, 10) + "-" + some(DIGITS, 13) + "-" + some(HEX, 64),
    ),
    "SLACK_WEBHOOK": ("https://hooks.sl" + "ack.com/services/T024BE7LD3Q/B05RX91KZ/" + some(BASE62, 24),),
    "DISCORD_WEBHOOK": (
        "https://dis" + "cord.com/api/webhooks/" + some("123456789", 18) + "/" + some(URL_SAFE, 68),
    ),
    "DISCORD_BOT_TOKEN": (
        urlsafe_b64encode(("1" + some(DIGITS, 17)).encode()).decode()
        + "."
        + some(URL_SAFE, 6)
        + "."
        + some(URL_SAFE, 38),
    ),
    "STRIPE_KEY": ("sk" + "_live_" + some(BASE62, 24), "rk" + "_test_" + some(BASE62, 99)),
    "WEBHOOK_SECRET": ("wh" + "sec_" + some(BASE62, 32),),
    "SQUARE_TOKEN": ("sq" + "0atp-" + some(URL_SAFE, 22),),
    "EASYPOST_KEY": ("EZ" + "AK" + some(BASE62, 54),),
    "SHOPIFY_TOKEN": ("sh" + "pat_" + some(HEX, 32),),
    "SENDGRID_KEY": ("S" + "G." + some(URL_SAFE, 22) + "." + some(URL_SAFE, 43),),
    "TWILIO_KEY": ("S" + "K" + some(HEX, 32),),
    "MAILGUN_KEY": ("ke" + "y-" + some(HEX, 32),),
    "BREVO_KEY": ("xkey" + "sib-" + some(HEX, 64) + "-" + some(BASE62, 16),),
    "RESEND_KEY": ("re" + "_" + some(BASE62, 8) + "_" + some(BASE62, 24),),
    "VAULT_TOKEN": ("hv" + "s." + some(URL_SAFE, 90),),
    "DOPPLER_TOKEN": ("dp" + ".pt." + some(BASE62, 42) + "4", "dp" + ".st.dev_eu." + some(BASE62, 42) + "b"),
    "ONEPASSWORD_SECRET": (
        "ops" + "_" + encoded({"signInAddress": "example.org", "secret": some(BASE62, 200)}),
        "A" + "3-" + "-".join(some(UPPER + DIGITS, size) for size in (6, 6, 5, 5, 5, 5)),
    ),
    "AGE_KEY": ("AGE-SECRET" + "-KEY-1" + some("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),),
    "GRAFANA_TOKEN": (grafana(), "gl" + "c_" + some(BASE62, 90)),
    "SENTRY_TOKEN": ("sntr" + "yu_" + some(HEX, 64),),
    "NEW_RELIC_KEY": ("NR" + "AK-" + some(UPPER + DIGITS, 27),),
    "DYNATRACE_TOKEN": ("dt0" + "c01." + some(UPPER, 24) + "." + some(UPPER, 64),),
    "POSTHOG_KEY": ("ph" + "x_" + some(BASE62, 43),),
    "LINEAR_KEY": ("lin" + "_api_" + some(BASE62, 40),),
    "NOTION_TOKEN": (
        "nt" + "n_" + some(DIGITS, 11) + some(BASE62, 34) + "b",
        "secr" + "et_" + some(BASE62, 42) + "3",
    ),
    "FIGMA_TOKEN": ("fi" + "gd_" + some(URL_SAFE, 40),),
    "AIRTABLE_TOKEN": ("pa" + "t" + some(BASE62, 14) + "." + some(HEX, 64),),
    "HUBSPOT_TOKEN": ("pa" + "t-na1-" + uuid(),),
    "DROPBOX_TOKEN": ("s" + "l.B" + some(URL_SAFE, 135),),
}
CASES: Final = [
    pytest.param(label, value, id=f"{label} {number}")
    for label, values in VALUES.items()
    for number, value in enumerate(values, start=1)
]
CLASSIC: Final = [pytest.param("gh" + "p_", id="code host"), pytest.param("np" + "m_", id="package registry")]


def spans(text: str) -> Iterator[tuple[str, str]]:
    """Yield (label, matched text)."""
    scan, decided = PatternScan(JOINED, None), list[Span]()
    scan.feed(text, decided)
    scan.feed("", decided, last=True)
    return ((pattern.label, text[start:end]) for start, end, pattern in decided)


def found(text: str) -> list[tuple[str, str]]:
    return list(spans(text))


def test_preset_holds_codes_of_its_own() -> None:
    """The preset is found by its name, each label has the code of its kind and a value below."""
    assert PRESETS["secrets"] is SECRETS
    assert all(pattern.code == f"secrets.{pattern.label.lower()}" for pattern in SECRETS)
    assert {pattern.label for pattern in SECRETS} == set(VALUES)


@pytest.mark.parametrize("pattern", SECRETS, ids=lambda pattern: pattern.label)
def test_constructs(pattern: Pattern) -> None:
    """Every repeat is bounded and greedy, and patterns begin alike, which is what keeps the table fast."""
    without_classes = regex.sub(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]", "x", pattern.pattern)
    assert not regex.search(r"[*+]|\{[0-9]*,\}|[?}]\?", without_classes)
    assert pattern.pattern.startswith(START)
    assert pattern.max_length is None


@pytest.mark.parametrize(("label", "value"), CASES)
def test_found_wherever_it_stands(label: str, value: str) -> None:
    """It is found exactly, alone, in prose, in quotes, in JSON and code, in Markdown and behind Chinese."""
    host = "db.example.org/app" if label == "URL_CREDENTIALS" else ""
    around = (
        ("", ""),
        ("Use ", " for that."),
        ("It is ", ". Keep it."),
        ("key: '", "', "),
        ('{"key": "', '"}'),
        ("export KEY=", "\nnext = 1"),
        ("`", "`"),
        ("密钥是", "。"),
        ("[", "]("),
        ("😀", "😀"),
    )
    for before, behind in around:
        assert found(f"{before}{value}{host}{behind}") == [(label, value)], (before, behind)


@pytest.mark.parametrize(("label", "value"), CASES)
def test_not_found_within_a_word_or_cut_off(label: str, value: str) -> None:
    """Behind a letter it is part of something else; its beginning is not enough."""
    if label not in ("PRIVATE_KEY", "URL_CREDENTIALS", "AZURE_DEVOPS_TOKEN", "AZURE_KEY"):
        assert (label, value) not in found(f"x{value}")
        assert found(f"see {value[: min(22, len(value) // 3)]} ok") == []


@pytest.mark.parametrize(("label", "value"), CASES)
def test_disguised(label: str, value: str) -> None:
    """Wide characters and invisible ones between do not hide it, and no cutting leaks it."""
    host = "db.example.org" if label == "URL_CREDENTIALS" else ""
    wide = "".join(chr(ord(char) + 0xFEE0) if char.isalnum() else char for char in value)
    processor = Regex(presets=["secrets"])
    for disguised in (wide, "\u200b".join(value)) if "\n" not in value and "\\" not in value else ():
        text = f"so {disguised}{host} it is"
        whole = guard([text], processor).result
        assert [finding.label for finding in whole.findings] == [label]
        assert whole.text == f"so [{label}]{host} it is"
    for pieces in some_cuttings(f"so {value}{host} it is"):
        assert guard(pieces, processor).result.text == f"so [{label}]{host} it is"


@pytest.mark.parametrize("prefix", CLASSIC)
def test_checksum(prefix: str) -> None:
    """A token of the classic form is one only with its checksum."""
    token = checked(prefix)
    assert len(found(token)) == 1
    for place in (6, 20, 36, 39):
        other = "A" if token[place] != "A" else "B"
        assert found(token[:place] + other + token[place + 1 :]) == []


def test_checksum_of_a_service_account() -> None:
    """So with Grafana's."""
    token = grafana()
    other = "0" if token[-1] != "0" else "1"
    assert found(token[:-1] + other) == []


@pytest.mark.parametrize(
    "header",
    [
        pytest.param({"typ": "JWT"}, id="no algorithm"),
        pytest.param(["alg"], id="a list"),
        pytest.param({"k": some(BASE62, 30), "n": "viewer"}, id="another thing"),
    ],
)
def test_no_web_token(header: object) -> None:
    """Base64 of JSON with dots is no token unless its first part names an algorithm."""
    assert found(f"{encoded(header)}.{encoded({'sub': 'ilse'})}.{some(URL_SAFE, 43)}") == []


def test_web_tokens_of_odd_forms() -> None:
    """An unsigned one ends with its dot; a cut-off one, or one whose header is broken, is none."""
    unsigned = f"{encoded({'alg': 'none'})}.{encoded({'sub': 'ilse'})}."
    assert found(f"token {unsigned} ok") == [("JWT", unsigned)]
    assert found(f"{encoded({'alg': 'HS256'})}.{encoded({'sub': 'ilse'})}") == []
    assert found("ey" + "Jhb.GciOi.JIUzI1NiJ9" + ".x" * 20) == []


@pytest.mark.parametrize("lines", [1, 2, 9])
def test_key_block_without_its_end(lines: int) -> None:
    """A block that breaks off is found to the end of its lines, whatever follows."""
    whole = block("RSA PRIVATE" + " KEY", lines=lines)
    body = whole.rpartition("\n-----END")[0]
    assert found(body) == [("PRIVATE_KEY", body)]
    long_lines = body.rpartition("\n")[0]
    assert found(f"{long_lines}\n\nThat is the key.") == [("PRIVATE_KEY", long_lines)]
    assert found(f"{long_lines}\n...") == [("PRIVATE_KEY", long_lines)]


ESCAPES: Final = (
    *("\\n", "\\t", "k\\u003d", "\\x20", "token%3D", "%22", "%253D", "\\u5bc6"),
    *("\x1b[31m", "\x1b[38;5;196m", "\x1b[m", "\\x1b[31m", "\\033[1;31m", "\\u001b[0m"),
)


@pytest.mark.parametrize("escape", ESCAPES)
def test_behind_an_escape(escape: str) -> None:
    """The letter or digit at the end of an escape is not part of the word behind it."""
    for label, value in (
        ("GITHUB_TOKEN", checked("gh" + "p_")),
        ("AWS_ACCESS_KEY", "AK" + "IAQ7" + some(UPPER + "234567", 14)),
        ("PRIVATE_KEY", block("PRIVATE" + " KEY", "\\n")),
        ("JWT", jwt({"alg": "HS256"})),
    ):
        assert found(f"x{escape}{value} ok") == [(label, value)]
        for pieces in some_cuttings(f"x{escape}{value} ok"):
            assert guard(pieces, Regex(presets=["secrets"])).result.text == f"x{escape}[{label}] ok"


BODY: Final = block("RSA PRIVATE" + " KEY", lines=6)
WRAPPED: Final = {
    "doubly escaped": BODY.replace("\n", "\\\\n"),
    "code point": BODY.replace("\n", "\\u000a"),
    "HTML": BODY.replace("\n", "<br>"),
    "HTML and a line break": BODY.replace("\n", "<br />\n"),
    "indented": BODY.replace("\n", "\n" + " " * 40),
    "removed": BODY.replace("\n", "\n-"),
    "added": BODY.replace("\n", "\n+"),
    "in a comment": BODY.replace("\n", "\n * "),
    "single quotes": BODY.replace("\n", "\\n' +\n    '"),
    "double quotes": BODY.replace("\n", '\\n" + "'),
    "goes on": BODY.replace("\n", "\\\n"),
    "escaped slashes": BODY.replace("/", "\\/").replace("\n", "\\n"),
}


@pytest.mark.parametrize("value", WRAPPED.values(), ids=WRAPPED)
def test_key_block_in_a_wrapping(value: str) -> None:
    """A block is found in code, diffs and markup, and no cutting leaks it."""
    assert found(f"see {value} ok") == [("PRIVATE_KEY", value)]
    for pieces in some_cuttings(f"see {value} ok"):
        assert guard(pieces, Regex(presets=["secrets"])).result.text == "see [PRIVATE_KEY] ok"


UNENDING: Final = {
    "lines": "\n" + "q7Rb2LxW" * 8,
    "quotes and plus": '" + \n' + "q7Rb+LxW" * 8,
    "plus": "\n" + "+" * 40,
    "dashes": "\n-" + "q7Rb2LxW" * 3,
    "slashes": "\\n" + "\\/" * 20,
    "backslashes": "\\\\n" + "nnnnrrrr" * 3,
}


@pytest.mark.parametrize("unit", UNENDING.values(), ids=UNENDING)
def test_key_block_that_never_ends(unit: str) -> None:
    """What might be gap or base64 is read in one way: twice the lines take about twice as long."""

    def seconds(lines: int) -> float:
        text = "-----BEGIN PRIVATE" + " KEY-----" + unit * lines
        scan, decided, begun = PatternScan(JOINED, None), list[Span](), process_time()
        for at in range(0, len(text), 16):
            scan.feed(text[at : at + 16], decided)
        scan.feed("", decided, last=True)
        return process_time() - begun

    assert min(seconds(200) for _ in range(3)) < 6 * min(seconds(100) for _ in range(3)) + 0.05


GLUED: Final = {
    "model key": "sk" + "-proj-" + some(BASE62, 120) + "_example",
    "another": "sk" + "-ant-api03-" + some(BASE62, 85) + "-AA_example",
    "vault": "hv" + "s." + some(BASE62, 90) + "_redacted",
    "code host": "gl" + "pat-" + some(BASE62, 20) + "_example",
    "series in hexadecimal": "da" + "pi" + "7c1e09b4" + "12345678" + "f03ad5c29e61b874",
    "series in numbers": "xo" + "xb-2345678901-3456789012345-" + some(BASE62, 24),
}


@pytest.mark.parametrize("value", GLUED.values(), ids=GLUED)
def test_a_filler_does_not_hide_a_key(value: str) -> None:
    """A key with a placeholder's word at its end, or a series in it by accident, is a key."""
    assert [match for _, match in found(f"key {value} ok")] == [value]


@pytest.mark.parametrize("behind", ["/api", "_", "=", "_x", "=="])
def test_something_glued_to_a_service_account(behind: str) -> None:
    """Its checksum is where it is, whatever follows."""
    token = grafana()
    assert found(f"{token}{behind}") == [("GRAFANA_TOKEN", token)]


def test_a_web_token_behind_a_low_line() -> None:
    """It is found, and a text full of its beginnings is no trap."""
    token = jwt({"alg": "HS256"})
    assert found(f"token_{token} ok") == [("JWT", token)]
    scan, begun = PatternScan(JOINED, None), process_time()
    for _ in range(3000):
        scan.feed("_eyJ", [])
    assert process_time() - begun < 3


def test_nothing_is_held_for_a_mere_mention() -> None:
    """A text about key blocks is neither found nor held."""
    begin = "-----BEGIN PRIVATE" + " KEY-----"
    for text in (
        f"The line {begin} opens a block, then come lines.",
        f"{begin}\nYOUR_KEY_HERE\n-----END PRIVATE" + " KEY-----",
        f"{begin}\nMIIEvQ...\n",
        f"{begin}\n" + "x" * 64,
        "-----BEGIN CERTIFICATE-----\n" + some(BASE64, 64),
        "-----BEGIN PUBLIC KEY-----\n" + some(BASE64, 64),
    ):
        assert found(text) == []
        scan = PatternScan(JOINED, None)
        scan.feed(f"{begin} opens a block. Then", [])
        assert scan.settled > len(begin)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("mongodb+srv://reader:⟦⟧", id="nothing"),
        pytest.param("postgres://user:password@localhost/db", id="the word"),
        pytest.param("postgres://user:${DB_PASSWORD}@localhost/db", id="a variable"),
        pytest.param("postgres://user:$DB_PASSWORD@host, redis://:{password}@host", id="variables"),
        pytest.param("mongodb://<user>:<password>@cluster.example.net/test", id="in angle brackets"),
        pytest.param("http://user:****@host, http://user:xxx@host, http://u:...@host", id="masked"),
        pytest.param("http://localhost:8080/@scope, http://host:80?mail=a@b.org", id="a port"),
        pytest.param("https://user@example.org, ssh://git@example.org:22/x", id="no password"),
        pytest.param("postgres://user:secret@", id="no host"),
        pytest.param("postgres://u:your-password@h, ftp://u:YOUR_DB_PASSWORD_HERE@h", id="told what to put"),
        pytest.param("postgres://u:{{password}}@h, ftp://u:$(cat)@h, ftp://u:[password]@h", id="templates"),
    ],
)
def test_no_credentials(text: str) -> None:
    """What stands in place of a password is none, and neither is a port."""
    assert found(text) == []


@pytest.mark.parametrize("password", ["yourM0therS3cret", "{x7}q{Kb2}", "[a]9[b]", "$(q)R7$(x)", "{a}b"])
def test_credentials_like_placeholders(password: str) -> None:
    """A password that only begins like a placeholder, or has brackets, is one."""
    value = f"postgres://u:{password}@"
    assert found(f"{value}h/db") == [("URL_CREDENTIALS", value)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("AKIA" + "IOSFODNN7EXAMPLE", id="documentation"),
        pytest.param("AKIA" + "X" * 16, id="one letter"),
        pytest.param(
            "sk" + "-" + "x" * 48 + ", sk" + "-proj-" + "x" * 60 + ", sk" + "-...", id="crossed out"
        ),
        pytest.param("sk" + "-1234567890abcdef1234567890abcdef", id="in order"),
        pytest.param("gh" + "p_" + "x" * 36 + " gh" + "p_" + "0" * 36, id="filled up"),
        pytest.param("xo" + "xb-your-bot-token-goes-right-here", id="told what to put"),
        pytest.param("https://hooks.slack.com/services/T00000000/B00000000/" + "X" * 24, id="webhook"),
        pytest.param("gl" + "pat-your-personal-access-token", id="words"),
        pytest.param("sk" + "-" + "*" * 20 + "gN5v", id="masked"),
        pytest.param(
            "sk" + "-proj-your-api-key-here-abc123def456ghi789jkl012mno345", id="told what to put in a row"
        ),
        pytest.param("xo" + "xb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx", id="in order twice"),
        pytest.param("sk" + "-proj-" + "abcdefghijklmnopqrstuvwxyz1234567890" * 2, id="alphabet"),
        pytest.param("hf" + "_... r8" + "_... sk" + "-ant-...", id="dots"),
    ],
)
def test_placeholders_are_none(text: str) -> None:
    """What somebody typed in place of a key stays."""
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(some(HEX, 40) + " " + some(HEX, 64), id="commits and checksums"),
        pytest.param(uuid() + " request_id=" + uuid(), id="identifiers"),
        pytest.param('"integrity": "sha512-' + some(BASE64, 86) + '=="', id="lock file"),
        pytest.param("data:image/png;base64,iVBORw0KGgo" + some(BASE64, 400), id="image"),
        pytest.param(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + some(BASE64, 43) + " build@host", id="public key"
        ),
        pytest.param("pk" + "_live_" + some(BASE62, 24), id="meant to be public"),
        pytest.param("skip-navigation-menu task-" + some(HEX, 32) + " risk-" + some(HEX, 40), id="words"),
        pytest.param("_ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEC1ERKS5_", id="symbol"),
        pytest.param("secret_manager_client_connection_pool_timeout_in_seconds_value", id="name in code"),
        pytest.param("npm_config_registry npm_package_dependencies_typescript_version_x", id="environment"),
        pytest.param(
            "SG.Example.Long.Name.Of.A.Class.In.Some.Namespace.That.Is.Quite.Long.Really", id="class"
        ),
        pytest.param(
            "arn:aws:iam::467406282191:role/service-role/data-pipeline-gctxwzs062j5", id="name in a cloud"
        ),
        pytest.param("v1.0-rc1 v1.0-0a1b2c3d key-value pat-a-cake re_match_all sl.Bool", id="short"),
        pytest.param("TODAYINASIAASACKOFRICEFELLOVER", id="capitals"),
    ],
)
def test_look_alikes(text: str) -> None:
    """Hashes, identifiers, images, public keys and long names stay."""
    assert found(text) == []
    assert found(f"prefix {text}.") == []


def test_storage_keys_are_found_in_connection_strings() -> None:
    """Behind their name in a connection string, keys need no signature; the name stays."""
    account, bus = some(BASE64, 86) + "==", some(BASE64, 43) + "="
    assert found(f"AccountName=a;AccountKey={account};EndpointSuffix=x") == [("AZURE_KEY", account)]
    assert found(f"Endpoint=sb://a/;SharedAccessKey={bus}") == [("AZURE_KEY", bus)]


def test_a_token_as_the_password_of_a_url() -> None:
    """It goes with the URL's credentials; the host stays."""
    token = checked("gh" + "p_")
    assert found(f"git clone https://ci:{token}@example.org/x.git") == [
        ("URL_CREDENTIALS", f"https://ci:{token}@")
    ]
    assert found(f"git clone https://{token}@example.org/x.git") == [("GITHUB_TOKEN", token)]
