"""What each command shows: a function of the analysis, without a word about files."""
