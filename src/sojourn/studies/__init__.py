"""Studies: what is run or computed to answer a question, and how the answer is worded and shown.

Each study has a folder of its own: its plan, its tables or its record, its charts, its words, and its section of the
page, as far as it needs them. `page` makes one page from all that studies left in folders. Nothing here draws
figures or parses commands.
"""
