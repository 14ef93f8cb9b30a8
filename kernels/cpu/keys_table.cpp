// Finds the functions for the kind of key of an order. The build lists the kinds in kernels.hpp.
#include "kernels.hpp"
#include "keys.hpp"

#define DECLARE(bits, kind, descending) extern const KeyFunctions key_functions_##bits##_##kind##_##descending;
KEY_KINDS(DECLARE)

const KeyFunctions* key_functions(const OrderSpec& order)
{
#define FIND(bits, number, falls) \
    if (order.width == bits / 8 && order.kind == number && (order.descending != 0) == falls) \
        return &key_functions_##bits##_##number##_##falls;
    KEY_KINDS(FIND)
    return nullptr;
}
