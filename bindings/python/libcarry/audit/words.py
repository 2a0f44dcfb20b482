# SPDX-License-Identifier: MIT
"""The words for the page and the text of an audit: the words of `carry check`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeVar

from .. import _carry

# For each status, the words for one capture and for several. They follow the number of captures.
STATUS_WORDS = {
    "wrong": ("has wrong checksums", "with wrong checksums"),
    "damaged": ("damaged", "damaged"),
    "failed": ("could not be read", "could not be read"),
    "changed": ("changed while it was read", "changed while they were read"),
    "limit": ("unpacks to too much", "unpack to too much"),
    "not_capture": ("not a capture", "not captures"),
    "unchecked": ("nothing was checked", "in which nothing was checked"),
    "clean": ("clean", "clean"),
}
# The statuses whose numbers are part of the outcome of all captures.
REMAINDERS = ("unchecked", "damaged", "failed", "changed", "limit", "not_capture")
WRONG = ("bad", "illegal")

T = TypeVar("T")

CAUSE_MANY = dict(zip(_carry.CAUSES, _carry.CAUSE_MANY, strict=True))
CAUSE_WORDS = dict(zip(_carry.CAUSES, _carry.CAUSE_WORDS, strict=True))
CAUSE_ADVICE = dict(zip(_carry.CAUSES, _carry.CAUSE_ADVICE, strict=True))
REASON_WORDS = dict(zip(_carry.REASONS, _carry.REASON_WORDS, strict=True))

NAME_MAX = 400
# Replaces omitted text: a noncharacter of Unicode. If a name contains it, without_secrets()
# replaces it.
LEFT_OUT = "\ufdd0"

_USER = re.compile(r"(?<=://)[^/?#]*@")
_SECRET = re.compile(
    r"(?i)(?<=[?&;])([^=&;#]*(?:sig|signature|token|credential|password|secret|key|keyid)=)[^&;#]+"
)


def plural(number: int) -> str:
    return "" if number == 1 else "s"


def counted(number: int, what: str) -> str:
    """Returns text such as "2,000 captures"."""
    return f"{number:,} {what}{plural(number)}"


def size(number: int) -> str:
    """Returns text such as "1.5 kB", in steps of 1,000."""
    if number < 1000:
        return counted(number, "byte")
    scaled, units = number / 1000, ["kB", "MB", "GB", "TB", "PB", "EB"]
    while scaled >= 999.5 and len(units) > 1:
        scaled /= 1000
        del units[0]
    return f"{scaled:.1f} {units[0]}" if scaled < 99.95 else f"{scaled:.0f} {units[0]}"


def percent(share: float | None) -> str:
    """Returns text such as "0.25 %". Shows only a share of 0 as 0 %, and only the whole as
    100 %."""
    if not share:
        return "-" if share is None else "0 %"
    if 0 < share < 0.0001:
        return "< 0.01 %"
    if 0.9999 < share < 1:
        return "> 99.99 %"
    return "100 %" if share == 1 else f"{share:.2%}".replace("%", " %")


def joined(parts: Sequence[str]) -> str:
    """Returns text such as "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def ranked(counts: Counter[T]) -> list[tuple[T, int]]:
    """Returns the items in order of frequency, the most frequent first, and then by name, so that
    the order of rows has no effect."""
    return sorted(counts.items(), key=lambda each: (-each[1], str(each[0])))


# --- Outcome ---


def outcome_class(verdicts: Counter[str]) -> str:
    """Returns the class of styles for the outcome: "good", "bad" or "partial"."""
    if any(verdicts[verdict] for verdict in WRONG):
        return "bad"
    return "good" if verdicts["good"] or verdicts["partial"] else "partial"


def outcome(verdicts: Counter[str], packets: int) -> str:
    """Returns the outcome of one capture, or of many."""
    kind = outcome_class(verdicts)
    if kind == "bad":
        wrong = {verdict: verdicts[verdict] for verdict in WRONG if verdicts[verdict]}
        parts = [f"{number:,} {verdict}" for verdict, number in wrong.items()]
        return f"{joined(parts)} checksum{plural(sum(wrong.values()))}"
    if kind == "good":
        text = "clean"
        if verdicts["partial"]:
            text += f", {verdicts['partial']:,} left to transmit offload"
        if verdicts["unverifiable"]:
            text += f", {verdicts['unverifiable']:,} could not be verified"
        return text
    return f"nothing was checked: {_why_unchecked(verdicts, packets)}"


