"""Ombud: a language server that speaks for other language servers."""

__version__ = "0.1.0"
