"""Tables: files of typed columns, whose values are Arrow's."""
