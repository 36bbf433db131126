"""The views: records and text lines of each command, made from the analysis, without a word about output files."""
