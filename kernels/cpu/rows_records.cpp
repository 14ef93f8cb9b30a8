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
        team.share(count_, 1 << 14, [&](int64_t first, int64_t last, int) {
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
