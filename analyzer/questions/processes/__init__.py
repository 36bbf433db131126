"""The processes that ran on machines, as answers about the counterset Process show them."""
