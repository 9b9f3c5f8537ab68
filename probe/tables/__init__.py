"""Tidy tables: rows in and out of CSV, and their summary over orders and seeds."""
