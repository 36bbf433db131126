"""The notebook interface, `import analyzer as pcq`: reads captures and cases, gives tables, parts and charts."""

from analyzer.screens.notebook.notebook_capture import CallDocument as CallDocument
from analyzer.screens.notebook.notebook_capture import Capture as Capture
from analyzer.screens.notebook.notebook_capture import Findings as Findings
from analyzer.screens.notebook.notebook_capture import analyze as analyze
from analyzer.screens.notebook.notebook_capture import iter_calls as iter_calls
from analyzer.screens.notebook.notebook_capture import open as open
from analyzer.screens.notebook.notebook_diff import diff as diff
from analyzer.screens.notebook.notebook_diff import write_baseline as write_baseline
