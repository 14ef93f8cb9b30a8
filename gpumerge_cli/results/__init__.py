"""The results of runs, comparisons and pictures as plain values. Renderers in report/ see only these."""
