"""A scripted server that has every method of LSP 3.17, and the table of requests that try each of them."""
