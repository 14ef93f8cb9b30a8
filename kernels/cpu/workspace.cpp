// Makes the workspace for the items of an order.
#include "workspace.hpp"

#include <cstring>

#include "keys.hpp"
#include "rows_kinds.hpp"

std::unique_ptr<Workspace> make_keys(const OrderSpec& order, int threads);

std::unique_ptr<Workspace> make_workspace(const OrderSpec& order, int threads)
{
    if (key_functions(order) != nullptr) return make_keys(order, threads);
    return make_rows(order, threads);
}

void Workspace::receive(int64_t position, int64_t nbytes, unsigned char* out)
{
    if (nbytes > 0) std::memcpy(out, result + position, nbytes);
}
