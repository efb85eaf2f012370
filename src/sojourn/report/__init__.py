"""One self-contained HTML page from the folders that commands write. It reads only files."""

from sojourn.report.page import write_report

__all__ = ["write_report"]
