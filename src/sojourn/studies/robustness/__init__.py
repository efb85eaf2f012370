"""The paper's simulation study: with which action do agents end on the two-state family."""
