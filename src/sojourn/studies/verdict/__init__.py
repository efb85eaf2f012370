"""Whether a learned policy can be trusted: `sojourn evaluate --out`.

A verdict on a learner as a record in `verdict.json`, and its part of the page.
"""
