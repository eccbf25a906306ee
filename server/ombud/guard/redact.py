"""What may be shown: secrets become ``«redacted»``, and text of servers loses what only a terminal would obey (C9).

``redact`` is for every sink (logs, errors, ``status``); ``clean`` is for text of other programs that a person or an
agent reads. The rules are in ``secrets``. Both take time linear in the input, whatever it holds, and cap their
output.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from ombud.guard.plain import MORE, REDACTED, clean

__all__ = ["REDACTED", "RedactingFilter", "clean", "redact", "redact_value"]

# A secret that begins before the cut is read on this far, so that no half of one is shown.
_MARGIN = 4096
_LOG_LIMIT = 65_536
_DEEPEST = 64


def redact(text: str, limit: int = 8192) -> str:
    """The text with every recognised secret replaced by ``«redacted»``, at most ``limit`` characters and a ``…``.

    The input is cut before it is searched, and every rule takes time linear in its length. A secret that reaches
    past the limit is still recognised. Names and shapes of secrets only: a password in plain prose is not found.
    """
    # The rules are some forty patterns, which take 15 ms to compile: a process that shows nothing never does.
    from ombud.guard.secrets import RULES

    shown = text[: limit + _MARGIN]
    lowered = shown.lower()
    for rule in RULES:
        if rule.may_apply(lowered):
            shown = rule.pattern.sub(rule.replace, shown)
    return shown if len(shown) <= limit and len(text) <= limit + _MARGIN else shown[:limit] + MORE


def redact_value(value: Any, limit: int = 8192) -> Any:
    """A copy of a JSON-like tree without its secrets, for logs and ``status``.

    Values under a key that names a secret are replaced whole (true, false and null stay, and so does the number
    under ``token``, which is a progress token in LSP); so is the list element after a ``--token`` flag. Every other
    string goes through ``redact``. Below 64 levels ``…`` stands for the rest. Tuples become lists, other objects
    their redacted text.
    """
    return _value(value, limit, _DEEPEST)


def _value(value: Any, limit: int, depth: int) -> Any:
    if isinstance(value, str):
        return redact(value, limit)
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0:
        return MORE
    if isinstance(value, Mapping):
        return {
            redact(str(key), limit): REDACTED if _hides(str(key), item) else _value(item, limit, depth - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return list(_elements(value, limit, depth))
    return redact(str(value), limit)


def _elements(items: list[Any] | tuple[Any, ...], limit: int, depth: int) -> Iterator[Any]:
    from ombud.guard.secrets import SECRET_FLAG

    hidden = False
    for item in items:
        flag = isinstance(item, str)
        yield REDACTED if hidden and flag else _value(item, limit, depth - 1)
        hidden = flag and SECRET_FLAG.fullmatch(item) is not None


def _hides(key: str, item: Any) -> bool:
    if item is None or isinstance(item, bool) or item in ("", [], {}):
        return False
    if (isinstance(item, int) and key.lower().endswith("token")) or key.upper() in ("PWD", "OLDPWD"):
        return False
    from ombud.guard.secrets import is_secret_name

    return is_secret_name(key)


class RedactingFilter(logging.Filter):
    """Redacts every record that passes: message with its arguments, exception text, stack.

    Add it to handlers, not to loggers: a logger's filter does not see the records of the loggers below it. The record
    itself is changed, so no handler behind this one sees the secret either.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record and let it pass; a record whose arguments do not fit its message passes as well."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            message = f"{record.msg} {record.args!r}"
        record.msg = redact(message, _LOG_LIMIT)
        record.args = None
        if record.exc_info:
            record.exc_text = record.exc_text or _formatted(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = redact(record.exc_text, _LOG_LIMIT)
        if record.stack_info:
            record.stack_info = redact(record.stack_info, _LOG_LIMIT)
        return True


def _formatted(
    info: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None],
) -> str:
    return "".join(traceback.format_exception(*info)).rstrip("\n")
