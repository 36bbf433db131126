"""Which processes ran on machines, as answers about Process show them."""
