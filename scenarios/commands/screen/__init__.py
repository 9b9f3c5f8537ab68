"""What commands show: tables of results, progress, and a terminal that is left as it was."""
