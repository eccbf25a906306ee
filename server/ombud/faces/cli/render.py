"""Results as a person reads them. ``--json`` goes past all of this."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ombud.faces.cli.graph import RENDERERS as _OF_GRAPH
from ombud.faces.cli.graph import index_line
from ombud.faces.cli.terminal import Row, Screen, table
from ombud.guard.redact import clean
from ombud.operations.writing.report import unchecked_lines

Result = Mapping[str, Any]
SEVERITY_STYLES = {"error": "red", "warning": "yellow", "information": "blue", "hint": "dim"}
_LIMIT = 10_000


def plain(value: object, limit: int = _LIMIT) -> str:
    """Any value as text that a terminal only shows: names of files can hold escapes as well."""
    return clean(str(value), limit)


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def counted(number: int, noun: str) -> str:
    """``1 file``, ``3 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def rendered(name: str, params: Result, result: Result, screen: Screen) -> Iterator[str]:
    """The lines for an operation's result; for an operation without a rendering of its own, its JSON."""
    renderer = _RENDERERS.get(name)
    if renderer is None:
        yield json.dumps(result, indent=2, ensure_ascii=False)
    else:
        yield from renderer(params, result, screen)


def diagnostic_lines(item: Result, screen: Screen) -> Iterator[str]:
    """``path:line:col: severity: message [source code]``, as compilers write it; further lines are indented."""
    severity = str(item["severity"])
    character = item["range"]["start"]["character"] + 1
    head, *rest = plain(item["message"]).splitlines() or [""]
    code = item.get("code")
    origin = plain(item["source"]) + (f" {plain(code)}" if code else "")
    place = f"{plain(item['path'])}:{item['line']}:{character}:"
    style = SEVERITY_STYLES.get(severity, "dim")
    kind = screen.paint(f"{severity}:", style)
    yield f"{screen.paint(place, 'bold')} {kind} {head} {screen.paint(f'[{origin}]', 'dim')}"
    for line in rest:
        if line.strip():
            yield f"    {line}"


def freshness_lines(servers: Iterable[Result], screen: Screen) -> Iterator[str]:
    """Who has answered for the present content, and who has not (D4)."""
    servers = list(servers)
    fresh = [plain(one["name"]) for one in servers if one["freshness"] == "fresh"]
    if fresh:
        yield f"{listed(fresh)} answered for this content."
    for one in servers:
        if one["freshness"] != "fresh":
            reason = plain(one.get("reason") or "It gave no reason.")
            yield from screen.wrap(f"Not known: {plain(one['name'])} has not answered ({one['freshness']}). {reason}")


