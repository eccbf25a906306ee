"""What the conformance server answers: method → variant → the payload, made for the question.

``ANSWERS[method][variant](ask)`` is a result as JSON. The first variant of a method is its fullest. Standard library
only: the server is a bare interpreter.
"""

from __future__ import annotations

from tests.peers.conformance.answers import edits, marks, pairs, places, words
from tests.peers.conformance.items import RESOLVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.peers.conformance.answers.ask import Payload

ANSWERS: dict[str, dict[str, Payload]] = {
    method: dict(variants)
    for table in (places.ANSWERS, words.ANSWERS, edits.ANSWERS, marks.ANSWERS)
    for method, variants in table.items()
}
for _lister, _pair in pairs.ANSWERS.items():
    ANSWERS[_lister] |= _pair
for _lister, _resolver in RESOLVED.items():
    # An item of a pair is resolved like any other of its server.
    ANSWERS[_resolver]["pair"] = next(iter(ANSWERS[_resolver].values()))
