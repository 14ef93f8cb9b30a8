// Where a chunk's result goes.
#pragma once

#include <cstdint>

#include "entries.h"

// Turns the byte order of the keys of `width` bytes that lie at `at`.
void swap_keys(unsigned char* at, int64_t nbytes, int64_t width);

// Write `nbytes` to the sink's file, in calls that end at multiples of its piece, while a permit of its gate is held.
// Throws Fault, with the byte of the file that could not be written.
void write_sink(const SinkSpec& sink, const unsigned char* data, int64_t nbytes);
