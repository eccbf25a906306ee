"""Tests with real language servers, adapters and editors."""
