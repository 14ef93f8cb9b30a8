// Records of one size as rows, ordered by the key in them.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "combining.hpp"
#include "compare.hpp"
#include "find.hpp"
#include "gallop.hpp"
#include "merging.hpp"
#include "rows_kinds.hpp"
#include "workspace.hpp"

#define ROWS 1
#define KEY_BITS 64
#define RECORD_SIZE 1  // known at run time only
#define TEXT_PADDING 64
#include "../host.cuh"

namespace {

#include "../corank.cuh"
#include "record_fields.hpp"

// See line_images.hpp: no locale compares records.
inline bool compare_whole_in_locale(const Lines&) { return false; }

#include "rows.hpp"

// Makes rows of the records [first, last), whose only key is a number of BYTES bytes, as row_prefix does for all keys.
template <int BYTES, int KIND>
void rows_of_numbers(const Lines& records, int64_t first, int64_t last, Item* rows)
{
    const KeyField field = records.field(0);
    const unsigned char* key = records.text + first * records.record + field.offset;
    for (int64_t at = first; at < last; ++at, key += records.record) {
        Word bits = 0;
        std::memcpy(&bits, key, BYTES);
        if (field.big_endian) bits = __builtin_bswap64(bits) >> (64 - 8 * BYTES);
        rows[at] = {image_of(bits, 8 * BYTES, KIND, field.descending), at};
    }
}

typedef void (*MakesRows)(const Lines&, int64_t, int64_t, Item*);

template <int BYTES>
MakesRows maker_for_kind(int kind)
{
    switch (kind) {
    case UNSIGNED_KEYS: return rows_of_numbers<BYTES, UNSIGNED_KEYS>;
    case SIGNED_KEYS: return rows_of_numbers<BYTES, SIGNED_KEYS>;
    case FLOAT_KEYS: return BYTES == 1 ? nullptr : rows_of_numbers<BYTES, FLOAT_KEYS>;
    case DATE_KEYS: return rows_of_numbers<BYTES, DATE_KEYS>;
    default: return nullptr;
    }
}

// The function that makes rows of records with this number as their only key; null for other keys.
MakesRows maker_for(const KeyField& field)
{
    switch (field.width) {
    case 1: return maker_for_kind<1>(field.kind);
    case 2: return maker_for_kind<2>(field.kind);
    case 4: return maker_for_kind<4>(field.kind);
    case 8: return maker_for_kind<8>(field.kind);
    default: return nullptr;
    }
}

class RecordRows final : public Rows {
public:
    RecordRows(const OrderSpec& order, int threads) : Rows(order, threads)
    {
        for (int64_t number = 0; number < fields_of(order); ++number)
            fields_.push_back(key_field(field_of(order, number)));
        lines_.record = order.record;
        lines_.key_fields = fields_.data();
        lines_.field_count = static_cast<int>(fields_.size());
        lines_.have_ties = order.width > 8;
    }

private:
    void find(int64_t nbytes) override
    {
        Item* const rows = make_room(nbytes / order.record);
        const MakesRows maker = fields_.size() == 1 ? maker_for(fields_[0]) : nullptr;
        team.share(count_, 1 << 14, [&](int64_t first, int64_t last, int) {
            if (maker != nullptr) return maker(lines_, first, last, rows);
            for (int64_t at = first; at < last; ++at) rows[at] = {row_prefix(lines_, at), at};
        });
    }

    std::vector<KeyField> fields_;
};

}  // namespace

std::unique_ptr<Workspace> make_record_rows(const OrderSpec& order, int threads)
{
    return std::make_unique<RecordRows>(order, threads);
}
