"""The orders of keys, of records and of lines. rules.py holds the rules of lines and does not load NumPy."""
