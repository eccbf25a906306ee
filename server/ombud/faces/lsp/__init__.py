"""The LSP face. Its front needs asyncio and msgspec only; pygls comes in when the first own request does."""
