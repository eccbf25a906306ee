"""Bytes to messages and back: framing, the JSON-RPC envelope and every limit.

The room is sans-IO (as h11 is): it never reads, writes, waits or imports asyncio, and it knows no method name. The
same framer serves the client's side, each language server's side and debug adapters.
"""
