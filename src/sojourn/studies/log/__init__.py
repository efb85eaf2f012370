"""What a log of past decisions says: a record of it, the words for a terminal, and the part of the page.

`sojourn log` and the page only read the record in `answer`, so nothing is computed twice.
"""
