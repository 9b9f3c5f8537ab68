"""Where the values that prefixes give live: in memory, in mapped files, or computed again."""
