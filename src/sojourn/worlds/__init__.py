"""Worlds: one in each file. `rules` says what a world is and how to write a new one."""
