"""Accuracy of the code graph's call edges, against type checkers that know better: ``make accuracy``."""
