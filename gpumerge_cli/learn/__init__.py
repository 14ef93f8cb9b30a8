"""The exercises of the textbook's chapter on merge, and kernels to write, checked on the reader's machine."""
