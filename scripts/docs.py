"""Writes docs/protocol.md from the registry of operations: names, tiers, parameters and results as the code has them.

python scripts/docs.py            write the page
python scripts/docs.py --check    exit 1 when the page in the repository is another one
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from ombud.operations.registry import Operation, operation
from ombud.operations.table import OPERATIONS, camel

PAGE = Path(__file__).resolve().parent.parent / "docs" / "protocol.md"

HEAD = """\
# Ombud's operations

*Made by `scripts/docs.py` from the code; change it there.*

An operation is called in the same shape through three faces:

| face | how |
|---|---|
| LSP request | method `ombud/<camelCase name>`, params and result as JSON objects |
| LSP command | `workspace/executeCommand`, command `ombud.<camelCase name>`, arguments `[params]` |
| command line | `ombud <kebab-case name> [--param value …]`, `--json` for the exact result object |

Unknown parameters are refused by name. An error is a JSON-RPC error: -32602 for a bad argument, -32800 cancelled,
-32801 content modified, -32803 for everything else; `data.kind` is a stable word and `message` says what to do next.

`path` is relative to the first workspace folder, absolute, or a `file:` URI, and must lie in a workspace folder. A
place is an LSP `position` (zero-based, UTF-16), or a one-based `line` with a `symbol` on it; `name#2` is its second
occurrence there. Results carry both: `line`/`endLine` one-based and `range`, with `text`, the first source line.

A field of a result that would be `null`, `false`, 0 or an empty list may be left out.
"""


def page() -> str:
    """The whole page."""
    every = [operation(name) for name in OPERATIONS]
    uses = Counter(shape for one in every for shape in shapes(one))
    common = [shape for shape, times in uses.items() if times > 1]
    parts = [HEAD, *(section(one, common) for one in every)]
    out = ["## Shapes of several operations"]
    for shape in common:
        out += ["", f"`{shape.__name__}`:", "", *table(shape, with_default=False)]
    return "\n".join([*parts, *out, ""])


def shapes(one: Operation) -> list[type[msgspec.Struct]]:
    """The structs that an operation's parameters and result are made of."""
    return list(dict.fromkeys(nested(one.params) + nested(one.result)))


def section(one: Operation, common: list[type[msgspec.Struct]]) -> str:
    """One operation, with those of its shapes that are not in ``common``."""
    module = inspect.getmodule(one.run)
    raises = inspect.getdoc(one.run) or ""
    paragraphs = (inspect.getdoc(module) or "").split("\n\n")
    out = [f"## {one.name}", "", f"`ombud/{camel(one.name)}` · tier `{one.tier}`", ""]
    out += ["\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).replace("``", "`"), ""]
    if raises:
        out += [" ".join(raises.split()).replace("``", "`"), ""]
    out += ["**Parameters**", "", *table(one.params, with_default=True), ""]
    out += ["**Result**", "", *table(one.result, with_default=False)]
    own = [shape for shape in shapes(one) if shape not in common]
    for shape in own:
        out += ["", f"`{shape.__name__}`:", "", *table(shape, with_default=False)]
    if len(own) < len(shapes(one)):
        out += ["", "Shapes that are not explained here are [at the end](#shapes-of-several-operations)."]
    return "\n".join(out) + "\n"


def table(shape: type[msgspec.Struct], *, with_default: bool) -> list[str]:
    """The fields of a struct; ``none`` where it has none."""
    fields = msgspec.structs.fields(shape)
    if not fields:
        return ["none"]
    notes = field_notes(shape)
    rows = ["| name | type | | |", "|---|---|---|---|"] if with_default else ["| name | type | |", "|---|---|---|"]
    for field in fields:
        kind = word(field.type).replace("|", "\\|")
        note = notes.get(field.name, "").replace("``", "`")
        cells = [f"`{field.encode_name}`", kind, note]
        if with_default:
            cells.insert(2, "required" if field.required else "")
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def field_notes(shape: type[msgspec.Struct]) -> dict[str, str]:
    """The docstrings under the fields, and the descriptions of annotated ones."""
    notes: dict[str, str] = {}
    tree = ast.parse(textwrap.dedent(inspect.getsource(shape))).body[0]
    assert isinstance(tree, ast.ClassDef)
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(after, ast.Expr):
            value = after.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                notes[before.target.id] = " ".join(value.value.split())
    properties = msgspec.json.schema_components([shape])[1].get(shape.__name__, {}).get("properties", {})
    for field in msgspec.structs.fields(shape):
        described = str(properties.get(field.encode_name, {})).partition("'description': '")[2].partition("'")[0]
        if described:
            notes.setdefault(field.name, described)
    return notes


def word(kind: Any) -> str:
    """A type as a reader of JSON knows it."""
    schema = msgspec.json.schema_components([kind], ref_template="{name}")[0][0]
    return spell(schema)


def spell(schema: dict[str, Any]) -> str:
    """A JSON Schema in one line."""
    if "$ref" in schema:
        return f"`{schema['$ref']}`" if schema["$ref"] not in ("Range", "Position") else schema["$ref"]
    if "anyOf" in schema:
        return " \\| ".join(spell(one) for one in schema["anyOf"]).replace("\\|", "|")
    if "enum" in schema:
        return " | ".join("null" if value is None else f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(kind)
    if kind == "array":
        return f"[{spell(schema.get('items', {}))}]"
    return str(kind)


def nested(shape: type[msgspec.Struct], seen: set[str] | None = None) -> list[type[msgspec.Struct]]:
    """The structs of ours that a struct is made of, each once, in the order they appear."""
    found: list[type[msgspec.Struct]] = []
    seen = seen if seen is not None else set()
    for field in msgspec.structs.fields(shape):
        for inner in structs_in(msgspec.inspect.type_info(field.type)):
            if inner.__name__ not in seen and inner.__module__.startswith("ombud.operations"):
                seen.add(inner.__name__)
                found += [inner, *nested(inner, seen)]
    return found


def structs_in(info: Any) -> list[type[msgspec.Struct]]:
    if isinstance(info, msgspec.inspect.StructType):
        return [info.cls]
    inner = [getattr(info, name, None) for name in ("item_type", "type", "value_type")] + list(
        getattr(info, "types", ())
    )
    return [one for part in inner if isinstance(part, msgspec.inspect.Type) for one in structs_in(part)]


def main() -> int:
    """Write or check."""
    text = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print("docs/protocol.md is not what the code says; run: .venv/bin/python scripts/docs.py", file=sys.stderr)
            return 1
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
