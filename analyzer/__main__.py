"""`python -m analyzer` is the command."""

from analyzer.cli.main import main

main()
