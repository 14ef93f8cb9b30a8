"""The options of all commands as data: one row each, from which everything that reads or shows options is made."""
