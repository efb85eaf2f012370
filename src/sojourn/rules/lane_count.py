"""The number of lanes."""

LANES = 32  # always the length of the last axis: compiled code knows it, so that addresses are constants
