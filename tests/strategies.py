"""Hypothesis strategies shared by the tests."""

from __future__ import annotations

from hypothesis import strategies as st

# Rates as they occur, with room to be added and multiplied without leaving the floats.
magnitudes = st.floats(min_value=1e-6, max_value=1e6)
signed = st.one_of(magnitudes, magnitudes.map(lambda x: -x))
with_zeros = st.one_of(signed, st.just(0.0))

one_sign = st.lists(magnitudes, min_size=1, max_size=30)
samples = st.lists(with_zeros, min_size=1, max_size=30)
transitions = st.lists(st.tuples(with_zeros, magnitudes), min_size=1, max_size=30)
