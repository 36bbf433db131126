"""What people and programs see: text, files, the page, the browser, notebooks."""
