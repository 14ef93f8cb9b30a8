// The sink of a chunk: the place where its result goes.
#pragma once

#include <cstdint>

#include "entries.h"

// Reverses the byte order of the keys at `at`, each of `width` bytes.
void swap_keys(unsigned char* at, int64_t nbytes, int64_t width);

// Writes `nbytes` bytes to the sink's file. It holds a permit of the sink's gate, and its calls end at multiples of the
// sink's piece. Throws Fault, with the byte of the file that could not be written.
void write_sink(const SinkSpec& sink, const unsigned char* data, int64_t nbytes);
