// Compares two items. Cuts and borders of chunks need this; they know the order only at run time.
#pragma once

#include "entries.h"

// Negative, zero or positive, if item a goes before, with or behind item b. Lines must come without their terminators.
int compare_items(const OrderSpec& order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size);

// Whether lines compare by their bytes alone.
bool is_plain(const OrderSpec& order);
