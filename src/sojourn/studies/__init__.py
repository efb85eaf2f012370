"""Studies: data and analysis, one in each file."""
