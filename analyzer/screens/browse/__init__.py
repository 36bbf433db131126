"""The terminal browser of `browse`: the view model in panes of Textual. Only this command loads it."""
