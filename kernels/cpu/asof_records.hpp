// The as-of keys of records: see asof_lines.hpp. Included by join.cpp.
#pragma once

class RecordAsof {
public:
    explicit RecordAsof(const JoinSpec& spec) : spec_(*spec.asof), keys_(*spec.keys), others_(keys_), last_(keys_), distances(spec_, false)
    {
        const int64_t fields = fields_of(keys_);
        single_ = fields == 1;
        if (single_) {
            shared_ = spec_.tail > 0 ? field_of(keys_, 0).width - spec_.tail : 0;
            return;
        }
        table_.assign(keys_.table, keys_.table + 1 + (fields - 1) * static_cast<int64_t>(sizeof(FieldSpec) / sizeof(int64_t)));
        table_[0] = fields - 1;
        others_.table = table_.data();
        const FieldSpec field = field_of(keys_, fields - 1);
        last_.table = nullptr;
        last_.offset = field.offset;
        last_.width = field.width;
        last_.key_kind = field.kind;
        last_.big_endian = field.big_endian;
        last_.descending = field.descending;
    }

    RecordAsof(const RecordAsof&) = delete;
    RecordAsof& operator=(const RecordAsof&) = delete;

    bool has_value(const JoinRecord& record) const
    {
        if (spec_.measure == ASOF_BYTES) return !has_null_byte() || *tail(record) == VALUE;
        if (has_null_byte() && *tail(record) != VALUE) return false;
        if (spec_.measure == ASOF_WHOLE || spec_.width > 8) return true;
        return !is_no_value(spec_, static_cast<uint64_t>(image(record)));
    }

    static bool is_gap(const JoinRecord&) { return false; }

    bool same_others(const JoinRecord& x, const JoinRecord& y) const
    {
        if (single_) return shared_ == 0 || std::memcmp(x.key, y.key, static_cast<size_t>(shared_)) == 0;
        return compare_items(others_, x.key, others_.record, y.key, others_.record) == 0;
    }

    void read(const JoinRecord& record, AsofValue& value) const { read_image(spec_, image(record), value); }

    static int64_t copy(const JoinRecord&, Buffer&) { return 0; }  // there are no gaps

private:
    static constexpr unsigned char VALUE = 1;  // the first byte of an image that may be null

    // Items of tables have the images of all key columns. Whether that of the last column has a byte for nulls, and its place.
    bool has_null_byte() const { return spec_.tail > spec_.width; }
    const unsigned char* tail(const JoinRecord& record) const { return record.key + shared_; }

    WideWord ascending(WideWord image) const
    {
        return spec_.descending != 0 ? ~image & ~WideWord{0} >> (128 - 8 * spec_.width) : image;
    }

    WideWord image(const JoinRecord& record) const
    {
        if (spec_.tail == 0) return ascending(single_ ? record.image : image_of_key(last_, record.key));
        const unsigned char* at = tail(record) + has_null_byte();
        WideWord found = 0;
        for (int64_t byte = 0; byte < spec_.width; ++byte) found = found << 8 | at[byte];
        return ascending(found);
    }

    const AsofSpec& spec_;
    const OrderSpec keys_;
    OrderSpec others_, last_;  // the orders by all fields but the last one, and by that one
    bool single_ = true;
    int64_t shared_ = 0;  // the bytes of a key ahead of the last column's image
    std::vector<int64_t> table_;

public:
    AsofDistances distances;
};
