"""What a log of past decisions says: its record, the words for a terminal, and its part of the page.

`sojourn log` and the page read only the record in `answer`; nothing here is computed twice.
"""
