// The sieve of keys, and the entries of all sieves.
#include "sieve.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "keys.hpp"

namespace {

class KeySieve final : public Sieve {
public:
    KeySieve(const OrderSpec& order, const KeyFunctions& keys, bool last) : keys_(keys), width_(order.width), last_(last) {}

    void bound(const unsigned char* item, int64_t size, bool equals) override
    {
        std::memcpy(bound_, item, static_cast<size_t>(std::min(size, width_)));
        has_bound_ = true;
        equals_ = equals;
    }

    void pass(const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room, Sieved& found) override
    {
        const int64_t count = nbytes / width_, places = room / width_;
        int64_t kept = std::min(count, places), taken = kept;
        if (has_bound_) taken = keys_.sift(items, count, bound_, last_, equals_, out, places, &kept);
        else if (kept > 0) std::memcpy(out, items, static_cast<size_t>(kept * width_));
        found = {taken * width_, taken, kept * width_, taken < count, 0};
    }

private:
    const KeyFunctions& keys_;
    const int64_t width_;
    const bool last_;
    bool has_bound_ = false, equals_ = false;
    alignas(16) unsigned char bound_[16] = {};
};

std::unique_ptr<Sieve> opened(const OrderSpec& order, bool last)
{
    if (const KeyFunctions* const keys = key_functions(order)) return std::make_unique<KeySieve>(order, *keys, last);
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
