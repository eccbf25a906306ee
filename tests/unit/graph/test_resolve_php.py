"""PHP: edges of small projects."""

from __future__ import annotations

import json

import pytest

from tests.unit.graph.edges import edges, loose

DEP = """<?php
namespace X;
class Dep { const ONE = 1; public Dep $next; static function make(): static {} function run() {} }
trait Mix { function mixed() { return $this->own(); } abstract function own(); function twice() {} }
interface Runs { function run(); }
function help(): Dep {}
const LIMIT = 2;
enum Suit { case Hearts; function label() {} const BEST = self::Hearts; }
"""


def told(body: str, head: str = "namespace N; use X\\{Dep, Mix, Suit, Runs};", **more: str) -> list[str]:
    """The calls of a class A with ``body``, without the file of Dep before what is called."""
    files = {"A.php": f"<?php {head} class A {{ {body} }}", "Dep.php": DEP}
    files |= {f"{name}.php": text for name, text in more.items()}
    found = [line for line in edges(files) if line.startswith("A.php")]
    return [line.split(" -> ")[1].removeprefix("Dep.php#").removesuffix(" call") for line in found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("function f() { new Dep; new \\X\\Dep(1); }", ["Dep", "Dep"], id="new is of the class"),
        pytest.param("function f(Dep $d) { $d->run(); $d?->run(); }", ["Dep.run"] * 2, id="a parameter's type"),
        pytest.param("function f(?Dep $d) { $d->RUN(); }", ["Dep.run"], id="methods have no case"),
        pytest.param("private Dep $d; function f() { $this->d->next->run(); }", ["Dep.run"], id="typed properties"),
        pytest.param(
            "function __construct(private Dep $d) {} function f() { $this->d->run(); }", ["Dep.run"], id="promoted"
        ),
        pytest.param(
            "private $d; function __construct() { $this->d = new Dep; } function f() { $this->d->run(); }",
            ["Dep", "Dep.run"],
            id="a property by what it is given",
        ),
        pytest.param("function f() { Dep::make()->run(); }", ["Dep.make", "Dep.run"], id="static calls"),
        pytest.param(
            "static function g(): self {} function f() { self::g()->h(); static::g(); (new static)->h(); } "
            "function h() {}",
            ["A.php#A.g", "A.php#A.h", "A.php#A.g", "A.php#A", "A.php#A.h"],
            id="self and static",
        ),
        pytest.param("use Mix; function own() {} function f() { $this->mixed(); }", ["Mix.mixed"], id="traits"),
        pytest.param(
            "use Mix { twice as two; } function f() { $this->two(); $this->twice(); }", ["Mix.twice"] * 2, id="aliases"
        ),
        pytest.param(
            "function f() { Suit::Hearts->label(); Suit::BEST->label(); Suit::from(1)->label(); "
            "foreach (Suit::cases() as $s) { $s->label(); } }",
            ["Suit.label"] * 4,
            id="enums",
        ),
        pytest.param(
            "function f($d, $e, $g) { if ($d instanceof Dep) { $d->run(); } $d->run(); "
            "if (!$e instanceof Dep) { return; } $e->run(); assert($g instanceof Dep); $g->run(); }",
            ["Dep.run"] * 3,
            id="instanceof",
        ),
        pytest.param(
            "function f($d) { if ($d instanceof Dep) { $d = 1; $d->run(); } "
            "if ($d instanceof Dep || $x) { $d->run(); } }",
            [],
            id="instanceof that no longer holds",
        ),
        pytest.param(
            "function f(Dep $d) { $d = new \\Other; $d->run(); $d = new Dep; $d->run(); }",
            ["Dep", "Dep.run"],
            id="what a variable holds now",
        ),
        pytest.param(
            "function f(Dep $d) { $a = fn() => $d; $a()->run(); $b = function () use ($d) { $d->run(); }; "
            "$c = function () { $d->run(); }; }",
            ["Dep.run"] * 2,
            id="closures see what they use",
        ),
        pytest.param(
            "/** @return Dep[] */ function g() {} function f() { foreach ($this->g() as $d) { $d->run(); } "
            "$this->g()[0]->run(); array_map(fn($x) => $x->run(), $this->g()); }",
            ["A.php#A.g", "Dep.run", "A.php#A.g", "Dep.run", "Dep.run", "A.php#A.g"],
            id="arrays by comments",
        ),
        pytest.param(
            "/** @template T\n * @param class-string<T> $c\n * @return T */ function g($c) {} "
            "function f() { $this->g(Dep::class)->run(); }",
            ["A.php#A.g", "Dep.run"],
            id="the class that is given",
        ),
        pytest.param(
            "function g() { return [new Dep, new self]; } function f() { [$a, $b] = $this->g(); $a->run(); $b->g(); }",
            ["Dep", "A.php#A", "A.php#A.g", "Dep.run", "A.php#A.g"],
            id="parts of an array",
        ),
        pytest.param(
            "function f() { try {} catch (Dep $e) { $e->run(); } (match (1) { 1 => new Dep })->run(); "
            "(1 ? new Dep : null)->run(); (clone new Dep)->run(); }",
            ["Dep.run", *["Dep", "Dep.run"] * 3],
            id="values",
        ),
        pytest.param("function __invoke() {} function f(A $a) { $a(1); }", ["A.php#A.__invoke"], id="an object called"),
        pytest.param(
            "function f() { $g = $this->h(...); $g(); } function h() {}", ["A.php#A.h"], id="a method in a variable"
        ),
        pytest.param("function f(Runs $r) { $r->run(); }", ["Runs.run"], id="interfaces"),
        pytest.param("function f($r) { $r->run(); Run(); $this->run(); A::run(); }", [], id="no call by bare name"),
        pytest.param("public $run; function f() { $this->run; }", [], id="a property is no method"),
        pytest.param("function f(Unknown $u) { $u->run(); strlen(1); new \\Dep; }", [], id="of a library"),
    ],
)
def test_calls(body: str, expected: list[str]) -> None:
    assert told(body) == expected


