"""Exact answers: `certificate` says what one is worth, then one way to find them a file."""
