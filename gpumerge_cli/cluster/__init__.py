"""Many machines: the tasks of a merge or sort on Dask. Only --cluster imports this room."""