def _status(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    rows = [
        Row(
            [plain(one["name"]), plain(one["state"]).replace("_", " "), plain(", ".join(one["languages"][:4]))],
            below=[plain(one["reason"])],
        )
        for one in result["servers"]
    ]
    if rows:
        yield from table(screen, ["SERVER", "STATE", "LANGUAGES"], rows)
    else:
        yield "No language server in the catalogue is for the files of this project."
    if result.get("index"):
        yield index_line(result["index"])
    yield f"trust: {plain(result['trust']['state'])}"
    for problem in result["problems"]:
        yield from screen.wrap(f"configuration: {plain(problem)}")
    if result.get("survey"):
        yield plain(result["survey"])


def _reload(_params: Result, result: Result, _screen: Screen) -> Iterator[str]:
    names = [plain(name) for name in result["restarted"]]
    yield f"Restarted {listed(names)}." if names else "The configuration was read again. Nothing was running."


def _diagnostics(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    for item in result["diagnostics"]:
        yield from diagnostic_lines(item, screen)
    if not result["files"]:
        yield "No file is open here. Name one, or use “ombud check”."
        return
    if not result["diagnostics"] and all(one["freshness"] == "fresh" for one in result["servers"]):
        yield f"Nothing found in {plain(params.get('path', ''))}."
    yield from freshness_lines(result["servers"], screen)


def _written(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    # Its lists follow in a compiler's form.
    yield from screen.wrap(plain(result["message"]).partition("\n\n")[0])
    if result.get("diagnostics") is not None:
        yield from _reported(result["diagnostics"], screen)
    if result.get("checkpoint"):
        yield f"“ombud rollback {plain(result['checkpoint'])}” undoes it."


def _reported(report: Result, screen: Screen) -> Iterator[str]:
    if report["introduced"]:
        yield screen.paint("introduced", "bold")
        for item in report["introduced"]:
            yield from (f"  {line}" for line in diagnostic_lines(item, screen))
    if report["resolved"]:
        yield screen.paint("resolved", "bold")
        for item in report["resolved"]:
            yield from (f"  {line}" for line in diagnostic_lines(item, screen))
    left = [(plain(one["path"]), plain(one["reason"])) for one in report.get("leftOut", ())]
    for line in unchecked_lines(left, report.get("leftOutCount", 0)):
        yield from screen.wrap(line.lstrip(), "  " if line.startswith("  ") else "")
    yield from freshness_lines(report["servers"], screen)


def _checkpoints(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    rows = [
        Row(
            [plain(one["checkpoint"]), plain(one["time"])[:19].replace("T", " "), plain(one["summary"])],
            below=[_few([plain(name) for name in one["files"]])]
            if any(name not in one["summary"] for name in one["files"])
            else [],
        )
        for one in result["checkpoints"]
    ]
    if rows:
        yield from table(screen, ["CHECKPOINT", "TIME (UTC)", "BEFORE"], rows)
    elif params.get("all"):
        yield "No write of this project can be rolled back: none was made, or it is too long ago."
    else:
        yield "This command wrote nothing. “ombud checkpoints --all” has what was written before."


def _few(names: Sequence[str], most: int = 5) -> str:
    return listed(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


def _renamed(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    yield from _written(params, result, screen)
    for file in result["files"]:
        for edit in file["edits"] if isinstance(file["edits"], list) else ():
            yield f"  {plain(file['path'])}:{edit['line']}: {plain(edit['text'])} → {plain(edit['newText'])}"
    if not result["complete"]:
        yield from screen.wrap(plain(result.get("note") or "It may not be complete."))


def _lsp(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    if "applied" in result:
        yield from _written(params, result, screen)
        return
    items = result["items"]
    for number, item in enumerate(items):
        action = params.get("action")
        if action == "hover":
            yield from _hover(item, screen, alone=len(items) == 1, first=number == 0)
        elif action == "signature":
            yield from _signature(item, screen)
        elif action == "code_actions":
            kind = f" ({plain(item['kind'])})" if item.get("kind") else ""
            yield f"{plain(item['title'])}{kind} [{plain(item['server'])}]"
        else:
            yield from _place(item, screen)
    if not items:
        yield f"Nothing found. Asked: {listed([plain(name) for name in result['servers']]) or 'nobody'}."
    if result.get("note"):
        kind = "note" if result["complete"] else "not complete"
        yield from screen.wrap(f"{kind}: {plain(result['note'])}")


def _hover(item: Result, screen: Screen, *, alone: bool, first: bool) -> Iterator[str]:
    if not alone:
        if not first:
            yield ""
        yield screen.paint(plain(item["server"]), "bold")
    # The fences of code blocks say nothing to a person who sees the text as it is.
    yield from (line for line in plain(item["text"]).strip().splitlines() if not line.startswith("```"))


def _signature(item: Result, screen: Screen) -> Iterator[str]:
    yield screen.paint(plain(item["label"]), "bold") if item.get("active") else plain(item["label"])
    if item.get("documentation"):
        yield from (f"    {line}" for line in plain(item["documentation"]).strip().splitlines())


def _place(item: Result, screen: Screen) -> Iterator[str]:
    """A location, a symbol or a call: where it is, what it is, and its first line."""
    line = f"{plain(item['path'])}:{item['line']}" if "line" in item else plain(item["path"])
    if "range" in item:
        line += f":{_start(item['range']) + 1}"
    out = screen.paint(f"{line}:", "bold")
    if "kind" in item:
        container = f" in {plain(item['container'])}" if item.get("container") else ""
        out += f" {plain(item['kind'])} {plain(item['name'])}{container}"
    elif item.get("text"):
        out += f" {plain(item['text'])}"
    yield out
    sites = [str(site["line"]) for site in item.get("callSites", ())]
    if sites:
        yield f"    called in line {', '.join(sites)}"


def _start(where: Any) -> int:
    return int(where["start"]["character"])


def _found(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    from ombud.faces.cli.grep import lines

    yield from lines(params, result, screen)


def _scanned(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    from ombud.faces.cli.scan import lines

    yield from lines(params, result, screen)


def _staged(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    from ombud.faces.cli.staged import lines

    yield from lines(params, result, screen)


def _restaged(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    from ombud.faces.cli.rewrite import shown

    yield from shown(result, screen)


_RENDERERS: Mapping[str, Callable[[Result, Result, Screen], Iterator[str]]] = {
    "status": _status,
    "reload": _reload,
    "diagnostics": _diagnostics,
    "write": _written,
    "edit": _written,
    "apply_patch": _written,
    "rename": _renamed,
    "lsp": _lsp,
    "checkpoints": _checkpoints,
    "rollback": _written,
    "transaction": _written,
    "ast_grep": _found,
    "scan": _scanned,
    "ast_edit": _restaged,
    "restage": _restaged,
    "staged": _staged,
    "resolve": _written,
    **_OF_GRAPH,
}


def candidates(data: Result) -> Iterator[str]:
    """What a refusal offers instead: the nearest places, or the symbols that were meant (``error.data``)."""
    for one in data.get("candidates") or ():
        if isinstance(one, Mapping) and "id" in one and "kind" in one:
            yield f"  {plain(one['kind'])} {plain(one['id'])} ({plain(one['path'])}:{one['line']})"
        elif isinstance(one, Mapping) and "line" in one:
            for offset, text in enumerate(plain(one.get("text", "")).splitlines() or [""]):
                yield f"  {one['line'] + offset:>5}  {text}"
        else:
            yield f"  {plain(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False))}"
