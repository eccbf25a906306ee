"""Edges of Ruby: small projects, and what each call, reference, import and inheritance means."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.unit.graph.edges import edges, loose

BASE = {
    "lib/shop.rb": "module Shop\n  VERSION = '1'\n  def self.open = Cart.new\nend\n",
    "lib/shop/cart.rb": """
    require "shop/item"
    module Shop
      class Cart < Base
        attr_accessor :owner
        def initialize
          super()
          @items = [Item.new(1)]
        end
        def add(item); end
        def self.build = new
        def each
          @items.each { |one| yield one }
        end
      end
    end
    """,
    "lib/shop/item.rb": """
    class Shop::Item
      def initialize(price); end
      def price; end
    end
    class Shop::Base
      def initialize; end
      def log; end
    end
    """,
}

CALLS: dict[str, tuple[dict[str, str], list[str]]] = {
    "a method of the file's top": ({"a.rb": "def f; end\nf\nf()\n"}, ["a.rb# -> a.rb#f"] * 2),
    "a method of the top of a file that is required": (
        {"a.rb": "require_relative 'sub/b'\ndeep\n", "sub/b.rb": "require_relative 'c'\n", "sub/c.rb": "def deep; end"},
        ["a.rb# -> sub/c.rb#deep"],
    ),
    "no method of the top of a file that is not required": ({"a.rb": "f\n", "b.rb": "def f; end\n"}, []),
    "a method of the top is no method of any value": (
        {"a.rb": "def f; end\nclass A; end\nA.new.f\nx.f\n"},
        ["a.rb# -> a.rb#A"],
    ),
    "a method of the top, called in a class": (
        {"a.rb": "def f; end\nclass A; def m; f; end; def self.n; f; end; end\n"},
        ["a.rb#A.m -> a.rb#f", "a.rb#A.n -> a.rb#f"],
    ),
    "a local variable hides a call": (
        {"a.rb": "def f; end\nf = 1\nf\ndef g(f, h: f) = f\n[1].each { |f| f }\nf()\n"},
        ["a.rb# -> a.rb#f"],
    ),
    "before its assignment a name is a call": ({"a.rb": "def f; end\nf\nf = f()\nf\n"}, ["a.rb# -> a.rb#f"] * 2),
    "a block's variables end with it, those outside go in": (
        {"a.rb": "def f; end\ng = 1\nx.each do\n  f = g\n  f\nend\nf\n"},
        ["a.rb# -> a.rb#f"],
    ),
    "a method does not see what is outside": ({"a.rb": "def f; end\nf = 1\ndef g = f\n"}, ["a.rb#g -> a.rb#f"]),
    "new runs initialize, where there is one above": (
        {"a.rb": "class A; def initialize; end; end\nclass B < A; end\nclass C; end\nB.new\nC.new\n"},
        ["a.rb# -> a.rb#A.initialize", "a.rb# -> a.rb#C"],
    ),
    "over files": (
        BASE | {"main.rb": "require 'shop'\ncart = Shop.open\ncart.add(1)\ncart.owner = 2\ncart.owner\ncart.log\n"},
        [
            "lib/shop.rb#Shop.open -> lib/shop/cart.rb#Shop.Cart.initialize",
            "lib/shop/cart.rb#Shop.Cart.initialize -> lib/shop/item.rb#Shop.Base.initialize",
            "lib/shop/cart.rb#Shop.Cart.initialize -> lib/shop/item.rb#Shop.Item.initialize",
            "lib/shop/cart.rb#Shop.Cart.build -> lib/shop/cart.rb#Shop.Cart.initialize",
            "main.rb# -> lib/shop.rb#Shop.open",
            "main.rb# -> lib/shop/cart.rb#Shop.Cart.add",
            "main.rb# -> lib/shop/cart.rb#Shop.Cart.owner",
            "main.rb# -> lib/shop/cart.rb#Shop.Cart.owner",
            "main.rb# -> lib/shop/item.rb#Shop.Base.log",
        ],
    ),
    "what a method yields, its block is given": (
        {
            "a.rb": """
            class Item; def price; end; end
            class Cart
              def each
                @items = [Item.new]
                @items.each { |one| yield one, 1 }
              end
              def twice; yield self; end
            end
            Cart.new.each { |one, n| one.price }
            Cart.new.twice { |cart| cart.each }
            """
        },
        [
            "a.rb#Cart.each -> a.rb#Item",
            *("a.rb# -> a.rb#Cart", "a.rb# -> a.rb#Cart.each", "a.rb# -> a.rb#Item.price"),
            *("a.rb# -> a.rb#Cart", "a.rb# -> a.rb#Cart.twice", "a.rb# -> a.rb#Cart.each"),
        ],
    ),
    "a class that is opened in two files": (
        {
            "a.rb": "class A\n  def one; two; end\nend\n",
            "b.rb": "class A\n  def two; one; end\n  def self.make = new.one\nend\n",
            "c.rb": "A.make\nA.new.two\n",
        },
        [
            "a.rb#A.one -> b.rb#A.two",
            "b.rb#A.two -> a.rb#A.one",
            "b.rb#A.make -> a.rb#A",
            "b.rb#A.make -> a.rb#A.one",
            "c.rb# -> b.rb#A.make",
            "c.rb# -> a.rb#A",
            "c.rb# -> b.rb#A.two",
        ],
    ),
    "a class that is opened twice in a file": (
        {"a.rb": "class A; def one; end; end\nclass A; def two; one; end; end\n"},
        ["a.rb#A.two -> a.rb#A.one"],
    ),
    "equal names in different modules are different classes": (
        {
            "a.rb": """
            module M; class A; def m; end; end; end
            module N; class A; def m; end; end; class B < A; def n; m; end; end; end
            class A; def m; end; end
            module N; A.new.m; ::A.new.m; M::A.new.m; end
            class M::C; A.new.m; end
            """
        },
        [
            "a.rb#N.B.n -> a.rb#N.A.m",
            *("a.rb#N~2 -> a.rb#N.A", "a.rb#N~2 -> a.rb#N.A.m"),
            *("a.rb#N~2 -> a.rb#A", "a.rb#N~2 -> a.rb#A.m"),
            *("a.rb#N~2 -> a.rb#M.A", "a.rb#N~2 -> a.rb#M.A.m"),
            # What stands in ``class M::C`` does not stand in M.
            *("a.rb#M.C -> a.rb#A", "a.rb#M.C -> a.rb#A.m"),
        ],
    ),
    "a constant of an ancestor": (
        {"a.rb": "class A; class X; def m; end; end; end\nclass B < A; def f; X.new.m; end; end\nB::X.new.m\n"},
        ["a.rb#B.f -> a.rb#A.X", "a.rb#B.f -> a.rb#A.X.m", "a.rb# -> a.rb#A.X", "a.rb# -> a.rb#A.X.m"],
    ),
    "a constant holds what it was given": (
        {"a.rb": "class A; def m; end; end\nONE = A.new.freeze\nTWO = A\nONE.m\nTWO.new.m\n"},
        ["a.rb# -> a.rb#A", "a.rb# -> a.rb#A.m", "a.rb# -> a.rb#A", "a.rb# -> a.rb#A.m"],
    ),
    "include, prepend and the class above, in their order": (
        {
            "a.rb": """
            module P; def m; super; end; end
            module I; def m; super; end; def i; end; end
            module J; def m; end; def i; end; end
            class B; def m; end; def b; end; end
            class A < B
              include J
              include I
              prepend P
              def m; super; end
              def go; i; b; end
            end
            A.new.m
            """
        },
        [
            "a.rb#A.m -> a.rb#I.m",
            "a.rb#A.go -> a.rb#I.i",
            "a.rb#A.go -> a.rb#B.b",
            "a.rb# -> a.rb#A",
            "a.rb# -> a.rb#P.m",
        ],
    ),
    "extend, class << self, module_function, extend self": (
        {
            "a.rb": """
            module E; def e; end; end
            class A
              extend E
              class << self
                attr_reader :conf
                def s; t; conf; e; end
                private def t; end
              end
              def m; s; self.class.s; end
            end
            class B < A; def self.u; s; super; end; end
            B.e
            module F; module_function; def f; end; end
            module G; extend self; def g; end; end
            F.f
            G.g
            A.new.e
            """
        },
        [
            *("a.rb#A.s -> a.rb#A.t", "a.rb#A.s -> a.rb#A.conf", "a.rb#A.s -> a.rb#E.e"),
            "a.rb#A.m -> a.rb#A.s",
            "a.rb#B.u -> a.rb#A.s",
            *("a.rb# -> a.rb#E.e", "a.rb# -> a.rb#F.f", "a.rb# -> a.rb#G.g", "a.rb# -> a.rb#A"),
        ],
    ),
    "included hooks and concerns extend what includes them": (
        {
            "a.rb": """
            module H
              def self.included(base); base.extend(ClassMethods); end
              module ClassMethods; def h; end; end
            end
            module C
              extend ActiveSupport::Concern
              class_methods do
                def c; end
              end
            end
            class A; include H; include C; h; c; end
            A.h
            """
        },
        ["a.rb#A -> a.rb#H.ClassMethods.h", "a.rb#A -> a.rb#C.ClassMethods.c", "a.rb# -> a.rb#H.ClassMethods.h"],
    ),
    "super of methods of the class itself": (
        {"a.rb": "class A; def self.m; end; def m; end; end\nclass B<A; def self.m; super; end; def m = super; end\n"},
        ["a.rb#B.m -> a.rb#A.m", "a.rb#B.m~2 -> a.rb#A.m~2"],
    ),
    "variables of an instance are not those of the class": (
        {
            "a.rb": """
            class X; def m; end; end
            class Y; def m; end; end
            class A
              @v = Y.new
              def initialize; @v = X.new; end
              def i; @v.m; end
              def self.c; @v.m; end
            end
            class B < A; def j; @v.m; end; end
            """
        },
        [
            *("a.rb#A -> a.rb#Y", "a.rb#A.initialize -> a.rb#X"),
            *("a.rb#A.i -> a.rb#X.m", "a.rb#A.c -> a.rb#Y.m", "a.rb#B.j -> a.rb#X.m"),
        ],
    ),
    "a memo, a tap, a map and a hash": (
        {
            "a.rb": """
            class X; def m; self; end; end
            def x = @x ||= X.new
            x.m.tap { |y| y.m }
            [x].map { |y| y.m }.each { |z| z.m }
            [x].each(&:m)
            h = {a: x}
            h.each { |k, v| v.m }
            h.values.first.m
            """
        },
        [
            "a.rb#x -> a.rb#X",
            *("a.rb# -> a.rb#x", "a.rb# -> a.rb#X.m", "a.rb# -> a.rb#X.m"),
            *("a.rb# -> a.rb#x", "a.rb# -> a.rb#X.m", "a.rb# -> a.rb#X.m"),
            *("a.rb# -> a.rb#x", "a.rb# -> a.rb#X.m", "a.rb# -> a.rb#x", "a.rb# -> a.rb#X.m", "a.rb# -> a.rb#X.m"),
        ],
    ),
    "alias, alias_method, define_method, delegation": (
        {
            "a.rb": """
            class X; def m; self; end; alias n m; alias_method :o, :m; end
            class A
              def_delegators :@x, :m
              delegate :n, to: :x
              define_method(:x) { @x = X.new }
              def go; m.m; n; x.o.m; send(:x).m; end
            end
            """
        },
        [
            "a.rb#A.x -> a.rb#X",
            *("a.rb#A.go -> a.rb#A.m", "a.rb#A.go -> a.rb#X.m", "a.rb#A.go -> a.rb#A.n"),
            *("a.rb#A.go -> a.rb#A.x", "a.rb#A.go -> a.rb#X.o", "a.rb#A.go -> a.rb#X.m", "a.rb#A.go -> a.rb#A.x"),
        ],
    ),
    "structs": (
        {
            "a.rb": """
            P = Struct.new(:x, :y) do
              def sum = x + y
            end
            class Q < Data.define(:z); def w = z; end
            P.new(1, 2).sum
            P.new(1, 2).x = 3
            """
        },
        [
            *("a.rb#P.sum -> a.rb#P.x", "a.rb#P.sum -> a.rb#P.y", "a.rb#Q.w -> a.rb#Q.z"),
            *("a.rb# -> a.rb#P", "a.rb# -> a.rb#P.sum", "a.rb# -> a.rb#P", "a.rb# -> a.rb#P.x"),
        ],
    ),
    "what is defined in a block is known within it": (
        {
            "a_spec.rb": """
            class X; def m; end; end
            describe X do
              let(:it_) { X.new }
              def help; end
              it { help; it_.m }
            end
            describe X do
              help
            end
            """
        },
        [
            *("a_spec.rb#it_ -> a_spec.rb#X", "a_spec.rb# -> a_spec.rb#help", "a_spec.rb# -> a_spec.rb#it_"),
            "a_spec.rb# -> a_spec.rb#X.m",
        ],
    ),
    "case and rescue tell what a name is": (
        {
            "a.rb": """
            class X; def m; end; end
            class E < StandardError; def why; end; end
            def f(x)
              case x when X then x.m end
              x.m
            rescue E => e
              e.why
            end
            """
        },
        ["a.rb#f -> a.rb#X.m", "a.rb#f -> a.rb#E.why"],
    ),
    "a core class that is opened": (
        {"a.rb": 'class String; def shout; upcase; end; end\n"x".shout\n"x".upcase\n'},
        ["a.rb# -> a.rb#String.shout"],
    ),
    "of equal methods the nearest": (
        {
            "x/a.rb": "class A; def m; end; end\n",
            "x/main.rb": "A.new.m\n",
            "y/a.rb": "class A; def m; end; end\n",
            "y/main.rb": "A.new.m\n",
        },
        ["x/main.rb# -> x/a.rb#A", "x/main.rb# -> x/a.rb#A.m", "y/main.rb# -> y/a.rb#A", "y/main.rb# -> y/a.rb#A.m"],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    files, expected = CALLS[name]
    assert edges({path: dedent(text) for path, text in files.items()}) == [f"{line} call" for line in expected]


def test_what_is_mentioned_included_and_required() -> None:
    files = {
        "lib/app.rb": "require 'app/one'\nrequire 'json'\nmodule App; LIMIT = 1; autoload :Two, 'app/two'; end\n",
        "lib/app/one.rb": "module App; class One < Two; include Mix; @a = LIMIT; attr :b; private :b; end; end\n",
        "lib/app/two.rb": "class App::Two; end\nmodule App::Mix; end\n",
        "bin/app": "",
        "test/one_test.rb": "require_relative '../lib/app'\nrequire File.expand_path('../../lib/app/two', __FILE__)\n",
    }
    del files["bin/app"]
    assert edges(files, ("reference", "inherit", "import")) == [
        "lib/app.rb# -> lib/app/one.rb# import",
        "lib/app.rb#App -> lib/app/two.rb# import",
        "lib/app/one.rb#App.One -> lib/app/two.rb#App.Two inherit",
        "lib/app/one.rb#App.One -> lib/app/two.rb#App.Mix inherit",
        "lib/app/one.rb#App.One -> lib/app.rb#App.LIMIT reference",
        "lib/app/one.rb#App.One -> lib/app/one.rb#App.One.b reference",
        "lib/app/two.rb# -> lib/app.rb#App reference",
        "lib/app/two.rb# -> lib/app.rb#App reference",
        "test/one_test.rb# -> lib/app.rb# import",
        "test/one_test.rb# -> lib/app/two.rb# import",
    ]


def test_what_is_not_found_may_be_ours() -> None:
    text = "class A; def m(x); x.gone; puts 1; own; JSON.parse(x); end; end\nclass B < Lib::C; def m = own; end\n"
    assert loose({"a.rb": text}) == ["gone", "own"]


CIRCLES = """
class A < A; def self.f = f; end
class B < C; def m = n; alias n m; end
class C < B; include M; end
module M; include M; extend self; X = Y; Y = X; end
A.f.g
C.new.m.n
M::X.go
"""


def test_circles_end() -> None:
    assert "a.rb# -> a.rb#A.f call" in edges({"a.rb": CIRCLES})
