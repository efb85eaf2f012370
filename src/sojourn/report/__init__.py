"""How results are shown: the parts of pages and charts, and the code that draws them.

`blocks` and `charts` are plain typed values. `html` turns them into one page that needs nothing else, `markdown` into a README,
`terminal` into lines; `figures` turns them into PNG, SVG and PDF files with matplotlib, which no other module may import. `looks` has one name,
colour and marker for each agent and estimator. Nothing here reads a folder or computes results; studies do that.
"""
