"""What the operation `debug` is made of."""
