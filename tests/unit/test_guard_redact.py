"""Which secrets are found in text and in trees, what is left alone, and what ``clean`` takes away.

Samples are put together from parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import io
import json
import logging
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.guard.redact import REDACTED, RedactingFilter, clean, redact, redact_value

ALNUM = "a1B2c3D4e5F6g7H8i9J0" * 5
HEX = "0123456789abcdef" * 4

TOKENS = {
    "aws": "AK" + "IA" + "IOSFODNN7EXAMPLE",
    "aws temporary": "AS" + "IA" + "IOSFODNN7EXAMPLE",
    "github": "gh" + "p_" + ALNUM[:36],
    "github server": "gh" + "s_" + ALNUM[:36],
    "github fine": "github" + "_pat_" + ALNUM[:22] + "_" + ALNUM[:59],
    "gitlab": "gl" + "pat-" + ALNUM[:20],
    "gitlab runner": "gl" + "rt-" + ALNUM[:20],
    "slack": "xo" + "xb-123456789012-1234567890123-" + ALNUM[:24],
    "slack app": "xa" + "pp-1-A0123-456-" + ALNUM[:30],
    "slack hook": "https://hooks.slack" + ".com/services/T000/B000/" + ALNUM[:24],
    "npm": "np" + "m_" + ALNUM[:36],
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + ALNUM[:60],
    "openai": "s" + "k-" + ALNUM[:48],
    "openai project": "s" + "k-proj-" + ALNUM[:40] + "-_x",
    "anthropic": "s" + "k-ant-api03-" + ALNUM[:60],
    "google": "AI" + "za" + ALNUM[:35],
    "google oauth": "ya" + "29." + ALNUM[:40],
    "stripe": "sk" + "_live_" + ALNUM[:24],
    "stripe test": "rk" + "_test_" + ALNUM[:24],
    "stripe hook": "wh" + "sec_" + ALNUM[:32],
    "hugging face": "h" + "f_" + ALNUM[:34],
    "sendgrid": "S" + "G." + ALNUM[:22] + "." + ALNUM[:43],
    "docker": "dckr" + "_pat_" + ALNUM[:27],
    "digital ocean": "do" + "p_v1_" + HEX,
    "vault": "hv" + "s." + ALNUM[:40],
    "shopify": "shp" + "at_" + HEX[:32],
    "telegram": "123456789" + ":AA" + ALNUM[:33],
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0" + "." + ALNUM[:43],
}


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("frame", ["{}", "at {} end", '"{}"', "({})", "x={};", "<{}>", "a\n{}\nb", "url?k={}&b=c"])
def test_token_forms(name: str, frame: str) -> None:
    secret = TOKENS[name]
    shown = redact(frame.format(secret))
    assert secret not in shown
    assert REDACTED in shown
    before, _, after = frame.partition("{}")
    assert shown.startswith(before)
    assert after in shown


BODY = "MIIEpAIBAAKCAQEA" + ALNUM[:64]


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "DSA "])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_private_key_blocks(kind: str, newline: str) -> None:
    block = newline.join([f"-----BEGIN {kind}PRIVATE KEY-----", BODY, BODY, f"-----END {kind}PRIVATE KEY-----"])
    assert redact(f"a {block} b") == f"a {REDACTED} b"
    cut = block[: len(block) // 2]
    assert redact(f"a {cut}") == f"a {REDACTED}"


def test_pgp_block_and_public_key() -> None:
    block = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{BODY}\n-----END PGP PRIVATE KEY BLOCK-----"
    assert redact(block) == REDACTED
    public = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----"
    assert redact(public) == public


SECRET = "hunter2-XyZ"
ASSIGNMENTS = [
    "password={}",
    "PASSWORD={}",
    "password = {}",
    "password: {}",
    "passwd={}",
    "pwd: {}",
    "DB_PASSWORD={}",
    "export MY_API_KEY={}",
    "my-api-key: {}",
    "api_key={}",
    "apikey={}",
    "apiKey: {}",
    "client_secret={}",
    "secret: {}",
    "token: {}",
    "access_token={}&x=1",
    "?a=b&token={}",
    "aws_secret_access_key = {}",
    "--password {}",
    "--password={}",
    "--db-token {} --x",
    "passphrase={}",
    "X-Api-Key: {}",
    'password="{}"',
    "password='{}'",
    "password: `{}`",
    '{{"password": "{}"}}',
    "{{'token': '{}'}}",
    '{{"clientSecret":"{}","a":1}}',
    '{{\\"password\\": \\"{}\\", \\"a\\": 1}}',
    '{{\\\\\\"password\\\\\\": \\\\\\"{}\\\\\\"}}',
    'os.environ["API_TOKEN"] = "{}"',
    "ENV['SECRET'] = '{}'",
    'password: str = "{}"',
    'let token: string | undefined = "{}";',
    "secret => '{}'",
    'password := "{}"',
    "f(password={})",
    "['--token', '{}']",
    "machine x login y password {}",
    "<password>{}</password>",
    "Server=x;Password={};Database=y",
    "Authorization: Bearer {}",
    "Authorization: token {}",
    "Authorization: {}",
    "authorization={}",
    '"Authorization": "Bearer {}"',
    "-H 'Proxy-Authorization: Basic {}'",
    "Bearer {}",
    "Cookie: session={}; a=b",
    "Set-Cookie: sid={}; Path=/",
    "https://user:{}@host/x",
    "postgres://u:{}@localhost:5432/db",
    "redis://:{}@host",
]


@pytest.mark.parametrize("form", ASSIGNMENTS)
def test_assignments_headers_and_urls(form: str) -> None:
    shown = redact(form.format(SECRET))
    assert SECRET not in shown
    assert "XyZ" not in shown
    assert REDACTED in shown


@pytest.mark.parametrize("mark", ['"', "'"])
def test_quoted_value_is_hidden_to_its_own_quote(mark: str) -> None:
    other = "'" if mark == '"' else '"'
    text = f"password = {mark}a b\\{mark}c {other} d{mark}; next = {mark}shown{mark}"
    assert redact(text) == f"password = {mark}{REDACTED}{mark}; next = {mark}shown{mark}"
    assert redact(f"password = {mark}never closed {ALNUM}\nnext") == f"password = {mark}{REDACTED}\nnext"
    assert redact(f"password={mark}" + "x y" * 3000 + mark, 100_000) == f"password={mark}{REDACTED}{mark}"


def test_what_is_around_a_secret_stays() -> None:
    assert redact("f(password=hunter2)") == f"f(password={REDACTED})"
    assert redact("https://user:pa55@host:1/x?y") == f"https://{REDACTED}@host:1/x?y"
    assert redact("https://user:p/a55@host/x") == f"https://user:{REDACTED}@host/x"
    assert redact("a=1&token=abc12345&b=2") == f"a=1&token={REDACTED}&b=2"
    assert redact("Authorization: Bearer abcdef") == f"Authorization: Bearer {REDACTED}"


def test_digest_credentials_hide_the_line() -> None:
    text = 'Authorization: Digest username="me", response="6629fae49393a05397450978507c4ef1"\nHost: x'
    assert redact(text) == f"Authorization: Digest {REDACTED}\nHost: x"


def test_basic_credentials() -> None:
    value = base64.b64encode(b"user:pass").decode()
    assert value not in redact(f"Basic {value}")


def test_random_values_under_any_name() -> None:
    value = base64.b64encode(bytes((i * 89 + 31) % 251 for i in range(36))).decode()
    assert value not in redact(f"SOMETHING={value}")
    assert value not in redact(f'"x": "{value}"')


ORDINARY = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    '"integrity": "sha512-a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8i9J0a1B2c3D4e5F6g7H8=="',
    "id: 123e4567-e89b-12d3-a456-426614174000",
    "path=/srv/User1/Projects2/Some3Thing/Other4Stuff/x.py",
    "file: src/components/UserProfileCard2/UserProfileCardHeader.tsx",
    "PWD=/srv/me/project",
    "https://example.com/a?b=c",
    "http://localhost:8080/a@b",
    "git@github.com:owner/repo.git",
    "ssh://git@host/owner/repo.git",
    "error[E0308]: mismatched types: expected `u32`, found `&str`",
    "a.ts(3,5): error TS2741: Property 'password' is missing in type '{ token: string; }' but required in 'Login'.",
    "Type '{ password: string | undefined; token: Uint8Array; }' is not assignable",
    "SyntaxError: Unexpected token: identifier",
    'SyntaxError: Unexpected token: "function"',
    "Unexpected token } in JSON at position 12",
    "expected ';' before 'token'",
    'No parameter named "password"',
    'Argument missing for parameter "secret"',
    '"token" is not a known attribute of module "ast"',
    "def login(user: str, password: str, token: Token | None = None) -> bool:",
    "def f(password: Optional[str] = None, secret: SecretStr = ...)",
    "password = get_password()",
    "token = self.lexer.next()",
    "secret = os.environ",
    "password = None",
    "api_key = settings.api_key",
    "password=${DB_PASSWORD}",
    "password: <your password>",
    "password=********",
    "max_tokens=4096, tokens: 512, tokenizer = wordpiece",
    "tokenCount: 12",
    "the secret of the monkey's keyboard",
    "Basic authentication is not supported",
    "Bearer of bad news",
    "warning: unused variable: `key_value_pairs_by_identifier`",
    "kebab-sk-learn-contrib-extension-package",
    "task-something-that-is-quite-long-12",
    "SELECT token FROM t WHERE id = 5",
    "authorization: string",
    "cookie: string",
    "keyof typeof ABC",
    "func (t *Token) Kind() TokenKind",
    "std::unordered_map<std::string, std::vector<AuthToken>> tokens;",
    "src/auth/password_reset_token.py:12:5: F841 local variable `token` is assigned to but never used",
    "",
    "a",
    "0",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_output_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_redacting_again_changes_nothing() -> None:
    for text in [*ORDINARY, *(form.format(SECRET) for form in ASSIGNMENTS), *TOKENS.values()]:
        once = redact(text)
        assert redact(once) == once


# --- limits -----------------------------------------------------------------------------------------------------------


def test_limit_is_counted_in_characters_shown() -> None:
    assert redact("x" * 10, 10) == "x" * 10
    assert redact("x" * 11, 10) == "x" * 10 + "…"
    assert redact("y" * 100_000) == "y" * 8192 + "…"


@pytest.mark.parametrize("before", range(0, 60, 7))
def test_secret_across_the_limit_shows_no_half(before: int) -> None:
    secret = TOKENS["github"]
    shown = redact("." * before + " " + secret + " tail", 40)
    assert secret[:10] not in shown
    assert len(shown) <= 41


@given(st.text(max_size=300), st.integers(0, 200))
def test_any_text_fits_the_limit(text: str, limit: int) -> None:
    shown = redact(text, limit)
    assert len(shown) <= limit + 1
    assert len(clean(text, limit)) <= limit


# --- trees ------------------------------------------------------------------------------------------------------------


def test_tree() -> None:
    tree = {
        "user": "me",
        "password": SECRET,
        "githubToken": SECRET,
        "API_KEY": 12345,
        "Authorization": "Bearer x",
        "secrets": {"a": SECRET},
        "credentials": [SECRET],
        "nested": [{"clientSecret": SECRET, "n": 1.5, "t": True, "z": None}, f"password={SECRET}"],
        "argv": ["tool", "--token", SECRET, "--verbose", "x"],
        "token": 7,
        "workDoneToken": 3,
        "password2": None,
        "maxTokens": 10,
        "keyboard": "qwerty",
        "PWD": "/srv/me",
        "pair": (1, SECRET[:3]),
        "tokenType": "Bearer",
    }
    shown = redact_value(tree)
    assert SECRET not in json.dumps(shown)
    assert shown == {
        "user": "me",
        "password": REDACTED,
        "githubToken": REDACTED,
        "API_KEY": REDACTED,
        "Authorization": REDACTED,
        "secrets": REDACTED,
        "credentials": REDACTED,
        "nested": [{"clientSecret": REDACTED, "n": 1.5, "t": True, "z": None}, f"password={REDACTED}"],
        "argv": ["tool", "--token", REDACTED, "--verbose", "x"],
        "token": 7,
        "workDoneToken": 3,
        "password2": None,
        "maxTokens": 10,
        "keyboard": "qwerty",
        "PWD": "/srv/me",
        "pair": [1, SECRET[:3]],
        "tokenType": "Bearer",
    }
    assert tree["password"] == SECRET


def test_tree_of_any_depth_and_kind() -> None:
    deep: Any = SECRET
    for _ in range(5000):
        deep = [deep]
    assert SECRET not in json.dumps(redact_value(deep))
    assert redact_value({1: b"password=hunter22"}) == {"1": f"b'password={REDACTED}'"}


# --- logs -------------------------------------------------------------------------------------------------------------


def logged(*arguments: Any, **keywords: Any) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    logger.error(*arguments, **keywords)
    return stream.getvalue()


def test_C9_log_message_and_arguments() -> None:
    assert logged("password=%s for %s", SECRET, "me") == f"password={REDACTED} for me\n"
    assert logged("%(password)s", {"password": f"token={SECRET}"}) == f"token={REDACTED}\n"
    assert logged("100%") == "100%\n"


def test_C9_log_of_an_exception() -> None:
    try:
        raise ValueError(f"password={SECRET}")
    except ValueError:
        shown = logged("failed", exc_info=True)
    assert SECRET not in shown
    assert "Traceback" in shown
    assert f"ValueError: password={REDACTED}" in shown


def test_C9_log_of_a_stack_and_of_odd_records() -> None:
    shown = logged("x", stack_info=True)
    assert "Stack (most recent call last)" in shown
    assert f"token={REDACTED}" in logged(ValueError(f"token={SECRET}"))
    assert SECRET not in logged("%d", f"password={SECRET}")
    assert SECRET not in logged("no place", f"password={SECRET}")


def test_C9_exception_is_not_formatted_again_by_a_later_handler() -> None:
    try:
        raise ValueError(f"password={SECRET}")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("n", logging.INFO, "f", 1, "failed", None, info)
    assert RedactingFilter().filter(record)
    record.exc_text = None if record.exc_info else record.exc_text
    assert SECRET not in logging.Formatter().format(record)
    assert REDACTED in logging.Formatter().format(record)


def test_C9_later_handlers_do_not_see_the_secret_either() -> None:
    record = logging.LogRecord("n", logging.INFO, "f", 1, "password=%s", (SECRET,), None)
    assert RedactingFilter().filter(record)
    assert SECRET not in str(record.__dict__)


# --- clean ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;196;1mx\x1b[K", "x"),
        ("\x9b31mx", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\x", "x"),
        ("\x1bcx\x1b7y\x1b(Bz", "xyz"),
        ("a\x00b\x07c\x08d\x7fe", "abcde"),
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc\u2028d\u0085e", "a\nb\nc\nd\ne"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("a\u200bb\ufeffc\u2060d\u00ade", "abcde"),
        ("hi\U000e0041\U000e0042", "hi"),
        ("👩\u200d💻 ক্\u200cষ", "👩\u200d💻 ক্\u200cষ"),
        ("a\ud83db", "a\ufffdb"),
        ("ÄÖ→日本", "ÄÖ→日本"),
        ("\x1b", ""),
        ("\x1b]unclosed", "unclosed"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text, 100) == shown


def test_clean_caps() -> None:
    assert clean("abcdef", 6) == "abcdef"
    assert clean("abcdef", 5) == "abcd…"
    assert clean("abc", 1) == "…"
    assert clean("abc", 0) == ""
    assert clean("\x1b[0m" * 1000 + "abc", 10).endswith("…")


@given(st.text(alphabet=st.characters(), max_size=200))
def test_clean_leaves_nothing_that_a_terminal_obeys(text: str) -> None:
    shown = clean(text, 1000)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert clean(shown, 1000) == shown
    shown.encode()
