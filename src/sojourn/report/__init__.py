"""One self-contained HTML page of sections, and figures. Computes nothing."""
