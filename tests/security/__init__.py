"""Tests of the fence, of trust and of what a hostile workspace or peer may try."""
