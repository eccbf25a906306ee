"""Answers about the code graph as a person reads them: symbols and call sites with their places, as compilers write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ombud.faces.cli.terminal import Row, Screen, cut, table
from ombud.guard.redact import clean

Result = Mapping[str, Any]
RISK_STYLES = {"low": "green", "medium": "yellow", "high": "red", "critical": "red"}
_LONGEST = 10_000


def _plain(value: object) -> str:
    return clean(str(value), _LONGEST)


def _counted(number: int, noun: str, nouns: str = "") -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {nouns or noun + 's'}"


def _place(one: Result) -> str:
    return f"{_plain(one['path'])}:{one['line']}"


def _column(one: Result) -> int:
    return int(one["range"]["start"]["character"]) + 1


def _said(result: Result, screen: Screen) -> Iterator[str]:
    """What an answer says of itself."""
    if result.get("note"):
        kind = "note" if result.get("complete", True) else "not complete"
        yield from screen.wrap(f"{kind}: {_plain(result['note'])}")


def _symbol_line(one: Result, screen: Screen) -> str:
    name = _plain(one["qualifiedName"] or one["name"])
    head = f"{screen.paint(f'{_place(one)}:', 'bold')} {_plain(one['kind'])} {screen.paint(name, 'cyan')}"
    signature = _plain(one.get("signature") or "").strip()
    return f"{head}  {screen.paint(cut(signature, 100), 'dim')}" if signature and signature != name else head


def _index(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    yield (
        f"{_counted(result['files'], 'file')}, {_counted(result['symbols'], 'symbol')}, "
        f"{_counted(result['references'], 'reference')} in {result['seconds']:.1f} s."
    )
    yield from _skipped(result)
    yield from _said(result, screen)


def _skipped(result: Result) -> Iterator[str]:
    for reason, files in result["skipped"].items():
        yield f"  left out: {_counted(files, 'file')} ({_plain(reason)})"


def _search(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    for one in result["symbols"]:
        yield _symbol_line(one, screen)
    if not result["symbols"]:
        yield f"Nothing found for {_plain(params.get('query', ''))!r}."
    yield from _said(result, screen)


def _symbol(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    yield _symbol_line(result, screen)
    yield f"  id: {_plain(result['id'])}"
    if result.get("container"):
        yield f"  in: {_plain(result['container'])}"
    counts = ", ".join(f"{_plain(name)} {number:,}" for name, number in result["counts"].items())
    yield f"  {'exported' if result['exported'] else 'not exported'}; {counts}"
    for line in _plain(result.get("docstring") or "").strip().splitlines():
        yield f"    {line}"
    yield from _said(result, screen)


def _edge_line(one: Result, screen: Screen, end: str) -> str:
    sure = "" if one["confidence"] == "exact" else screen.paint(f" [{one['confidence']}]", "yellow")
    kind = "" if one["kind"] == "call" else f" ({one['kind']})"
    text = _plain(one.get("text") or "").strip()
    shown = f"  {screen.paint(cut(text, 80), 'dim')}" if text else ""
    return f"{screen.paint(f'{_place(one)}:{_column(one)}:', 'bold')} {_plain(one[end])}{kind}{sure}{shown}"


def _edges(end: str, nobody: str) -> Callable[[Result, Result, Screen], Iterator[str]]:
    def lines(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
        depth = 1
        for one in result["edges"]:
            if one.get("depth", 1) != depth:
                depth = one["depth"]
                yield screen.paint(f"at depth {depth}", "dim")
            yield _edge_line(one, screen, end)
        if not result["edges"]:
            yield nobody
        others = result["others"]
        if others["inferred"] or others["ambiguous"]:
            yield from screen.wrap(
                f"By name alone, further call sites may be meant: {others['inferred']:,} inferred, "
                f"{others['ambiguous']:,} ambiguous. “--confidence ambiguous” lists them, “--confirm” asks a language "
                "server."
            )
        yield from _said(result, screen)

    return lines


def _risk(risk: Result, screen: Screen) -> Iterator[str]:
    level = _plain(risk["level"])
    factors = ", ".join(f"{_plain(one['name'])} {one['value']:g}" for one in risk["factors"])
    yield f"risk: {screen.paint(level, 'bold', RISK_STYLES.get(level, 'dim'))} ({risk['score']} of 100; {factors})"


def _impact(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    for name in ("direct", "indirect", "tests"):
        if result[name]:
            yield screen.paint(name, "bold")
        for one in result[name]:
            depth = f" (depth {one['depth']})" if one["depth"] > 1 else ""
            yield f"  {_symbol_line(one, screen)}{depth}"
    if not any(result[name] for name in ("direct", "indirect", "tests")):
        yield "Nothing that the graph knows of depends on it."
    else:
        yield f"{_counted(result['files'], 'file')} in all."
    yield from _risk(result["risk"], screen)
    yield from _said(result, screen)


def _dependencies(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    for title, key in (("imports", "imports"), ("imported by", "importedBy")):
        if result[key]:
            yield screen.paint(title, "bold")
        for one in result[key]:
            target = _plain(one["path"]) if one.get("path") else f"{_plain(one.get('module', ''))} (external)"
            yield f"  {target}"
    for title in ("direct", "indirect"):
        if result[title]:
            yield screen.paint(f"{title} dependents", "bold")
            yield from (f"  {_plain(one['path'])}" for one in result[title])
    if result["exports"]:
        names = ", ".join(_plain(one["name"]) for one in result["exports"])
        yield from screen.wrap(f"exports: {names}", hanging="  ")
    yield from _risk(result["risk"], screen)
    yield from _said(result, screen)


def _path(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    if result["path"] is None:
        yield f"No path of calls and imports leads from {_plain(params.get('from'))} to {_plain(params.get('to'))}."
    for number, one in enumerate(result["path"] or ()):
        if number == 0:
            yield _plain(one["src"])
        yield f"  → {_edge_line(one, screen, 'dst')}"
    yield from _said(result, screen)


def _outline(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    def lines(symbols: Sequence[Result], depth: int) -> Iterator[str]:
        for one in symbols:
            signature = _plain(one.get("signature") or "").strip()
            shown = f"  {screen.paint(cut(signature, 90), 'dim')}" if signature else ""
            name = screen.paint(_plain(one["name"]), "cyan")
            yield f"{one['line']:>6}  {'  ' * depth}{_plain(one['kind'])} {name}{shown}"
            yield from lines(one["children"], depth + 1)

    yield from lines(result["symbols"], 0)
    if not result["symbols"]:
        yield "It defines nothing that the graph knows."
    yield from _said(result, screen)


def _stats(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    names = ("files", "symbols", "references", "imports", "exports", "edges")
    yield ", ".join(f"{name} {result[name]:,}" for name in names)
    yield f"{result['bytes'] / 1e6:.1f} MB on the disk; {result['unresolved']:,} call sites not resolved"
    rows = [Row([_plain(language), f"{files:,}"]) for language, files in result["languages"].items()]
    if rows:
        yield from table(screen, ["LANGUAGE", "FILES"], rows)
    yield from _skipped(result)
    if result["staleFiles"]:
        yield f"{_counted(result['staleFiles'], 'file')} changed and not yet read again."
    yield from _said(result, screen)


def _export(_params: Result, result: Result, _screen: Screen) -> Iterator[str]:
    # One JSON object a line, as it is: this is for programs.
    yield str(result["content"]).rstrip("\n")


def index_line(index: Result) -> str:
    """The line on the graph in a status: how large it is, or why it is not there."""
    state = _plain(index["state"])
    if state == "absent":
        return "code graph: none yet; the first graph command makes it"
    if state == "disabled":
        return "code graph: switched off (index.enabled)"
    size = f"{_counted(index['files'], 'file')}, {_counted(index['symbols'], 'symbol')}"
    reason = f" {_plain(index['reason'])}" if index.get("reason") else ""
    return f"code graph: {state}, {size}{reason}"


RENDERERS: Mapping[str, Callable[[Result, Result, Screen], Iterator[str]]] = {
    "graph_index": _index,
    "graph_search": _search,
    "graph_symbol": _symbol,
    "graph_callers": _edges("src", "Nobody that the graph knows of calls it."),
    "graph_callees": _edges("dst", "It calls nothing that the graph knows of."),
    "graph_dependencies": _dependencies,
    "graph_impact": _impact,
    "graph_path": _path,
    "graph_outline": _outline,
    "graph_stats": _stats,
    "graph_export": _export,
}
