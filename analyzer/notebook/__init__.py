"""What `import analyzer as pcq` offers: reading captures, cases, tables, parts, charts."""

from analyzer.notebook.capture import CallDocument as CallDocument
from analyzer.notebook.capture import Capture as Capture
from analyzer.notebook.capture import Findings as Findings
from analyzer.notebook.capture import analyze as analyze
from analyzer.notebook.capture import iter_calls as iter_calls
from analyzer.notebook.capture import open as open
