"""How results are shown: what a page and a chart are made of, and what draws them.

`blocks` and `charts` are plain typed values; `markup` and `page` make one HTML page of them that needs nothing
else, `figures` makes PNG, SVG and PDF with matplotlib, which nothing else may import. `looks` has one name, colour
and marker for each agent and estimator. Nothing here reads a folder or computes what it shows: that is for studies.
"""
