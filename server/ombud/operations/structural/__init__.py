"""Operations on shapes of code: search, staged rewriting, rules."""