@pytest.mark.parametrize(
    ("head", "call", "expected"),
    [
        pytest.param("namespace X;", "help()->run();", ["help", "Dep.run"], id="the same namespace"),
        pytest.param("namespace X;", "glob(); \\glob();", ["G.php#glob"] * 2, id="or the global one"),
        pytest.param("namespace X;", "both();", ["B.php#both"], id="the nearer one first"),
        pytest.param("namespace Y;", "both();", ["G.php#both"], id="and no other"),
        pytest.param("namespace Y;", "help(); new Dep;", [], id="another namespace is not seen"),
        pytest.param("namespace X;", "new Glob;", [], id="classes have no second chance"),
        pytest.param("namespace Y; use function X\\help;", "help();", ["help"], id="use function"),
        pytest.param("namespace Y; use function X\\help as h;", "H();", ["help"], id="an alias without case"),
        pytest.param("namespace Y; use X\\help;", "help();", [], id="use of a class brings no function"),
        pytest.param("namespace Y; use X as Z;", "Z\\help(); new Z\\Dep;", ["help", "Dep"], id="a namespace's alias"),
        pytest.param("namespace X\\Y;", "namespace\\deep();", ["B.php#X\\Y.deep"], id="namespace\\"),
        pytest.param("", "X\\help(); glob();", ["help", "G.php#glob"], id="without a namespace"),
    ],
)
def test_names(head: str, call: str, expected: list[str]) -> None:
    glob = "<?php function glob() {} class Glob {} function both() {}"
    more = "<?php namespace X { function both() {} } namespace X\\Y { function deep() {} }"
    found = told(f"function f() {{ {call} }}", head, G=glob, B=more)
    assert [line.replace("B.php#X.", "B.php#") for line in found] == expected


def test_what_is_inherited() -> None:
    base = (
        "<?php namespace N; abstract class Base extends \\Lib\\Root { function up() {} function go(): static {} "
        "function twice() {} /** @return $this */ function same() {} } class Sealed { function __call($n, $a) {} }"
    )
    body = (
        "use Mix; function f(Sealed $s) { $this->up(); parent::up(); $this->twice(); parent::twice(); "
        "$this->go()->f($s); $this->same()->f($s); $this->libs(); $s->any(); } function up() {}"
    )
    found = told("} class C extends Base { " + body, Base=base)
    assert found == [
        *("A.php#C.up", "Base.php#Base.up", "Mix.twice", "Base.php#Base.twice"),
        *("Base.php#Base.go", "A.php#C.f", "Base.php#Base.same", "A.php#C.f"),
    ]


