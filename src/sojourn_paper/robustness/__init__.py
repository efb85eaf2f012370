"""The paper's simulation study: which action agents end with on the two-state family."""
