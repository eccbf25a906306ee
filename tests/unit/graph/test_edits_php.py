"""Random edits of PHP, seeded: what is kept up to date must equal what is made anew.

"What goes wrong in others": incremental must equal a rebuild, also after lines shift.
"""

from __future__ import annotations

import random

import pytest

from tests.unit.graph.test_resolve_go import follow

PHP: dict[str, tuple[list[str], list[str]]] = {
    "src/A.php": (
        ["namespace M; use N\\B;", "namespace M; use N\\{B, C};", "namespace M;", "namespace N;", ""],
        [
            "class A extends B { use Mix; function go(): static { $this->up(); $this->mixed(); parent::go(); } }",
            "class A { private B $b; function go() { $this->b->up(); } }",
            "function f(A $a, $b) { $a->go()->up(); if ($b instanceof B) { $b->go(); } help(); }",
            "function g() { return new C; }",
            "g()->up(); echo LIMIT, B::ONE;",
            "$x = fn(B $b) => $b->next; $x()->up();",
            "require __DIR__ . '/B.php';",
            "class H { use Mix, Mox { Mix::up insteadof Mox; Mox::up as low; } function h() { $this->low(); } }",
            "/** @method C any() @property B $b */ class G { function i() { $this->any()->up(); B::Y->go(); } }",
            "function k() { global $w; /** @var B $v */ $v->next->up(); $w->up(); } $w = help();",
        ],
    ),
    "src/B.php": (
        ["namespace N;", "namespace N; use M\\A as C;", "namespace M;", ""],
        [
            "class B { const ONE = 1; public ?C $next; function go() { return $this; } function up() {} }",
            "abstract class B extends C { function up(): C {} }",
            "class C { function up(): B {} static function make() { return new self; } }",
            "function help() { return new B; }",
            "const LIMIT = 2;",
            "enum B: string { case Y = 'y'; static function go(): self { return self::Y; } function up(): C {} }",
            "class A { public C $b { get { return $this->b->up(); } } /** @return static */ static function go() {} }",
        ],
    ),
    "old/B.php": (
        ["namespace N;", "namespace M;", "namespace N; class A {} namespace M;", ""],
        [
            "class B { function up() {} function go() { help()->up(); } }",
            "trait Mix { function mixed() { $this->go(); } function up() {} }",
            "define('LIMIT', 3);",
            "trait Mox { use Mix; /** @return $this */ function up() {} }",
            "class C extends B { /** @var array<int, B> */ private $b; function up() { return $this->b[0]; } }",
            "function help(): C {}",
        ],
    ),
    "main.php": (
        ["", "use M\\A; use N\\{B as D, C};", "use M\\{A, Mix}; use function N\\help;", "use function M\\f as help;"],
        [
            "/** @param D[] $ds */ function all(array $ds, A $a) { foreach ($ds as $d) { $d->up(); } $a->go(); }",
            "class E extends A { use Mix { mixed as other; } function t() { $this->other(); $this->up(); } }",
            "help()->up(); \\N\\help(); M\\f(1, 2);",
            "C::make()->up(); $e = new E; $e->go()->t();",
            "require 'old/B.php';",
            "function help() { return new A; }",
            "echo LIMIT, \\N\\LIMIT;",
        ],
    ),
    "composer.json": (
        ['{"autoload": {"psr-4": {"N\\\\": "src/"}}}', '{"autoload": {"psr-4": {"N\\\\": ["old"]}}}', "{"],
        [],
    ),
}


def _text(path: str, random_: random.Random) -> str:
    heads, lines = PHP[path]
    head = random_.choice(heads)
    if not lines:
        return head
    kept = [line for line in lines if random_.random() < 0.6]
    random_.shuffle(kept) if random_.random() < 0.3 else None
    return "\n".join(["<?php", *[""] * random_.randrange(3), head, *kept]) + "\n"


@pytest.mark.parametrize("seed", range(6))
def test_two_hundred_edits(seed: int) -> None:
    random_ = random.Random(seed)
    present = dict.fromkeys(PHP)
    files = {path: _text(path, random_) for path in PHP}
    steps: list[dict[str, str | None]] = []
    for _ in range(200):
        path = random_.choice(list(PHP))
        if path in present and random_.random() < 0.15:
            del present[path]
            steps.append({path: None})
            continue
        present[path] = None
        steps.append({path: _text(path, random_)})
    follow(files, steps)
