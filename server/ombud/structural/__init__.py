"""Structural search and rewriting: patterns written in the language itself, matched over syntax trees."""
