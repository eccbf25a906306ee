"""Scripted peers: language servers that behave, and misbehave, as told."""
