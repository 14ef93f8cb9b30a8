"""Batches: a file of jobs becomes a plan, the plan runs in one process, and a log tells what is done."""
