"""How many lanes there are."""

LANES = 32  # the length of the last axis, always: compiled code knows it, and addresses are then constants
