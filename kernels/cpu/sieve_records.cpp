// The sieve of records: compares the prefix of each record's key with that of the bound.
#include <algorithm>
#include <cstring>
#include <vector>

#include "compare.hpp"
#include "find.hpp"
#include "sieve.hpp"

#define ROWS 1
#define KEY_BITS 64
#define RECORD_SIZE 1  // known at run time only
#define TEXT_PADDING 64
#include "../host.cuh"

namespace {

#include "../corank.cuh"
#include "record_fields.hpp"

class RecordSieve final : public Sieve {
public:
    RecordSieve(const OrderSpec& order, bool last) : size_(order.record), last_(last)
    {
        for (int64_t number = 0; number < fields_of(order); ++number)
            fields_.push_back(key_field(field_of(order, number)));
        records_.record = size_;
        records_.key_fields = fields_.data();
        records_.field_count = static_cast<int>(fields_.size());
        have_ties_ = order.width > 8;
    }

    void bound(const unsigned char* item, int64_t size, bool equals) override
    {
        unsigned char* const copy = bound_.reserve(static_cast<size_t>(size_));
        std::memcpy(copy, item, static_cast<size_t>(std::min(size, size_)));
        Lines alone = records_;
        alone.text = copy;
        prefix_ = row_prefix(alone, 0);
        has_bound_ = true;
        equals_ = equals;
    }

    void pass(const unsigned char* items, int64_t nbytes, unsigned char* out, int64_t room, Sieved& found) override
    {
        const int64_t count = nbytes / size_, places = room / size_;
        int64_t at = 0, kept = 0;
        if (!has_bound_) {
            at = kept = std::min(count, places);
            if (kept > 0) std::memcpy(out, items, static_cast<size_t>(kept * size_));
        } else {
            records_.text = items;
            for (; at < count; ++at) {
                if (!stays(at)) continue;
                if (kept == places) break;
                std::memcpy(out + kept++ * size_, items + at * size_, static_cast<size_t>(size_));
            }
        }
        found = {at * size_, at, kept * size_, at < count, 0};
    }

private:
    bool stays(int64_t at) const
    {
        const Word prefix = row_prefix(records_, at);
        if (prefix != prefix_) return (prefix < prefix_) != last_;
        const int compared = have_ties_ ? compared_fields(records_.text + at * size_) : 0;
        return compared == 0 ? !equals_ : (compared < 0) != last_;
    }

    // Negative, zero or positive, if a record goes before, with or behind the bound.
    __attribute__((noinline)) int compared_fields(const unsigned char* record) const
    {
        for (const KeyField& field : fields_) {
            const int compared = compare_field(field, record + field.offset, bound_.data() + field.offset, 0);
            if (compared != 0) return compared;
        }
        return 0;
    }

    const int64_t size_;
    const bool last_;
    bool have_ties_, has_bound_ = false, equals_ = false;
    std::vector<KeyField> fields_;
    Lines records_;
    Buffer bound_;
    Word prefix_ = 0;
};

}  // namespace

std::unique_ptr<Sieve> make_record_sieve(const OrderSpec& order, bool last)
{
    return std::make_unique<RecordSieve>(order, last);
}
