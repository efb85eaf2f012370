"""Presentation of results: the parts of pages and charts, and the renderers that draw them.

`blocks` and `charts` are plain typed values. `html` renders them as one self-contained page, `markdown` as a README,
`terminal` as lines; `figures` draws PNG, SVG and PDF files with matplotlib, which no other module may import. `looks`
defines one name, colour and marker for each agent and estimator. Nothing here reads a folder or computes results;
`answers` does that.
"""
