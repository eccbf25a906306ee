"""Facts of PHP: what is told of small texts."""

from __future__ import annotations

import random

import pytest
from ombud.graph.extract import extract
from ombud.graph.packed import encode

from tests.unit.graph.told import Case, Told

CASES = [
    Case(
        "classes, members and what they say of themselves",
        "symbols",
        """\
<?php
namespace N\\M;
abstract class A extends B implements I {
  use T;
  public const string MAX = 1, MIN = 2;
  private ?D $d = null, $e;
  static int|D $f;
  public string $hook { get => $this->x; }
  public function __construct(private readonly D $made, int ...$rest) {}
  abstract protected static function m(D&I $a, $b = 1): ?static;
}
enum Suit: string implements I { case Hearts = 'H'; const W = self::Hearts; }
interface I { function run(); }
trait T {}
const TOP = 1;
define('OLD', 5);
function &give(array $xs): \\G\\X { $local = 1; return new class { public $own; }; }
$global = 1;
""",
        [
            "class A exported abstract",
            "constant A.MAX exported static = 'int",
            "constant A.MIN exported static = 'int",
            "property A.$d private : D",
            "property A.$e private : D",
            "property A.$f exported static : 'int or D",
            "property A.$hook exported : 'string",
            "constructor A.__construct exported",
            "property A.$made private : D",
            "method A.m exported static abstract : class",
            "enum Suit exported",
            "enumMember Suit.Hearts exported static : class",
            "constant Suit.W exported static = class.Hearts",
            "interface I exported",
            "method I.run exported abstract",
            "trait T exported",
            "constant TOP exported = 'int",
            "function give exported : \\G\\X",
            "class give.class@anonymous",
            "property give.class@anonymous.$own",
            "variable $global exported",
            "constant OLD exported = 'int",
        ],
    ),
    Case(
        "several namespaces are symbols, a single one is the package",
        "symbols",
        "<?php namespace One; class A {} function f() {} namespace Two\\Three { class A {} }",
        [
            "namespace One exported",
            "namespace Two\\Three exported",
            "class One.A exported",
            "function One.f exported",
            "class Two\\Three.A exported",
        ],
    ),
    Case(
        "tests of PHPUnit",
        "symbols",
        "<?php class ATest extends TestCase { function testOne() {} #[Test] function two() {}\n"
        "/** @test\n */ function three() {} function helper() {} }",
        [
            "class ATest exported test",
            "method ATest.testOne exported test",
            "method ATest.two exported test",
            "method ATest.three exported test",
            "method ATest.helper exported",
        ],
    ),
    Case(
        "what is bound",
        "bindings",
        """\
<?php
function f(D $d, $e = new E, ?F ...$more) {
  $x = $d->go(); [$a, [$b]] = $x; ['k' => $k] = $x; foreach ($more as $i => $m) {}
  try {} catch (X | \\Y $z) {} $n[] = new D; $o ??= D::make(); static $s = 1; global $g;
  if ($x instanceof D && $x->y) {} if (!$x instanceof E) { return; } $u = clone $d ?: (D::class);
  $v = match (1) { 1 => $d, default => E::ONE };
}
""",
        [
            "f $d parameter = a D",
            "f $e parameter = a E",
            "f $more parameter = 'array<a F>",
            "f $x value = $d.go()(0)",
            "f $a value = elem($x, 1)",
            "f $b value = elem(elem($x, 2), 1)",
            "f $k value = $x[]",
            "f $i value = ?",
            "f $m value = elem($more)",
            "f $z value = a X or \\Y",
            "f $n value = 'array<a D>",
            "f $o value = D.make()(0)",
            "f $s value = 'int",
            "f $u value = $d or 'class-string<a D>",
            "f $v value = $d or E.ONE",
            "f $x narrowed = a D",
            "f $x narrowed = a D",
            "f $x narrowed = a E",
        ],
    ),
    Case(
        "closures",
        "bindings",
        "<?php function f($xs) { $a = fn(D $d) => $d->x; $b = function () use ($a, &$xs): E { return 1; };\n"
        "array_map(fn($x) => $x, $xs); $c = function () { return new D; }; }",
        [
            "f $xs parameter = ?",
            "λ $d parameter = a D",
            "λ <arrow> value = ?",
            "λ <return> value = $d.$x",
            "λ <return> value = a E",
            "λ $a value = $a",
            "λ $xs value = $xs",
            "λ $x parameter = ?",
            "λ $x value = elem($xs)",
            "λ <arrow> value = ?",
            "λ <return> value = $x",
            "f $a value = λ",
            "f $b value = λ",
            "f $c value = λ",
            "λ <return> value = a D",
        ],
    ),
    Case(
        "what comments say of types",
        "bindings",
        """\
<?php
/** @param array<int, D>|null $a
 *  @param E[] $b
 *  @param class-string<D> $c
 *  @param array{x: D} $d
 *  @param string|G $e
 *  @param G $f
 *  @param Box<D, (E|F)> $g */
function f(array $a, $b, $c, $d, $e, H $f, $g) {
  /** @var D $x */
  $x = get();
  /** @var E $y */
  /** @var F $z */
  foreach ($b as $z) {}
}
""",
        [
            "f $a parameter = a 'array<a D>",
            "f $b parameter = a 'array<a E>",
            "f $c parameter = a 'class-string<a D>",
            "f $d parameter = a 'array",
            "f $e parameter = a 'string or G",
            "f $f parameter = a H",
            "f $g parameter = a Box<D, E or F>",
            "f $x value = a D",
            "f $y value = a E",
            "f $z value = a F",
        ],
    ),
    Case(
        "calls",
        "sites",
        """\
<?php
f(1); \\g(); namespace\\h(); a\\i(); $x->m()?->n(); A::s(); self::t(); parent::u(); new A; new \\B\\C(1); new static;
$v(); $x->$dynamic(); ref(...); $x->ref(...); A::{$y}(); unknown()[0]->o(); "t {$x->p()}"; isset($x); (fn() => 1)();
""",
        [
            "call f = f()",
            "call g = \\g()",
            "call h = namespace\\h()",
            "call i = a\\i()",
            "call m = $x.m()",
            "call n = $x.m()(0).n()",
            "reference A = A",
            "call s = A.s()",
            "call t = class.t()",
            "call u = ?.u()",
            "call A = A",
            "call C = \\B\\C",
            "call static = class",
            "call $v = $v",
            "reference ref = ref()",
            "reference ref = $x.ref()",
            "reference A = A",
            "call unknown = unknown()",
            "call o = unknown()(0)[].o()",
            "call p = $x.p()",
        ],
    ),
    Case(
        "names of classes, members and constants are references, variables are not",
        "sites",
        """\
<?php
#[Mark(KEY)] class A extends \\P\\B implements I {
  use T1, T2 { T1::a insteadof T2; b as c; }
  private D|E $d = Other::ONE; const X = TOP, Y = self::X;
  function go(?D $par, $q = TOP): N\\R {
    $l = $par; $this->d = 1; $l->f; self::$s; A::X; $l instanceof D; $l::class; E::class; try {} catch (F $e) {}
    return TOP . \\N\\C . f(name: TOP, k: $l[KEY]) . "$l[key]" . __DIR__ . true;
  }
}
""",
        [
            "reference Mark = Mark",
            "reference KEY = #KEY",
            "inherit B = \\P\\B",
            "inherit I = I",
            "inherit T1 = T1",
            "inherit T2 = T2",
            "reference T1 = T1",
            "reference a = T1.a()",
            "reference T2 = T2",
            "reference b = T1 or T2.b()",
            "reference D = D",
            "reference E = E",
            "reference Other = Other",
            "reference ONE = Other.ONE",
            "reference TOP = #TOP",
            "reference X = class.X",
            "reference D = D",
            "reference TOP = #TOP",
            "reference R = N\\R",
            "reference d = self.$d",
            "reference f = $l.$f",
            "reference $s = class.$s",
            "reference A = A",
            "reference X = A.X",
            "reference D = D",
            "reference E = E",
            "reference F = F",
            "reference TOP = #TOP",
            "reference C = #\\N\\C",
            "call f = f()",
            "reference TOP = #TOP",
            "reference KEY = #KEY",
        ],
    ),
    Case(
        "uses and includes",
        "imports",
        """\
<?php
use A\\B as C, D; use function A\\f; use const A\\X; use A\\{E\\F, function g as h, const Y};
require 'a.php'; require_once __DIR__ . '/b.php'; include(dirname(__FILE__, 2) . '/c/d.php'); include $path;
include dirname(__DIR__) . "/e.php"; require ROOT . '/f.php';
""",
        [
            "A:B as C 0",
            ":D as D 0",
            "A:f as f 128",
            "A:X as X 256",
            "A\\E:F as F 0",
            "A:g as h 128",
            "A:Y as Y 256",
            "a.php: as  0",
            "./b.php: as  0",
            "./../c/d.php: as  0",
            "./../e.php: as  0",
        ],
    ),
]


