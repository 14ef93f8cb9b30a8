// Finds the functions for the kind of key of an order.
#include "keys.hpp"

#define KINDS(DO) \
    DO(8, 0, 0) DO(8, 0, 1) DO(8, 1, 0) DO(8, 1, 1) \
    DO(16, 0, 0) DO(16, 0, 1) DO(16, 1, 0) DO(16, 1, 1) DO(16, 2, 0) DO(16, 2, 1) \
    DO(32, 0, 0) DO(32, 0, 1) DO(32, 1, 0) DO(32, 1, 1) DO(32, 2, 0) DO(32, 2, 1) \
    DO(64, 0, 0) DO(64, 0, 1) DO(64, 1, 0) DO(64, 1, 1) DO(64, 2, 0) DO(64, 2, 1)

#define DECLARE(bits, kind, descending) extern const KeyFunctions key_functions_##bits##_##kind##_##descending;
KINDS(DECLARE)

const KeyFunctions* key_functions(const OrderSpec& order)
{
#define FIND(bits, number, falls) \
    if (order.width == bits / 8 && order.kind == number && (order.descending != 0) == falls) \
        return &key_functions_##bits##_##number##_##falls;
    KINDS(FIND)
    return nullptr;
}
