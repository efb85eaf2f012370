"""Lanes: one step of many values at once, in SIMD instructions. Everything works without this folder, only slower."""
