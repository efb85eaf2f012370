"""The part of the page about any sweep: tables made from its results, charts of the tables, and the section.

A sweep is run by `sojourn.runs`, which writes results and curves; `tables` computes what is shown of them.
"""
