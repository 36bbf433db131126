"""The output for people and programs: text, files, the page, the browser, notebooks."""