def _why_unchecked(verdicts: Counter[str], packets: int) -> str:
    if not packets:
        return "no packets"
    if verdicts["unverifiable"]:
        return "no checksum could be verified"
    return "no checksum was sent" if verdicts["absent"] else "no packet has a known checksum"


def remainders(statuses: Mapping[str, int]) -> Iterator[str]:
    """Yields text such as "2 damaged": further outcomes of captures."""
    for status in REMAINDERS:
        if number := statuses.get(status, 0):
            one, many = STATUS_WORDS[status]
            yield f"{number:,} {one if number == 1 and status != 'unchecked' else many}"


def cause_words(cause: str, number: int) -> str:
    """Returns text such as "hold 0: never filled in, or computed twice" for use after a number."""
    return (number != 1 and CAUSE_MANY.get(cause)) or CAUSE_WORDS.get(cause) or cause


# --- Names ---


def without_secrets(name: str) -> str:
    """Returns a name in which LEFT_OUT replaces the user, the password and the signatures of
    URLs."""
    name = name.replace(LEFT_OUT, "\ufffd")
    if "://" not in name:
        return name
    return _SECRET.sub(rf"\1{LEFT_OUT}", _USER.sub(f"{LEFT_OUT}@", name))


def public(name: str) -> str:
    """Returns the name with a visible sign in place of each secret."""
    return without_secrets(name).replace(LEFT_OUT, "…")


def _is_plain(character: str) -> bool:
    """Checks that a character is neither a control character nor an unusual blank, and neither
    reorders nor hides text."""
    category = unicodedata.category(character)
    return category[0] not in "CZ" or character == " "


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def pieces(shown: str) -> Iterator[tuple[str, bool]]:
    """Yields the parts of a name without secrets, and whether each part is an escape such as \\x1b:
    callers must mark escapes, since a name may contain such text itself. Omits the middle of a long
    name."""
    if len(shown) > NAME_MAX:
        shown = shown[: NAME_MAX // 2] + LEFT_OUT + shown[-NAME_MAX // 2 :]
    for is_plain, run in groupby(shown, _is_plain):
        if is_plain:
            yield "".join(run), False
        else:
            yield "".join("…" if each == LEFT_OUT else _escape(each) for each in run), True


def plain(name: str) -> str:
    """Returns a name for a terminal. If a part must be escaped, the name is in quotes, and its
    backslashes are doubled."""
    parts = [*pieces(without_secrets(name))]
    if not any(escaped for _, escaped in parts):
        return name
    return '"' + "".join(t if escaped else t.replace("\\", "\\\\") for t, escaped in parts) + '"'


# --- SQL ---


def sql_text(text: str) -> str:
    """Returns a string of SQL; invisible characters are written as numbers."""
    parts: list[str] = []
    for character in text:
        quoted = "''" if character == "'" else character
        if not _is_plain(character):
            parts.append(f"chr({ord(character)})")
        elif parts and parts[-1].startswith("'"):
            parts[-1] = f"{parts[-1][:-1]}{quoted}'"
        else:
            parts.append(f"'{quoted}'")
    return " || ".join(parts) or "''"


def sql_is(column: str, name: str) -> str:
    """Returns the SQL condition that a column is `name`. The condition ignores differences in
    secrets."""
    shown = without_secrets(name)
    if shown == name:
        return f"{column} = {sql_text(name)}"
    pattern = re.sub(r"[%_\\]", r"\\\g<0>", shown).replace(LEFT_OUT, "%")
    return f"{column} like {sql_text(pattern)} escape '\\'"


def sql_from(destination: str, table: str) -> str:
    """Returns the DuckDB expression that reads a table."""
    path = f"{public(destination).rstrip('/')}/{table}/**/*.parquet"
    return f"read_parquet({sql_text(path)})"
