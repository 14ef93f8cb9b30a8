"""The kernel variants: one file each."""
