"""Agents: `rules` says what an agent is, `kinds` how each learns, `named` has them by name."""
