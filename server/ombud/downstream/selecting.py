"""Which documents a server's own registration of a method is for (LSP 3.17, ``DocumentSelector``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ombud.downstream.capabilities import PROVIDERS, REGISTERED_AS, Capabilities, dig
from ombud.downstream.watched import expression
from ombud.guard.uris import path_or_none


def selects(capabilities: Capabilities, method: str, uri: str, language: str | None) -> bool:
    """Whether ``method`` may be meant for a document. ``language`` is its client's id for it, None where unknown.

    What ``initialize`` announced is for every document, as is a registration without a selector. Where a filter says
    something that cannot be judged here, it matches.
    """
    path = PROVIDERS.get(method)
    if path is None or dig(capabilities.announced, path) not in (None, False):
        return True
    selectors = [one.get("documentSelector") for one in capabilities.registrations(REGISTERED_AS.get(method, method))]
    if not selectors or not all(isinstance(one, list) for one in selectors):
        return True
    filters = [one for selector in selectors if isinstance(selector, list) for one in selector]
    return any(_matches(one, uri, language) for one in filters)


def _matches(wanted: Any, uri: str, language: str | None) -> bool:
    if not isinstance(wanted, Mapping) or "notebook" in wanted:
        return True
    if language is not None and wanted.get("language") not in (None, "*", language):
        return False
    if wanted.get("scheme") not in (None, "*", uri.partition(":")[0]):
        return False
    pattern, path = wanted.get("pattern"), path_or_none(uri)
    if not isinstance(pattern, str) or path is None:
        return True
    # A pattern that names no folder is for files anywhere.
    whole = pattern if "/" in pattern else f"**/{pattern}"
    return _glob(whole.lstrip("/")).fullmatch(path.as_posix().lstrip("/") + "/") is not None


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(expression(pattern))
