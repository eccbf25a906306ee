"""The command-line face: it turns words into an operation's params, and results into lines that a person reads.

Standard output holds results only; progress and everything else that is said on the way goes to standard error.
"""
