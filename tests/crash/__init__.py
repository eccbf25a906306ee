"""Tests that kill, crash and fill up what the product must survive."""
