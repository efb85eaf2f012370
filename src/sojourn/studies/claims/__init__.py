"""The paper's claims: a ledger in TOML with a verdict on each, its page in Markdown, and its part of the report.

A verdict is worked out by a test and only kept here; nothing is run.
"""
