"""Batches: a file of jobs becomes a plan, the plan runs in one process, and a log records the jobs that are done."""
