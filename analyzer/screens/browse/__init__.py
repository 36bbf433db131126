"""The terminal browser: the view model in panes of Textual. Nothing but its command loads it."""
