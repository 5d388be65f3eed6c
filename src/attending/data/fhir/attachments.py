"""Attachments that hold text: plain or HTML, inline, in base64. Nothing is fetched."""

import base64
import binascii
import codecs
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attending.data.fhir.bounds import Bounds
from attending.data.fhir.markup import text_of_html
from attending.data.fhir.parts import Part

_PLAIN = frozenset({"text/plain", "text/markdown", "text/x-markdown"})
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_KIND = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}/[a-z0-9][a-z0-9.+-]{0,80}")
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_ENCODING = re.compile(
    r"utf-(8|16|16-le|16-be)|ascii|iso8859-\d+|cp125\d|koi8-[ru]|mac-roman|"
    r"gb2312|gbk|gb18030|big5|shift_jis|cp932|euc_(jp|kr)|iso2022_jp"
)
# These names stand for Windows-1252 in practice: WHATWG Encoding Standard, section 4.2.
_WINDOWS = frozenset({"ascii", "iso8859-1"})
_SPACE = re.compile(r"\s+")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def media_type(attachment: Mapping[str, Any]) -> str:
    """Return the media type in lower case without parameters; ``no-type`` or ``odd-type``."""
    declared = attachment.get("contentType")
    if declared is None:
        return "no-type"
    kind = declared.partition(";")[0].strip().lower() if isinstance(declared, str) else ""
    return kind if _KIND.fullmatch(kind) else "odd-type"


def is_text(attachment: Mapping[str, Any]) -> bool:
    """Say whether an attachment is of a kind that can be read."""
    return media_type(attachment) in _PLAIN | _HTML


def read_attachment(attachment: Any, bounds: Bounds) -> Part:
    """Return the text of an attachment, or the flag that says why there is none."""
    if not isinstance(attachment, Mapping):
        return Part(flag="content_missing")
    kind = media_type(attachment)
    data = attachment.get("data")
    if data is None:
        return Part(flag="attachment_not_fetched" if attachment.get("url") else "attachment_empty")
    if not is_text(attachment):
        return Part(flag=f"attachment_skipped:{kind}")
    if not isinstance(data, str):
        return Part(flag="attachment_broken")
    # Four characters hold three bytes; an eighth more leaves room for white space among them.
    if len(data) > bounds.attachment * 3 // 2 + 4:
        return Part(flag="attachment_too_large")
    try:
        content = base64.b64decode(_SPACE.sub("", data), validate=True)
    except (binascii.Error, ValueError):
        return Part(flag="attachment_broken")
    if len(content) > bounds.attachment:
        return Part(flag="attachment_too_large")
    text = _characters(content, attachment.get("contentType"), kind in _HTML)
    if text is None:
        return Part(flag="attachment_broken")
    if kind in _PLAIN:
        return Part(text)
    seen, whole = text_of_html(text)
    return Part(seen, None if whole else "markup_not_closed")


def _characters(content: bytes, declared: Any, html: bool) -> str | None:
    """Decode by mark, by the declared charset, by the page's own word for it, else as UTF-8."""
    found = _CHARSET.search(declared) if isinstance(declared, str) else None
    name = found.group(1) if found else "utf-8"
    meta = _META.search(content[:2048]) if html and not found else None
    if meta:
        name = _of_meta(meta.group(1).decode("ascii"))
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            name = encoding
    try:
        name = codecs.lookup(name).name
        if not _ENCODING.fullmatch(name):
            return None
        if name in _WINDOWS:
            with suppress(UnicodeError):
                return content.decode("cp1252")
        return content.decode(name).removeprefix("\ufeff")
    except (LookupError, UnicodeError):
        return None


def _of_meta(name: str) -> str:
    """Return the encoding that a page says it has.

    A page whose ``meta`` could be read byte by byte is not in UTF-16, whatever it says.
    Source: HTML Living Standard, section 13.2.3.2 (prescan a byte stream).
    """
    with suppress(LookupError):
        if codecs.lookup(name).name.startswith("utf-16"):
            return "utf-8"
    return name
