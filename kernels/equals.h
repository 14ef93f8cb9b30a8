/* The rules for items that compare equal, as sums of bits. Compiled code for either processor reads these bits. Python's
 * rules are the values of Equals in gpumerge_cli/order/equals.py, which hold the same bits (a test compares them).
 *
 * KEEP_ALL: every item goes out.
 * SINGLE, LAST_OF, FIRST_OF, INNER: an item goes out if this is its place in its group of equal items: the only one, the last or
 * the first of several, or between these. The bit is SINGLE << (1 if it equals the item ahead) + (2 if it equals the one behind).
 * BY_PLACE is their sum, and FIRST the rule that keeps one of each group. CONTINUED: the first item equals one that lies ahead of
 * the chunk. FOLLOWED: the last item equals one behind the chunk.
 * SET: equal items of the runs meet in pairs, in a walk through both (see sets.cuh). EQUAL, ONLY_A, ONLY_B, with SET: the cases
 * in which an item goes out: both runs hold it (it is A's then), only A does, only B does. DISTINCT, with SET: equal items
 * of one run count as one. Sets are for merges. */
#pragma once

enum Equals {
    KEEP_ALL = 0, EQUAL = 1, ONLY_A = 2, ONLY_B = 4, SET = 8, DISTINCT = 16, SINGLE = 32, LAST_OF = 64, FIRST_OF = 128, INNER = 256,
    CONTINUED = 512, FOLLOWED = 1024, FIRST = 160, BY_PLACE = 480
};
