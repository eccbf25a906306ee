"""What is remembered of questions: within a bound, and the oldest question makes room."""

from __future__ import annotations

from ombud.structural.memory import Held
from ombud.structural.query import Query
from ombud.structural.shard import ANSWERS, Answer, Shard

MEMORY = 10_000
LIMIT = int(MEMORY * ANSWERS)


def answer(size: int) -> Answer:
    return Answer(1, 0, 1, parsed=True, page=b"x" * size)


def kept(shard: Shard, pattern: str, held: Held) -> int | None:
    """Bytes of the page that is remembered; None where nothing is known."""
    found = shard.answers(Query(pattern=pattern)).get(held)
    return None if found is None else len(found.page or b"")


def test_the_oldest_question_makes_room() -> None:
    shard, held = Shard(0, 1, MEMORY), Held()
    for pattern in ("a", "b", "c"):
        shard.answers(Query(pattern=pattern)).put(held, answer(LIMIT // 2))
    assert [kept(shard, pattern, held) for pattern in ("c", "b", "a")] == [LIMIT // 2, LIMIT // 2, None]


def test_what_does_not_fit_is_only_counted() -> None:
    shard, one, other = Shard(0, 1, MEMORY), Held(), Held()
    answers = shard.answers(Query(pattern="a"))
    answers.put(one, answer(LIMIT))
    answers.put(other, answer(1))
    assert (kept(shard, "a", one), kept(shard, "a", other)) == (LIMIT, 0)
    answers.put(one, answer(10))
    answers.put(other, answer(LIMIT - 10))
    assert (kept(shard, "a", one), kept(shard, "a", other)) == (10, LIMIT - 10)
    assert answers.size == LIMIT
