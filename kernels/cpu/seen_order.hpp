// An order as the search for equal items needs it: where items end, their hashes, and whether two are equal. Included behind
// item_hash.hpp.
#pragma once

#include "own_order.hpp"

// An item, a line without its terminator; the hash of its key; and the number of items ahead of it.
struct Found {
    uint64_t hash;
    const unsigned char* at;
    int64_t size, place;
};

class SeenOrder {
public:
    explicit SeenOrder(const OrderSpec& order) : order_(order)
    {
        if (order.kind == LINES) {
            own_ = std::make_unique<OwnOrder>(order);
            order_.table = own_->table();
        }
    }

    bool has_lines() const { return order_.kind == LINES; }
    unsigned char terminator() const { return static_cast<unsigned char>(order_.terminator); }
    int64_t item_bytes() const { return order_.kind == RECORDS ? order_.record : order_.width; }

    // The item at `at`, a line without its terminator. Returns its end; null if it is not whole.
    const unsigned char* item(const unsigned char* at, const unsigned char* stop, Found& one) const
    {
        one.at = at;
        if (order_.kind != LINES) {
            one.size = item_bytes();
            return stop - at >= one.size ? at + one.size : nullptr;
        }
        const Place end = find_byte(at, stop, order_.terminator);
        if (end >= stop) return nullptr;
        one.size = end - at;
        return end + 1;
    }

    Word hash_of(const Found& one, bool& invalid) const
    {
        if (order_.kind != LINES) return hash_of_fields(order_, one.at);
        return hash_of_line(own_->order(), {one.at, one.at + one.size}, invalid);
    }

    int compare(const Bytes& x, const Bytes& y) const
    {
        if (order_.kind != LINES) return compare_items(order_, x.at, x.size, y.at, y.size);
        return compare_lines(own_->order(), {x.at, x.at + x.size}, {y.at, y.at + y.size});
    }

    bool equal(const Bytes& x, const Bytes& y) const
    {
        if (order_.kind == LINES && own_->order().plain())
            return x.size == y.size && std::memcmp(x.at, y.at, static_cast<size_t>(x.size)) == 0;
        return compare(x, y) == 0;
    }

private:
    OrderSpec order_;
    std::unique_ptr<OwnOrder> own_;
};
