"""Random edits of Ruby, seeded: what is kept up to date must equal what is made anew.

"What goes wrong in others": incremental must equal a rebuild, also after lines shift.
"""

from __future__ import annotations

import random

import pytest

from tests.unit.graph.test_resolve_go import follow

RUBY: dict[str, tuple[list[str], list[str], str]] = {
    "lib/a.rb": (
        ["require 'b'\nmodule M", "class M", "module N", "module Z"],
        [
            "  X = C.new",
            "  def self.f(x) = C.new.go",
            "  def mixed; own; end",
            "  class C < B; def go; up; mixed; super; end; end",
            "  include Mix",
            "  def each; yield C.new; end",
            "  extend self",
            "  require 'b'",
        ],
        "end",
    ),
    "lib/b.rb": (
        ["module M", "class M::C", "class B", "module M; class B", "require_relative 'c'\nmodule M"],
        [
            "  def go; @x.up; end",
            "  attr_reader :up",
            "  def initialize; @x = D.new; end",
            "  def self.make; new; end",
            "  class B; def up; D.new; end; end",
            "  class D; def up; end; def go; end; end",
            "  alias own go",
            "  require_relative 'c'",
        ],
        "end",
    ),
    "lib/c.rb": (
        ["class D", "module Mix", "def top; end\nclass M::D < M::B", "class Object"],
        ["  def up; end", "  def mixed; end", "  private def own; end", "  def go; X.go; end", "  X = M::C.new"],
        "end",
    ),
    "main.rb": (
        ["require 'a'", "require_relative 'lib/a'", "require 'none'", "def top; end"],
        [
            "M.f(1)",
            "M::C.new.go",
            "M::C.make.up",
            "M::X.go",
            "x = [M::C.new, D.new]\nx.each { |e| e.up }",
            "top",
            "class M::C; def more; go; own; M.mixed; end; end",
            "M.new.each { |c| c.go }",
            "include Mix",
            "go",
        ],
        "",
    ),
}


def _text(path: str, random_: random.Random) -> str:
    heads, lines, end = RUBY[path]
    head = random_.choice(heads)
    kept = [line for line in lines if random_.random() < 0.6]
    random_.shuffle(kept) if random_.random() < 0.3 else None
    ends = [end, end] if head.startswith("module M; class") else [end]
    return "\n" * random_.randrange(3) + "\n".join([head, *kept, *ends]) + "\n"


@pytest.mark.parametrize("seed", [5, 6, 7])
def test_two_hundred_edits(seed: int) -> None:
    random_ = random.Random(seed)
    present = dict.fromkeys(RUBY)
    files = {path: _text(path, random_) for path in RUBY}
    steps: list[dict[str, str | None]] = []
    for _ in range(200):
        path = random_.choice(list(RUBY))
        if path in present and random_.random() < 0.15:
            del present[path]
            steps.append({path: None})
            continue
        present[path] = None
        steps.append({path: _text(path, random_)})
    follow(files, steps)
