"""Streams: data sets cut into tasks, and the orders in which they are learned."""
