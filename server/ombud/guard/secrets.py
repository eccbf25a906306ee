"""What secrets look like: one anchored rule for each form, in the order in which they are applied.

Every pattern must take time linear in the text. So each begins with a literal or at a place that its own run cannot
contain again (a look-behind), every repetition is bounded or possessive, and what a pattern passes over without a
match it passes over once. A new rule gets a line in the tests of hostile text.

Prefixes of tokens are the issuers' published ones. Compiler output is full of things that are named like secrets
(``token: string``, ``Unexpected token: identifier``), so an unquoted value after a colon must also look like one.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from ombud.guard.plain import REDACTED

_Replace = Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what becomes of its matches. ``hints``: lower-case texts, one of which every match holds."""

    pattern: re.Pattern[str]
    replace: _Replace
    hints: tuple[str, ...]

    def may_apply(self, lowered: str) -> bool:
        """A cheap look at the lower-cased text before the search: most lines hold none of the hints."""
        return any(hint in lowered for hint in self.hints)


# The end of a name that promises a secret, and what may follow it within the name ("api_key_id" is none).
_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|api[_\- ]?key|access[_\-]?key|private[_\-]?key"
    r"|secret[_\-]?key|signing[_\-]?key|encryption[_\-]?key|account[_\-]?key|auth[_\-]?key"
)
_TAIL = r"(?:[_\-]?(?:value|text|string|plain|key|base|hash|data|\d{1,3}))?"
_NAME = re.compile(
    rf"(?:[\w.\- ]{{0,128}}?)(?:{_WORDS}){_TAIL}|(?:proxy[_\-])?authorization|(?:set[_\-])?cookie"
    r"|[\w\-]{0,64}?(?:api|access|auth|secret|private|session)[_\-]?keys?|passwords|secrets",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SECRET_FLAG = re.compile(rf"--?[A-Za-z][A-Za-z0-9_\-]{{0,48}}?(?<![A-Za-z])(?:{_WORDS})|--(?:{_WORDS})", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a key of a tree (``githubToken``, ``DB_PASSWORD``, ``Authorization``) names a secret."""
    return len(name) <= 160 and _NAME.fullmatch(_CAMEL.sub("_", name)) is not None


_FOLDER = re.compile(r"[A-Za-z][a-z]{2,}[A-Za-z]*\d*")


def looks_random(value: str) -> bool:
    """Whether a run of characters is more likely generated than written: mixed classes that change all the time.

    Of random base64, two neighbours differ in class (lower, upper, digit, other) 64 times in 100; of identifiers,
    camel case and paths 15 to 30 times. Hexadecimal text (git's hashes, checksums) has one letter case and never
    passes.
    """
    if len(value) < 20 or ("/" in value and any(_FOLDER.fullmatch(part) for part in value.split("/"))):
        return False
    classes = ["l" if c.islower() else "u" if c.isupper() else "d" if c.isdigit() else "o" for c in value]
    if not {"l", "u", "d"} <= set(classes) or classes.count("d") < 2:
        return False
    changes = sum(a != b for a, b in itertools.pairwise(classes))
    return changes >= 0.4 * (len(value) - 1)


def _whole(_match: re.Match[str]) -> str:
    return REDACTED


def _after_head(match: re.Match[str]) -> str:
    """Keep what names the secret, hide the secret."""
    return match["head"] + REDACTED


def _literal(pattern: str, *hints: str, flags: int = 0) -> Rule:
    return Rule(re.compile(pattern, flags), _whole, hints)


_KEY_BLOCK = _literal(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    "private key",
)

# (?<![…]) makes each rule start at the beginning of a run only; the runs are possessive.
_TOKENS = (
    _literal(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", "akia", "asia", "abia", "acca"),
    _literal(r"(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{20,}+", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _literal(r"(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{20,}+", "github_pat_"),
    _literal(r"(?<![A-Za-z0-9])gl(?:pat|ptt|dt|rt|rtr|cbt|ft|soat|agent|oas|imt|ffct)-[\w.\-]{16,}+", "gl"),
    _literal(r"(?<![A-Za-z0-9])xox[abceoprs](?:\.xox[a-z])?-[A-Za-z0-9\-]{10,}+", "xox"),
    _literal(r"(?<![A-Za-z0-9])xapp-\d-[A-Za-z0-9\-]{10,}+", "xapp-"),
    _literal(r"https://hooks\.slack\.com/(?:services|workflows)/[\w/\-]{8,}+", "hooks.slack.com"),
    _literal(r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/[\w/\-]{8,}+", "/api/webhooks/"),
    _literal(r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}+", "npm_"),
    _literal(r"(?<![A-Za-z0-9])pypi-(?:AgE[\w\-]{12,}+|[\w\-]{60,}+)", "pypi-"),
    _literal(r"(?<![A-Za-z0-9])sk-(?:ant|proj|svcacct|admin|or|lf|None)-[\w\-]{12,}+", "sk-"),
    _literal(r"(?<![A-Za-z0-9\-_])sk-(?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{20,}+", "sk-"),
    _literal(r"(?<![A-Za-z0-9])(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}+", "sk_", "rk_"),
    _literal(r"(?<![A-Za-z0-9])whsec_[A-Za-z0-9+/=]{20,}+", "whsec_"),
    _literal(r"(?<![A-Za-z0-9])AIza[\w\-]{30,}+", "aiza"),
    _literal(r"(?<![A-Za-z0-9])ya29\.[\w\-.]{20,}+", "ya29."),
    _literal(r"(?<![A-Za-z0-9])GOCSPX-[\w\-]{20,}+", "gocspx-"),
    _literal(r"(?<![A-Za-z0-9])(?:hf|gsk)_[A-Za-z0-9]{30,}+", "hf_", "gsk_"),
    _literal(r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{40,}+", "xai-"),
    _literal(r"(?<![A-Za-z0-9])dckr_(?:pat|oat)_[\w\-]{20,}+", "dckr_"),
    _literal(r"(?<![A-Za-z0-9])(?:dop|doo|dor)_v1_[a-f0-9]{40,}+", "_v1_"),
    _literal(r"(?<![A-Za-z0-9])SG\.[\w\-]{16,}+\.[\w\-]{16,}+", "sg."),
    _literal(r"(?<![A-Za-z0-9])shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}+", "shp"),
    _literal(r"(?<![A-Za-z0-9])(?:glsa|glc)_[\w+/=]{20,}+", "gls", "glc_"),
    _literal(r"(?<![A-Za-z0-9])hv[sbr]\.[\w\-]{20,}+", "hvs.", "hvb.", "hvr."),
    _literal(r"(?<![A-Za-z0-9])dapi[a-f0-9]{32}", "dapi"),
    _literal(r"(?<![A-Za-z0-9])AGE-SECRET-KEY-1[0-9A-Z]{50,}+", "age-secret-key-"),
    _literal(r"(?<!\d)\d{8,10}:AA[\w\-]{30,40}", ":aa"),
    _literal(r"(?<![\w\-])eyJ[\w\-]{8,}+\.[\w\-]{8,}+(?:\.[\w\-]*+){1,3}", "eyj"),
)


# Words of languages and tools that stand where a secret could: types, literals, parts of error messages.
_PLAIN_WORDS = """
none null nil undefined true false any unknown never void object string str text bytes bytearray int integer float
double number bool boolean char symbol bigint optional required missing invalid incorrect expected unexpected
function identifier keyword literal expression statement punctuation operator interface unsigned template default
secretstr self this value readonly public private protected static const await async return import export
"""
_PLAIN = frozenset(_PLAIN_WORDS.split())
_TYPE = re.compile(
    r"(?:u?int|float|bytes|str|utf|i|u|f)\d{1,3}|(?:Big)?(?:Ui|I)nt\d{1,2}(?:Clamped)?Array|Float\d\dArray"
    r"|[A-Z][a-z]+(?:[A-Z][a-z]+)*"
)
_CODE = re.compile(
    r"[A-Za-z_][\w.:]{0,128}[\[(<|{]"  # a call, an index, a generic or a union type
    r"|(?:self|this|os|process|env|environ|config|cfg|settings|args|opts|options|params|request|req|ctx|props|state)\."
    r"|\$(?:[A-Z_{(]|[A-Za-z_]{1,64}$)|%[sdr(]|[{<\[(«]|\*\*|&[a-z]|\.{2,}"
)
_TRAILING = "`,;.)]}?!"


def _is_reference(value: str) -> bool:
    """Whether a value is no secret by its form: empty, masked, a placeholder, a variable, a call."""
    core = value.strip(_TRAILING)
    return len(core) < 3 or core.lower() in _PLAIN or set(core) <= set("*xX•.-_ ") or _CODE.match(core) is not None


def _is_plain(value: str) -> bool:
    """As ``_is_reference``, or the name of a type."""
    return _is_reference(value) or _TYPE.fullmatch(value.strip(_TRAILING)) is not None


def _unquoted_is_secret(key: str, tight: bool, value: str) -> bool:
    """``tight``: written ``key=value``, as environments and command lines do, and code for keyword arguments only."""
    if _is_reference(value) if tight else _is_plain(value):
        return False
    core = value.strip(_TRAILING)
    if "pwd" in key.lower() and core.startswith(("/", "~")):
        return False  # $PWD and $OLDPWD are folders.
    if any(c.isdigit() for c in core) and len(core) >= 6:
        return True
    if "token" in key.lower():
        # "Unexpected token: identifier" is what compilers say; letters alone are no token's form unless there are many.
        return len(core) >= (8 if tight else 32)
    return tight or len(core) >= 8


def _credentials(match: re.Match[str]) -> str:
    """``Basic`` and ``Bearer`` are English words too: the text behind them must be what the scheme sends."""
    value = match["value"]
    if match["scheme"].lower() == "basic":
        try:
            secret = b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
        except (binascii.Error, ValueError):
            secret = False
    else:
        secret = len(value) >= 40 or any(c.isdigit() for c in value)
    return match["head"] + REDACTED if secret else match[0]


def _authorization(match: re.Match[str]) -> str:
    if match["scheme"] is None and _is_plain(match["value"]):
        return match[0]
    return match["head"] + REDACTED


_HEADERS = (
    # Schemes with parameters: the whole line, since every parameter may be the secret one.
    Rule(
        re.compile(
            r"(?i)(?P<head>authorization[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?"
            r"(?:digest|aws4-hmac-sha256|hawk|oauth|signature|ntlm|negotiate)\b[ \t]{0,8})[^\r\n]+"
        ),
        _after_head,
        ("authorization",),
    ),
    # An escaped quote (\") is one: JSON within JSON is what logs are made of.
    Rule(
        re.compile(
            r"(?i)(?P<head>authorization\\{0,3}[\"']?[ \t]{0,8}[:=][ \t]{0,8}(?:\\{0,3}[\"'])?"
            r"(?P<scheme>(?:bearer|basic|token|bot|apikey)[ \t]{1,8})?+)(?![ \t\"'\\«<])(?P<value>[^\s\"'\\,;]{4,}+)"
        ),
        _authorization,
        ("authorization",),
    ),
    Rule(
        re.compile(
            r"(?i)(?<![\w\-])(?P<head>(?:set-)?cookie[\"']?[ \t]{0,8}:[ \t]{0,8}[\"']?(?=[^\s=;]{1,64}=))[^\r\n\"']+"
        ),
        _after_head,
        ("cookie",),
    ),
    Rule(
        re.compile(r"(?i)(?<![\w\-])(?P<head>(?P<scheme>bearer|basic)[ \t]{1,8})(?P<value>[\w.~+/=\-]{8,}+)"),
        _credentials,
        ("bearer", "basic"),
    ),
)


def _userinfo(match: re.Match[str]) -> str:
    user, colon, password = match["user"].partition(":")
    if (colon and password) or looks_random(user):
        return match["head"] + REDACTED + "@"
    return match[0]


_URL = Rule(
    re.compile(r"(?<![A-Za-z0-9+.\-])(?P<head>[A-Za-z][A-Za-z0-9+.\-]{1,20}://)(?P<user>[^\s/@\"'<>«]{1,512}+)@"),
    _userinfo,
    ("://",),
)
# A password may hold a raw "@" or "/" although it should not: after "user:" all up to the last "@" before a host.
_URL_LOOSE = Rule(
    re.compile(
        r"(?<![A-Za-z0-9+.\-])(?P<head>[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/@:\"'<>«]{0,128}:)"
        r"(?=[^\s@\"'<>«/]{0,256}/)(?!\d{1,5}/)[^\s@\"'<>«:]{1,256}+@(?=[\w\[])"
    ),
    lambda match: match["head"] + REDACTED + "@",
    ("://",),
)


def _assignment(match: re.Match[str]) -> str:
    key, head, value = match["key"], match["head"], match["quoted"]
    if value is not None:
        # Parsers say: Unexpected token: "function". JSON and code quote the name, or write no space.
        spoken = "token" in key.lower() and match["tight"] is None and not match["wrap"]
        short = spoken and (len(value) < 6 or (value.isalpha() and len(value) < 16))
        placeholder = not value.strip() or set(value) <= set("*xX•.…")
        named = value.startswith(("${", "{{", "«", "<", "%(")) or value.lower() in _PLAIN
        return match[0] if short or placeholder or named else head + REDACTED + match["close"]
    value = match["bare"]
    if not _unquoted_is_secret(key, match["tight"] is not None, value):
        return match[0]
    # A bracket that closes what began before the key is not the secret's.
    kept = value.rstrip(")]}") if not set(value) & set("([{") else value
    return head + REDACTED + value[len(kept) :]


_QUOTE = r"(?:\\{0,3}[\"'`])"
_ASSIGNMENT = Rule(
    re.compile(
        rf"(?P<head>(?P<key>{_WORDS}){_TAIL}(?!\w)(?P<wrap>{_QUOTE}?[\])]?)\??"
        # A declared type between the name and the value: password: str = "…".
        r"(?:[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][\w.\[\]|, ?]{0,48}?(?=[ \t]{0,4}=[^=>]))?"
        rf"(?:(?P<tight>=)(?![=>\s])|[ \t]{{0,8}}(?:=>|:=|==?|:)[ \t]{{0,8}})"
        r"(?P<open>(?P<slashes>\\{0,3})(?P<mark>[\"'`]))?)"
        # Quoted: up to the same quote with as many backslashes before it, or to the end of the line.
        r"(?(open)(?P<quoted>(?:(?!(?P=slashes)(?P=mark))(?:\\.|[^\r\n]))*+)(?P<close>(?:(?P=slashes)(?P=mark))?)"
        r"|(?P<bare>[^\s\"',;&<>]++))",
        re.IGNORECASE,
    ),
    _assignment,
    ("pass", "pwd", "secret", "token", "credential", "key"),
)


def _flag(match: re.Match[str]) -> str:
    return match[0] if _is_plain(match["value"]) else match["head"] + REDACTED


_FLAG = Rule(
    re.compile(
        rf"(?P<head>(?<![\w\-])--(?:[A-Za-z0-9]{{1,24}}-){{0,4}}(?:{_WORDS})(?:[ \t]{{1,8}}|[\"'],[ \t]{{0,8}}[\"']))"
        r"(?P<value>[^\s\"',\-][^\s\"',]{0,2048}+)",
        re.IGNORECASE,
    ),
    _flag,
    ("--",),
)
_NETRC = Rule(
    re.compile(r"(?i)(?P<head>\blogin[ \t\n]{1,8}\S{1,128}+[ \t\n]{1,8}password[ \t\n]{1,8})\S+"),
    _after_head,
    ("login",),
)
_ELEMENT = Rule(
    re.compile(rf"(?P<head><(?P<tag>[\w:.\-]{{0,32}}?(?:{_WORDS}))>)[^<\r\n]{{1,2048}}+(?=</)", re.IGNORECASE),
    _after_head,
    ("</",),
)


def _random_value(match: re.Match[str]) -> str:
    value = match["value"]
    if value.startswith(("sha256-", "sha384-", "sha512-")) or not looks_random(value):
        return match[0]
    return match["head"] + REDACTED


_RANDOM = Rule(
    re.compile(
        r"(?P<head>(?<![\w\-])[A-Za-z_][\w\-]{0,63}+[\"']?[ \t]{0,4}[=:][ \t]{0,4}[\"']?)"
        r"(?P<value>[A-Za-z0-9+/_\-]{24,}+={0,2})"
    ),
    _random_value,
    ("=", ":"),
)

RULES: tuple[Rule, ...] = (
    _KEY_BLOCK,
    *_HEADERS,
    *_TOKENS,
    _URL,
    _URL_LOOSE,
    _ASSIGNMENT,
    _FLAG,
    _NETRC,
    _ELEMENT,
    _RANDOM,
)
