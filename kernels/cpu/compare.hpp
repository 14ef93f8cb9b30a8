// Which of two items goes first, one pair at a time: for cuts and borders, where the order is known only as the program runs.
#pragma once

#include "entries.h"

// Negative, zero or positive as item a goes before, with or behind b. A line comes without its terminator.
int compare_items(const OrderSpec& order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size);

// Whether lines compare as their bytes alone.
bool is_plain(const OrderSpec& order);
