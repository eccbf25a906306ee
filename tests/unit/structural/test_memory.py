"""What a search keeps: within its bound, and not thrown away just before it is needed."""

from __future__ import annotations

from ombud.structural.memory import SOURCES, Held, Memory, Shelf


def fill(shelf: Shelf, files: list[Held], size: int, turn: int) -> list[Held]:
    """One search through all files; those that it found there."""
    there = []
    for held in files:
        if held in shelf:
            shelf.used(held, turn)
            there.append(held)
            continue
        gone = shelf.fits(size, turn)
        if gone is not None:
            for one in gone:
                shelf.forget(one)
            shelf.put(held, size, turn)
    return there


def test_a_search_that_is_larger_than_the_memory_keeps_what_fits() -> None:
    shelf, files = Shelf(100), [Held() for _ in range(20)]
    assert fill(shelf, files, 10, 1) == []
    assert shelf.size == 100
    for turn in range(2, 6):
        assert fill(shelf, files, 10, turn) == files[:10]
        assert shelf.size == 100


def test_what_was_not_used_by_the_last_two_searches_makes_room() -> None:
    shelf, first, second = Shelf(100), [Held() for _ in range(10)], [Held() for _ in range(10)]
    fill(shelf, first, 10, 1)
    fill(shelf, second, 10, 2)
    assert fill(shelf, second, 10, 3) == []
    assert fill(shelf, second, 10, 4) == second
    assert shelf.size == 100


def test_what_is_larger_than_all_is_never_kept() -> None:
    shelf = Shelf(100)
    assert shelf.fits(101, 1) is None
    assert shelf.fits(100, 1) == []


def test_a_new_content_forgets_the_old_one() -> None:
    memory = Memory(1000)
    held = memory.of("/root", "a.py")
    assert memory.of("/root", "a.py") is held
    memory.new_content(held)
    memory.keep_source(held, b"x" * 100)
    assert held.source is not None
    assert memory.sources.size == 100
    before = held.version
    memory.new_content(held)
    assert (memory.of("/root", "a.py").source, memory.sources.size) == (None, 0)
    assert held.version != before


def test_sources_have_their_share() -> None:
    memory = Memory(1000)
    many = [memory.of("/root", f"{number}.py") for number in range(10)]
    for held in many:
        memory.keep_source(held, b"x" * 100)
    assert sum(held.source is not None for held in many) == int(1000 * SOURCES) // 100
