"""The compiled library: it is loaded, declared and called here, for files and arrays in host memory."""
