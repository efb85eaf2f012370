"""From a study to its folder: run, tabulate, draw, and say in words what was found."""
