// A sieve leaves out items that cannot be among the first or last ones of a sort. Each kind of item has a class of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "entries.h"

// See the entries.
struct Sieve {
    virtual ~Sieve() = default;
    virtual void bound(const unsigned char* item, int64_t size, bool equals) = 0;
    virtual void pass(const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room, Sieved& found) = 0;
};

std::unique_ptr<Sieve> make_line_sieve(const OrderSpec& order, bool last);
std::unique_ptr<Sieve> make_record_sieve(const OrderSpec& order, bool last);
