"""Lanes: the same step of many values at once, in vector instructions. Everything works without this folder, only slower."""
