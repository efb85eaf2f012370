"""Any sweep on the page: tables made of its results, charts of the tables, and the section that shows them.

A sweep is run by `sojourn.runs`, which writes results and curves; what is read from them is computed in `tables`.
"""
