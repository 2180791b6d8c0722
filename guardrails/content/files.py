"""Files within chunks: their media types, and the text that their bytes are."""

import base64
import codecs
import re
from collections.abc import Mapping
from typing import Any, Final

FILE_KEYS: Final = frozenset({"data", "base64", "base64Data", "blob"})
"""Keys under which the content of a file stands."""

MEDIA_KEYS: Final = ("mimeType", "mediaType", "media_type", "contentType")
"""Keys beside them that say what it is."""

BINARY_MEDIA: Final = re.compile(
    r"(?:image/(?!svg)|audio/|video/|font/|application/(?:pdf|zip|gzip|wasm|vnd\.(?!.*(?:json|xml))))",
    re.IGNORECASE,
)
"""Media types of what is no text."""

_TEXT_MEDIA: Final = re.compile(r"text/|[^;]*(?:json|xml|csv|yaml|javascript)", re.IGNORECASE)

SHORT_FILE: Final = 200
"""Characters below which what is said to be a picture is looked at as text, as is what has spaces in it."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")

DATA_URI: Final = re.compile(r"data:([\w.+/-]*)(?:;[\w.+=-]*)*;base64,", re.IGNORECASE)
"""The beginning of a file that is written as an address."""


def bytes_of(data: Any) -> bytes | None:
    """The bytes that a base64 text or the object of a byte array stands for; None if it stands for none."""
    try:
        if isinstance(data, str):
            plain = "".join(data.split()).replace("+", "-").replace("/", "_")
            return (
                base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
                if _BASE64.fullmatch(plain)
                else None
            )
        if isinstance(data, dict) and data.keys() == {str(at) for at in range(len(data))}:
            return bytes(data[str(at)] for at in range(len(data)))
    except (TypeError, ValueError):
        return None
    return data if isinstance(data, bytes) else None


def text_of(raw: bytes, media: str) -> tuple[str, str]:
    """The text that bytes are, and its encoding; empty if they are none."""
    marked = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    last = ("latin-1",) if _TEXT_MEDIA.match(media) else ()
    for encoding in (*(("utf-16",) if marked else ()), "utf-8", *last):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return "", "utf-8"


def written_like(data: Any, text: str, encoding: str) -> Any:
    """A text as a file of the form that `data` has: base64, a byte array or bytes."""
    raw = text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass")
    if isinstance(data, bytes):
        return raw
    if isinstance(data, Mapping):
        return {str(at): byte for at, byte in enumerate(raw)}
    return base64.b64encode(raw).decode("ascii")
