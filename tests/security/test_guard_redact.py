"""Hostile text cannot hold up a sink: redaction and cleaning take time linear in the text (C9)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ombud.guard.redact import clean, redact
from ombud.guard.secrets import RULES

MEGABYTE = 1_000_000
# One character takes about 0.1 µs of CPU per rule that applies; quadratic time would be a thousand times the bound.
SECONDS_A_MEGABYTE = 8.0

# What each rule begins with, nearly matches, or could read again and again; and what the cleaner reads to the end of.
HOSTILE = [
    "a",
    "A1b",
    " ",
    "\t",
    "\n",
    "\\",
    '"',
    "=",
    ":",
    "/",
    "-",
    ".",
    "@",
    "<",
    "=a",
    "a=",
    "a:",
    "--a-",
    "eyJabcdefgh",
    "eyJabcdefgh.",
    "eyJabcdefgh.abcdefgh",
    "password",
    "password=",
    'password="',
    'password=\\"\\',
    "password: ",
    "password: a",
    "password: a ",
    "password: a=",
    "token: x ",
    "private_key",
    "api key ",
    "a://",
    "ab://x:",
    "ab://u:p",
    "ab://u:p/",
    "ab://" + "b" * 500,
    "-----BEGIN ",
    "-----BEGIN RSA PRIVATE KEY",
    "-----BEGIN RSA PRIVATE KEY-----",
    "authorization: ",
    "authorization: bearer ",
    "authorization: digest",
    "bearer ",
    "basic aaaaaaaa",
    "cookie: a",
    "login x ",
    "login\n",
    "<password>",
    "<password>a",
    "--token ",
    "--token a",
    "ghp_",
    "ghp_" + "a" * 19,
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xapp-1-",
    "https://hooks.slack.com/services/",
    "https://discord.com/api/webhooks/",
    "npm_" + "a" * 29,
    "pypi-",
    "pypi-AgE",
    "sk-",
    "sk-aaaa",
    "sk-ant-",
    "sk_live_",
    "AIza",
    "ya29.",
    "SG.aaaaaaaaaaaaaaaa",
    "SG.aaaaaaaaaaaaaaaa.",
    "dop_v1_",
    "hvs.",
    "AGE-SECRET-KEY-1",
    "12345678:AA",
    "AKIA",
    "\x1b]",
    "\x1b[",
    "\x1b[1;",
    "\x1bP",
    "\x9d",
    "\x9b1",
    "\u202e",
    "\ud800",
    "ſ",
    "İ",
]


# A rule is skipped where none of its hints stands, so hostile text ends with all of them.
HINTS = "\n" + " ".join(sorted({hint for rule in RULES for hint in rule.hints}))


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of this thread: what else the machine does is not counted."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


@pytest.mark.parametrize("piece", HOSTILE, ids=[ascii(piece[:24]) for piece in HOSTILE])
def test_C9_hostile_text(piece: str) -> None:
    size = MEGABYTE // 5
    text = (piece * (size // len(piece) + 1))[:size] + HINTS
    assert seconds(lambda: redact(text, 2 * MEGABYTE)) < SECONDS_A_MEGABYTE / 5
    assert seconds(lambda: clean(text, MEGABYTE)) < SECONDS_A_MEGABYTE / 5


@pytest.mark.parametrize(
    "piece", ["a", "=a", "password: ", 'password="\\', "eyJabcdefgh.", "ab://x:", "bearer ", "\x1b]"]
)
def test_C9_a_megabyte_of_hostile_text(piece: str) -> None:
    text = (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE] + HINTS
    assert seconds(lambda: redact(text, 2 * MEGABYTE)) < SECONDS_A_MEGABYTE
    assert seconds(lambda: clean(text, MEGABYTE)) < SECONDS_A_MEGABYTE


def test_C9_size_of_the_text_does_not_matter_beyond_the_limit() -> None:
    text = "password: " * 5_000_000
    assert seconds(lambda: redact(text)) < 1
    assert seconds(lambda: clean(text, 8192)) < 1


@given(
    pieces=st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=3)), min_size=1, max_size=6),
    end=st.sampled_from(["", "\x00", "«", "x@", "-----END PRIVATE KEY-----"]),
)
@settings(max_examples=60, deadline=None)
def test_C9_mixtures_of_hostile_text(pieces: list[str], end: str) -> None:
    unit = "".join(pieces) or "a"
    size = MEGABYTE // 10
    text = (unit * (size // len(unit) + 1))[:size] + end + HINTS
    assert seconds(lambda: redact(text, 2 * MEGABYTE)) < SECONDS_A_MEGABYTE / 5
    assert seconds(lambda: clean(text, MEGABYTE)) < SECONDS_A_MEGABYTE / 5


def test_every_rule_names_what_its_matches_hold() -> None:
    """A rule is skipped when none of its hints is in the text, so a wrong hint would switch it off."""
    assert all(rule.hints for rule in RULES)
    assert all(hint == hint.lower() for rule in RULES for hint in rule.hints)