CASES += [
    Case(
        "comments and assignments hold in the order of the text",
        "bindings",
        "<?php function f($x) { /** @var D $x */ g(); $x = new E; /** @var F $x */\n}",
        ["f $x parameter = ?", "f $x value = a D", "f $x value = a E"],
    ),
    Case(
        "what is behind __halt_compiler is data",
        "sites",
        "<?php f(); '__halt_compiler()'; __HALT_COMPILER();\ng(); class A {}",
        ["call f = f()", "call __HALT_COMPILER = __HALT_COMPILER()"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_text_says(case: Case) -> None:
    case.check("php")


def test_where_a_definition_begins_and_what_is_said_of_it() -> None:
    source = """\
<?php
namespace N\\M;
/** Makes things. */
#[Mark]
final class Ä extends B {
  /**
   * Goes.
   */
  #[Mark] public function go(int $n, int $k = 1): ?B { return null; }
  function more(...$rest) {}
}
"""
    told = Told("php", source)
    assert told.facts.package == "N\\M"
    made, go, more = told.facts.symbols[1:]
    assert (made.range[:2], made.at) == ((4, 0), (4, 12, 1))
    assert (made.signature, made.doc) == ("final class Ä extends B", "Makes things.")
    assert (go.range[:2], go.at) == ((8, 10), (8, 26, 2))
    assert (go.signature, go.doc) == ("public function go(int $n, int $k = 1): ?B", "Goes.")
    assert (go.params, go.arity, more.arity) == (["$n", "$k"], (1, 2), (0, -1))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xef\xbb\xbf<?php class A {}", id="a byte order mark"),
        pytest.param(b"<?php class \xffA { function f\xe9() { $this->\xe9(); } }", id="no UTF-8"),
        pytest.param(b"<?php $a" + b"->b()" * 10_000 + b";", id="a long chain"),
        pytest.param(b"<?php $x = 1" + b" . $a" * 10_000 + b";", id="a long sum"),
        pytest.param(b"<?php $x = " + b"(" * 5_000 + b"1" + b")" * 5_000 + b";", id="brackets"),
        pytest.param(b"<?php " + b"[" * 3_000 + b"$a" + b"]" * 3_000 + b" = $b;", id="patterns in patterns"),
        pytest.param(b"<?php /** @var " + b"(A<" * 500 + b" $x */ $x = 1;", id="a comment without an end of its type"),
        pytest.param(b"<?php class {} use ; new; namespace; use A\\{B as}; foreach () {} catch {}", id="halves"),
    ],
)
def test_bad_input_is_read_as_far_as_it_goes(source: bytes) -> None:
    facts = extract("php", source)
    assert facts.symbols[0].kind == 0
    assert encode(extract("php", source)) == encode(facts)


def test_a_variable_of_thousands_of_values_costs_a_few() -> None:
    source = "<?php function f($a) { " + "$a = $a->b(); if ($a instanceof B) { $a->c(); }\n" * 1000 + "}"
    rows = Told("php", source).bindings()
    assert len(rows) == 1 + 200 + 200
    assert "f $a value = ?" in rows, "what it holds from there on is not known"
    chain = Told("php", "<?php $x = $a" + "?->b[0]" * 1000 + ";")
    assert len(chain.facts.exprs) < 12 * 500


def test_texts_with_pieces_cut_out_are_read() -> None:
    random_ = random.Random(5)
    whole = "\n".join(case.source for case in CASES).encode()
    for _ in range(200):
        text = bytearray(whole)
        for _ in range(random_.randrange(1, 10)):
            start = random_.randrange(len(text))
            del text[start : start + random_.randrange(60)]
        Told("php", bytes(text)).sites()
