"""Edges of JavaScript and TypeScript: small projects, and what each call, reference and import means."""

from __future__ import annotations

import random

import pytest

from tests.unit.graph.cases import cases
from tests.unit.graph.edges import edges, loose
from tests.unit.graph.test_resolve_go import follow

CASES = cases("ecma/resolve.txt")


@pytest.mark.parametrize("name", CASES)
def test_calls(name: str) -> None:
    *files, (title, expected) = CASES[name].items()
    assert title == "calls"
    assert edges(dict(files)) == [f"{line} call" for line in expected.splitlines()]


def test_references_inheritance_and_imports() -> None:
    files = {
        "a.ts": 'import { type B, K, f } from "./b";\nimport * as ns from "./b";\nimport "./b";\n'
        "export { g as h } from './b';\nexport * from './b';\n"
        "class C extends ns.D implements B { x: B = K; go() { each(f); return this.x; } }\n"
        "interface J extends B {}\nfunction each(f: () => void) {}",
        "b.ts": "export interface B {}\nexport const K = 1;\nexport function f() {}\nexport function g() {}\n"
        "export class D {}",
    }
    assert edges(files, ("reference", "inherit", "import")) == [
        "a.ts# -> b.ts#B import",
        "a.ts# -> b.ts#K import",
        "a.ts# -> b.ts#f import",
        "a.ts# -> b.ts# import",
        "a.ts# -> b.ts# import",
        "a.ts# -> b.ts#g import",
        "a.ts# -> b.ts# import",
        "a.ts#C -> b.ts#D inherit",
        "a.ts#C -> b.ts#B inherit",
        "a.ts#C -> b.ts#B reference",
        "a.ts#C -> b.ts#K reference",
        "a.ts#C.go -> b.ts#f reference",
        "a.ts#C.go -> a.ts#C.x reference",
        "a.ts#J -> b.ts#B inherit",
    ]


def test_a_function_expression_sees_its_own_name() -> None:
    """ECMA-262, 15.2.5: before what the file imports under that name, and behind what its body declares."""
    files = {
        "u.ts": "export function util() {}",
        "a.ts": "import { util } from './u';\nconst made = function util() { util(); };\nutil();\n"
        "const other = function util() { const util = () => 1; util(); };",
    }
    assert edges(files) == [
        "a.ts#made -> a.ts#made call",
        "a.ts# -> u.ts#util call",
        "a.ts#other -> a.ts#other.util call",
    ]


def test_what_is_not_found_may_be_ours() -> None:
    source = 'import p from "path";\nfunction f(x) { x.run(); gone(); p.join(); console.log(); [1].map(String); }'
    assert loose({"a.js": source}) == ["run", "gone"]


def test_the_number_of_a_file_is_no_kind_of_value() -> None:
    """Numbers of files count up from 1, as kinds of values do: a class in any file has its own members."""
    files = {f"f{number:02}.ts": "export class A { run() {} } new A().run();" for number in range(20)}
    assert edges(files) == [f"{path}# -> {path}#{name} call" for path in sorted(files) for name in ("A", "A.run")]


def test_never_across_languages() -> None:
    files = {"a.ts": "import { f } from './b'; f(); g();", "b.py": "def f(): pass\ndef g(): pass\n"}
    assert edges(files) == []


def test_type_arguments_that_grow_end() -> None:
    source = (
        "class N<T> { wrap(): N<N<T>> { return this.wrap().wrap().wrap(); } run() {} }\n"
        "function grow<T>(x: T): T[] { return grow([x]) as any; }\n"
        "new N<string>().wrap().wrap().wrap().wrap().wrap().wrap().wrap().run(); grow(1);"
    )
    assert "a.ts# -> a.ts#N.run call" in edges({"a.ts": source})


POOL = {
    "package.json": ['{"name": "root", "workspaces": ["p"]}', '{"name": "p2"}'],
    "tsconfig.json": [
        '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
        '{"compilerOptions": {"baseUrl": "lib"}}',
    ],
    "p/package.json": ['{"name": "pkg", "main": "index.js"}', '{"name": "other", "main": "index.js"}'],
    "p/index.js": ["exports.f = function () { g(); };", "function g() {}", "module.exports = { f() {}, h: g };"],
    "src/a.ts": [
        'import { A, f } from "./b";',
        'import * as barrel from "@/index";',
        'import { f as pf } from "pkg";',
        'import d from "./c";',
        "function main(a: A<T>) { a.get().run(); f().run(); a.x.run(); d(); pf(); barrel.f(); }",
        "class T { run() { this.run(); } }",
        "class S extends A<T> { go() { this.get().run(); super.get(); } }",
        "const xs: A<T>[] = []; xs.map((x) => x.get()).forEach((t) => t.run());",
        'take((a) => a.get(), { on(b) { b.get(); } }); import { take } from "./b";',
    ],
    "src/b.ts": [
        "export class A<U> { get(): U { throw 1; } x: A<U>; }",
        "export function f() { return new A(); }",
        "export const f = () => other();",
        "function other() { return { run() {} }; }",
        'export * from "./c";',
        "export function take(f: (a: A<string>) => void, o?: { on(b: A<number>): void }) {}",
        "export type { U as A } from './c';",
    ],
    "src/c.ts": [
        "export default function c() {}",
        "export default class { run() {} }",
        "export function f() { return 1; }",
        'import { A } from "./b";',
        "export class U extends A<string> { run() {} x = new U(); }",
        'export { A as Z } from "./b";',
    ],
    "src/index.ts": ['export * from "./b";', 'export * from "./c";', 'export { default as f } from "./c";'],
    "lib/pkg.js": ["exports.f = () => {};"],
    "g.js": ["function gone() {}", "var run = 1;"],
}


def _text(lines: list[str], path: str, random_: random.Random) -> str:
    if path.endswith(".json"):
        return random_.choice(lines)
    kept = [line for line in lines if random_.random() < 0.7]
    random_.shuffle(kept)
    return "\n" * random_.randrange(3) + "\n".join(kept) + "\n"


def test_two_hundred_edits() -> None:
    """ "What goes wrong in others": incremental must equal a rebuild, also after lines shift."""
    random_ = random.Random(5)
    present = set(POOL)
    steps: list[dict[str, str | None]] = []
    for _ in range(200):
        path = random_.choice(list(POOL))
        if path in present and random_.random() < 0.15:
            present.discard(path)
            steps.append({path: None})
            continue
        present.add(path)
        steps.append({path: _text(POOL[path], path, random_)})
    follow({path: _text(lines, path, random_) for path, lines in POOL.items()}, steps)
