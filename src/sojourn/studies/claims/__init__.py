"""The paper's claims: a ledger in TOML with a verdict on each, its page in Markdown, and its part of the report.

Tests work out the verdicts. They are only recorded here, and nothing is run.
"""