def test_references_and_imports() -> None:
    files = {
        "sub/A.php": "<?php namespace N; use X\\Dep; use function X\\help; use const X\\LIMIT; use Lib\\Gone;"
        "require __DIR__ . '/../Dep.php'; require 'gone.php'; class A extends Dep { private Dep $d;"
        "function f(A $x) { LIMIT; \\X\\LIMIT; PHP_EOL; $x->d; Dep::ONE; Dep::class; $x instanceof Dep; help(...); } }",
        "Dep.php": DEP,
    }
    found = [line for line in edges(files, ("reference", "inherit", "import")) if line.startswith("sub")]
    assert [line.split(" -> ")[1].replace("Dep.php#", "") for line in found] == [
        *("Dep import", "help import", "LIMIT import", " import"),
        *("Dep inherit", "Dep reference", "sub/A.php#A reference", "LIMIT reference", "LIMIT reference"),
        *("sub/A.php#A.$d reference", "Dep reference", "Dep.ONE reference", "Dep reference", "Dep reference"),
        "help reference",
    ]


TWICE = "<?php namespace P; class D { function go() {} }"
PSR4 = json.dumps({"autoload": {"psr-4": {"P\\": "src/"}}})


@pytest.mark.parametrize(
    ("files", "caller", "expected"),
    [
        pytest.param({"src/D.php": TWICE}, "", ["src/D.php#D.go"], id="one declaration, wherever it is"),
        pytest.param({"src/D.php": TWICE, "old/D.php": TWICE}, "", [], id="two, and nothing to tell them apart"),
        pytest.param(
            {"src/D.php": TWICE, "old/D.php": TWICE, "composer.json": PSR4}, "", ["src/D.php#D.go"], id="composer.json"
        ),
        pytest.param(
            {"src/D.php": TWICE, "old/D.php": TWICE, "composer.json": '{"autoload": 1'},
            "",
            [],
            id="broken composer.json",
        ),
        pytest.param(
            {"src/D.php": TWICE, "old/D.php": TWICE}, "require 'old/D.php';", ["old/D.php#D.go"], id="what is included"
        ),
        pytest.param(
            {"src/D.php": TWICE, "composer.json": PSR4},
            "class D { function go() {} }",
            ["a.php#D.go"],
            id="the file's own",
        ),
    ],
)
def test_what_several_files_declare(files: dict[str, str], caller: str, expected: list[str]) -> None:
    files = {**files, "a.php": f"<?php namespace P; {caller} function f(D $d) {{ $d->go(); }}"}
    found = [line.split(" -> ")[1].removesuffix(" call") for line in edges(files) if line.startswith("a.php")]
    assert found == expected


def test_what_define_makes_is_in_no_namespace() -> None:
    files = {"a.php": "<?php namespace N; define('K', 1);", "b.php": "<?php namespace M; echo K, \\K, \\N\\K, \\M\\K;"}
    assert edges(files, ("reference",)) == ["b.php# -> a.php#K reference"] * 2


def test_what_one_file_declares_again_and_again() -> None:
    either = "if (X) { function f() {} } else { function f() {} } f();"
    assert edges({"a.php": f"<?php {either}"}) == ["a.php# -> a.php#f call", "a.php# -> a.php#f~2 call"]
    assert edges({"a.php": "<?php " + "function f() {} f();" * 500}) == []


def test_calls_into_libraries_stay_external_and_bare_names_are_no_ground() -> None:
    files = {
        "a.php": "<?php namespace N; function f($u, Lib $l) { $u->go(); $l->trim(); helper(); Gone::go(); $u(); }",
        "b.php": "<?php namespace M; function helper() {} class B { function go() {} function trim() {} }",
        "h.py": "def helper(): pass\n",
    }
    assert edges(files) == []
    assert loose(files) == ["go"]
