"""Studies: what is run or computed to answer a question, and how the answer is told and shown.

One folder a study: its plan, its tables or its record, its charts, its words, and its section of the page, as far as
it needs them. `page` makes one page of whatever studies left in folders; nothing here draws or parses a command.
"""
