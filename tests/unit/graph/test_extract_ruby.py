"""Facts of Ruby: what is told of small texts."""

from __future__ import annotations

import pytest
from ombud.graph.extract import extract

from tests.unit.graph.told import Case, Told

CASES = [
    Case(
        "classes, modules and their members",
        "symbols",
        """\
module A::B
  class C < D
    X = 1
    Y ||= E.new
    attr_reader :a, "b"
    attr_writer :w
    def initialize(x); @v = x; @@n = 1; end
    def a?; end
    def self.s; end
    def w=(x); end
    def ==(other); end
    class << self
      def t; end
      attr_accessor :conf
    end
    alias q a?
    define_method(:r) { |x| x }
    private def p1; end
    private
    def p2; end
    public
    def p3; end
    private :p3
    protected def p4; end
  end
end
class A::B::C
  def more; end
end
def top; end
$g = 1
""",
        [
            "namespace A.B exported",
            "class A.B.C exported",
            "constructor A.B.C.initialize exported",
            "method A.B.C.a? exported",
            "method A.B.C.s exported static",
            "method A.B.C.w= exported",
            "method A.B.C.== exported",
            "method A.B.C.t exported static",
            "method A.B.C.r exported",
            "method A.B.C.p1",
            "method A.B.C.p2",
            "method A.B.C.p3",
            "method A.B.C.p4",
            "class A.B.C~2 exported",
            "method A.B.C.more exported",
            "function top exported",
            "constant A.B.C.X exported = 'Integer",
            "constant A.B.C.Y exported = E.new(0)",
            "field A.B.C.@v",
            "field A.B.C.@@n static",
            "variable $g exported",
            "property A.B.C.a exported = @a",
            "property A.B.C.b exported = @b",
            "property A.B.C.w=~2 exported = @w",
            "property A.B.C.conf exported static = <@conf>",
            "method A.B.C.q exported",
        ],
    ),
    Case(
        "classes that calls make",
        "symbols",
        """\
P = Struct.new(:x, :y) do
  def sum; end
end
E = Class.new(StandardError)
M = Module.new { def m; end }
D = Data.define(:z)
N = Other.new(:x)
""",
        [
            "struct P exported",
            "method P.sum exported",
            "class E exported",
            "namespace M exported",
            "method M.m exported",
            "struct D exported",
            "constant N exported = Other.new(1)",
            "property P.x exported = @x",
            "property P.y exported = @y",
            "property D.z exported = @z",
        ],
    ),
    Case(
        "what is bound",
        "bindings",
        """\
def m(a, b = A.new, *c, d:, e: B.new, **f, &g)
  x, (y, z) = a, b
  v ||= b
  for i in c do end
rescue E => err
end
a.tap { |o; l| l = o }
case q
in {name: String => n, age:} then n
end
""",
        [
            *("m a parameter = ?", "m b parameter = A.new(0)", "m c parameter = 'Array", "m d parameter = ?"),
            *("m e parameter = B.new(0)", "m f parameter = 'Hash", "m g parameter = 'Proc"),
            *("m x value = elem(tuple a, b, 1)", "m y value = elem(elem(tuple a, b, 2), 1)"),
            "m z value = elem(elem(tuple a, b, 2), 2)",
            *("m v value = b", "m i value = elem(c)", "m err value = a E"),
            *("λ o parameter = <main>.a(0)", "λ l parameter = ?", "λ l value = o"),
            *("module n value = a String", "module age value = ?", "λ <return> value = o"),
        ],
    ),
    Case(
        "what is called and mentioned",
        "sites",
        """\
class A < B::C
  include D
  def m(x)
    @v = 1
    x.go(E::F)
    self.w = @v
    own
    own? 1
    y = x
    y&.go
    super
    x.each(&:run)
    send(:sent)
    method(:held)
    "#{inner} #{x}"
    {x: own, "k" => G}
    x.()
    x.n += 1
  end
  before :m
end
""",
        [
            *("reference B = B", "inherit C = B.C", "call include = class.include", "inherit D = D"),
            *("call go = x.go", "reference E = E", "reference F = E.F"),
            *("call w = self.w=", "reference @v = @v", "call own = self.own", "call own? = self.own?"),
            *("call go = y.go", "call super = super.m", "call each = x.each", "call run = elem(x).run"),
            *(
                "call send = self.send",
                "call sent = self.sent",
                "call method = self.method",
                "reference held = self.held",
            ),
            *("call inner = self.inner", "call own = self.own", "reference G = G", "call n = x.n"),
            *("call before = class.before", "reference m = self.m"),
        ],
    ),
    Case(
        "imports",
        "imports",
        """\
require "a/b"
require_relative "../c.rb"
require "./d"
load "e.rb"
autoload :F, "f"
require File.join(__dir__, "g", "h")
require "#{__dir__}/i"
require name
""",
        ["a/b: as  0", "../c: as  0", "d: as  0", "e: as  0", "f: as  0", "g/h: as  0", "i: as  0"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_facts(case: Case) -> None:
    case.check("ruby")


def test_texts_of_definitions() -> None:
    source = "# What A is.\n# More.\nclass A < B\n  # Runs.\n  private def run(x, y = 1, *z)\n  end\nend\n"
    _, a, run = Told("ruby", source).facts.symbols
    assert (a.signature, a.doc, a.range, a.at) == ("class A < B", "What A is.\nMore.", (2, 0, 6, 3), (2, 6, 1))
    assert (run.signature, run.doc, run.arity) == ("def run(x, y = 1, *z)", "Runs.", (1, -1))
    assert run.params == ["x", "y", "z"]


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xef\xbb\xbfclass A\nend\n",
        b"class \xff; def \xe9; @\xff = \xff.\xfe; end",
        b"a" + b".b()" * 10_000,
        b"A" + b"::B" * 10_000,
        b"a" + b".b { |x| x }" * 3_000,
        b"x = " + b"1 + " * 10_000 + b"1",
        b"if a then " * 1_500 + b"b" + b" end" * 1_500,
        b"case x\nin " + b"[" * 900 + b"a" + b"]" * 900 + b" then a end",
        b"class A; def m(; end; attr_reader ; include; alias; end end end",
    ],
    ids=["empty", "bom", "no utf-8", "calls", "paths", "blocks", "sum", "ifs", "pattern", "broken"],
)
def test_odd_texts_are_read(source: bytes) -> None:
    assert extract("ruby", source).symbols[0].name == ""
