/* The rules for items that compare equal, as sums of bits. Compiled code for either processor reads these bits. Python's
 * rules are the values of Equals in gpumerge_cli/order/equals.py, which hold the same bits (a test compares them).
 *
 * KEEP_ALL: every item goes out.
 * FIRST: of equal items only the first goes out. CONTINUED, with FIRST: items that equal the first one went out before, so none
 * of these goes out.
 * SET: equal items of the runs meet in pairs, in a walk through both (see sets.cuh). EQUAL, ONLY_A, ONLY_B, with SET: the cases
 * in which an item goes out: both runs hold it (it is A's then), only A does, only B does. DISTINCT, with SET: equal items
 * of one run count as one. Sets are for merges. */
#pragma once

enum Equals { KEEP_ALL = 0, EQUAL = 1, ONLY_A = 2, ONLY_B = 4, SET = 8, DISTINCT = 16, FIRST = 32, CONTINUED = 64 };
