"""What can be told of a candidate for a key from the candidate alone: a checksum, or that it is none.

Each function returns how many leading characters are the key, 0 for none.
"""

import json
from base64 import urlsafe_b64decode
from itertools import pairwise
from typing import Final
from zlib import crc32

import regex

_FEW: Final = 5
"""As many different characters as a placeholder has; of random keys, a few in a million of the shortest."""

_FILLER: Final = regex.compile(
    r"(.)\1{7,}|(?i:example|placeholder|change_?me|redacted|your[_\-])"
    r"|(?i:01234567|12345678|23456789|34567890|abcdefgh|hijklmno|qrstuvwx)"
)
_WORD: Final = regex.compile(r"(?<![A-Za-z0-9])(?:[A-Z]?[a-z]+|[A-Z]+|[0-9]+)(?![A-Za-z0-9])")
_LEAST_RANDOM: Final = 16
"""Characters of a key that a filler has been glued to, or that has one by accident."""
_BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CLASSIC: Final = 40
"""Characters of a token of GitHub's or npm's classic form: four of prefix, 30 random, six of checksum."""
_GRAFANA_SIGNED: Final = 37
_GRAFANA_WHOLE: Final = 46
"""Characters of a service account token: prefix and 32 random; a low line and eight of checksum more."""
_LINE: Final = regex.compile(r"[A-Za-z0-9+/]{16,}")
_NO_PASSWORD: Final = regex.compile(
    r"(?i:pass|passwd|password|pwd|changeme|x{2,}|\*+|\.{2,}"
    r"|your[_\-]?(?:[a-z]+[_\-])*(?:password|passwd|pass|pwd|secret|key|token)(?:[_\-]?here)?)"
    r"|\$[A-Z_][A-Z0-9_]*|\$?\{\{?[^{}]*\}?\}|\$\([^()]*\)|%[A-Z_]*%|%s|\[[^\[\]]*\]"
)


def unless_placeholder(candidate: str) -> int:
    """Return the length without a full stop behind it, or 0 for what somebody typed in place of a key."""
    token = candidate.rstrip(".")
    varied = token[len(token) // 3 :]  # behind the prefix
    if len(set(varied)) <= _FEW:
        return 0
    return len(token) if not _FILLER.search(token) or _is_random_besides(token) else 0


def _is_random_besides(token: str) -> bool:
    """Tell whether a token with a filler has a key in it: without fillers, words and series much is left."""
    rest = _WORD.sub("", _FILLER.sub("", token[4:]))  # every prefix has four characters
    jumps = [char for before, char in pairwise(f" {rest.lower()}") if ord(char) != ord(before) + 1]
    left = [char for char in jumps if char.isalnum()]
    mixed = any(map(str.isdigit, left)) and any(map(str.isalpha, left))
    return mixed and len(left) >= _LEAST_RANDOM and len(set(left)) > _FEW + 2


def if_mixed(candidate: str) -> int:
    """Return the same, or 0 if the last part has no letters or no digits; for prefixes that words have."""
    last = regex.split(r"[_.\-]", candidate.rstrip("."))[-1]
    mixed = any(map(str.isdigit, last)) and any(map(str.isalpha, last))
    return unless_placeholder(candidate) if mixed else 0


def classic_token_length(candidate: str) -> int:
    """Return the whole length of a token whose checksum fits: CRC-32 in six digits of base 62.

    Tokens of another length have no checksum that is known.
    """
    if len(candidate) != _CLASSIC:
        return unless_placeholder(candidate)
    random, check = candidate[4:-6], candidate[-6:]
    number, digits = crc32(random.encode()), ""
    for _ in check:
        number, digit = divmod(number, len(_BASE62))
        digits = _BASE62[digit] + digits
    return len(candidate) if digits == check else 0


def grafana_token_length(candidate: str) -> int:
    """Return the length of a service account token if its checksum fits: CRC-32 of what is before."""
    if not candidate.startswith("glsa_"):
        return unless_placeholder(candidate)
    signed, check = candidate[:_GRAFANA_SIGNED], candidate[_GRAFANA_SIGNED:_GRAFANA_WHOLE]
    return _GRAFANA_WHOLE if check == f"_{crc32(signed.encode()):08x}" else 0


def jwt_length(candidate: str) -> int:
    """Return how many leading characters are a token whose header is JSON and names an algorithm.

    It has three parts (RFC 7515), or five if it names an algorithm for the content, too (RFC 7516).
    """
    parts = candidate.split(".")
    try:
        header = json.loads(_decoded(parts[0]))
    except (ValueError, RecursionError):
        return 0
    if not isinstance(header, dict) or "alg" not in header:
        return 0
    count, content = (5, 3) if "enc" in header else (3, 1)
    if len(parts) < count or not parts[content]:
        return 0
    return len(".".join(parts[:count]))


def discord_token_length(candidate: str) -> int:
    """Return the length of a token of three parts, the first of them the number of an account."""
    token = candidate.rstrip(".")
    account, *others = token.split(".")
    try:
        known = _decoded(account).isdigit()
    except ValueError:
        return 0
    return len(token) if known and len(others) == 2 else 0  # noqa: PLR2004


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def key_block_length(candidate: str) -> int:
    """Return the whole length of a block whose longest line is no placeholder."""
    longest = max(_LINE.findall(candidate.replace("\\/", "/")), key=len, default="")
    return len(candidate) if len(set(longest)) > _FEW else 0


def credentials_length(candidate: str) -> int:
    """Return the whole length unless the password is a variable or only the word for one."""
    password = candidate[:-1].split(":", 2)[2]
    return 0 if _NO_PASSWORD.fullmatch(password) else len(candidate)
