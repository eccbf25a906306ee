"""The operations of the product, each defined once, and the two lifetimes they act on: hub and session.

Nothing here knows which face called.
"""
