"""Tables: files whose columns have types and nulls, and whose values are Arrow's."""
