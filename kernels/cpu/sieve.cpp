// The sieve of keys, and the entries of all sieves.
#include "sieve.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "keys.hpp"

namespace {

// The functions of the same keys in the opposite order.
const KeyFunctions& reversed(OrderSpec order)
{
    order.descending = !order.descending;
    return *key_functions(order);
}

template <typename Item>
void gather(const unsigned char* items, const int64_t* indices, int64_t count, unsigned char* out)
{
    const Item* const from = reinterpret_cast<const Item*>(items);
    Item* const to = reinterpret_cast<Item*>(out);
    for (int64_t i = 0; i < count; ++i) to[i] = from[indices[i]];
}

class KeySieve final : public Sieve {
public:
    // keys: of the order in which the wanted items come first.
    KeySieve(const OrderSpec& order, const KeyFunctions& keys) : keys_(keys), width_(order.width) {}

    void bound(const unsigned char* item, int64_t size, bool equals) override
    {
        std::memcpy(bound_, item, static_cast<size_t>(std::min(size, width_)));
        has_bound_ = true;
        selects_ = equals ? SELECT_LESS : SELECT_LESS | SELECT_EQUAL;
    }

    void pass(const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room, Sieved& found) override
    {
        const int64_t count = nbytes / width_, places = room / width_;
        int64_t kept = 0, taken = 0;
        if (!has_bound_) {
            kept = taken = std::min(count, places);
            if (kept > 0) std::memcpy(out, items, static_cast<size_t>(kept * width_));
        }
        for (bool full = !has_bound_; taken < count && !full;) {
            const int64_t stop = std::min(taken + STRETCH, count);
            const int64_t selected = keys_.select(items, taken, stop, bound_, selects_, indices_, ROOM);
            const int64_t fits = std::min(selected, places - kept);
            full = fits < selected;
            copy(items, fits, out + kept * width_);
            kept += fits;
            taken = full ? indices_[fits] : stop;
        }
        found = {taken * width_, taken, kept * width_, taken < count, 0};
    }

private:
    static constexpr int64_t STRETCH = 4096, ROOM = STRETCH + 256;  // some room more, so that each index may be written

    void copy(const unsigned char* items, int64_t count, unsigned char* out) const
    {
        switch (width_) {
        case 1: return gather<uint8_t>(items, indices_, count, out);
        case 2: return gather<uint16_t>(items, indices_, count, out);
        case 4: return gather<uint32_t>(items, indices_, count, out);
        default: return gather<uint64_t>(items, indices_, count, out);
        }
    }

    const KeyFunctions& keys_;
    const int64_t width_;
    int64_t selects_ = 0;
    bool has_bound_ = false;
    int64_t indices_[ROOM];
    alignas(16) unsigned char bound_[16] = {};
};

std::unique_ptr<Sieve> opened(const OrderSpec& order, bool last)
{
    if (const KeyFunctions* const keys = key_functions(order))
        return std::make_unique<KeySieve>(order, last ? reversed(order) : *keys);
    return order.kind == RECORDS ? make_record_sieve(order, last) : make_line_sieve(order, last);
}

}  // namespace

Sieve* gm_sieve_open(const OrderSpec* order, int64_t last)
{
    try {
        return opened(*order, last != 0).release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void gm_sieve_close(Sieve* sieve) { delete sieve; }

int64_t gm_sieve_bound(Sieve* sieve, const unsigned char* item, int64_t size, int64_t equals)
{
    try {
        sieve->bound(item, size, equals != 0);
        return DONE;
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
}

void gm_sieve_pass(Sieve* sieve, const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room, Sieved* found)
{
    sieve->pass(items, nbytes, out, room, *found);
}
