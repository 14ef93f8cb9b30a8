// Records as a join knows them: see Walk. Included by join.cpp.
#pragma once

// at: the record. key: as keys compare. image: has the order of keys, but keys of equal images may differ.
struct JoinRecord {
    const unsigned char *at = nullptr, *key = nullptr;
    uint64_t image = 0;
};

class RecordOutput : public Output {
public:
    RecordOutput(const JoinSpec& spec, Buffer& room)
        : Output(spec, room), keys_(*spec.keys), a_(spec.sources[0].key), filler_(spec.filler_bytes > 0 ? spec.filler[0] : 0),
          a_size_(record_in(a_)), b_size_(0)
    {
        if (!(spec.shows & (JOIN_PAIRS | JOIN_ONLY_B))) return;  // so a diff returns
        const int64_t* const b = spec.sources[1].key;
        std::vector<Part> taken;
        for (int64_t number = 0; number < fields_in(b); ++number)
            taken.push_back({field_in(b, number).offset, field_in(b, number).width});
        std::sort(taken.begin(), taken.end(), [](const Part& x, const Part& y) { return x.offset < y.offset; });
        taken.push_back({record_in(b), 0});
        int64_t at = 0;
        for (const Part& part : taken) {
            if (part.offset > at) rest_.push_back({at, part.offset - at});
            at = std::max(at, part.offset + part.width);
        }
        for (const Part& part : rest_) b_size_ += part.width;
    }

    void put(const JoinRecord* a, const JoinRecord* b)
    {
        ensure(a_size_ + b_size_);
        if (a != nullptr) std::memcpy(at_, a->at, static_cast<size_t>(a_size_));
        else put_keyed(*b);
        at_ += a_size_;
        if (b == nullptr) {
            std::memset(at_, filler_, static_cast<size_t>(b_size_));
            at_ += b_size_;
        } else {
            for (const Part& part : rest_) {
                std::memcpy(at_, b->at + part.offset, static_cast<size_t>(part.width));
                at_ += part.width;
            }
        }
        ++items_;
    }

    // A record of a diff.
    void marked(Mark which, const JoinRecord& record)
    {
        if (only_counted()) return;
        ensure(mark_bytes_ + a_size_);
        mark(which);
        std::memcpy(at_, record.at, static_cast<size_t>(a_size_));
        at_ += a_size_;
        ++items_;
    }

private:
    struct Part {
        int64_t offset, width;
    };

    // A record of A that holds nothing but the key of b.
    void put_keyed(const JoinRecord& b)
    {
        std::memset(at_, filler_, static_cast<size_t>(a_size_));
        for (int64_t number = 0; number < fields_in(a_); ++number) {
            const FieldSpec field = field_in(a_, number), key = field_of(keys_, number);
            unsigned char* const to = at_ + field.offset;
            std::memcpy(to, b.key + key.offset, static_cast<size_t>(field.width));
            if (field.big_endian != key.big_endian) std::reverse(to, to + field.width);
        }
    }

    const OrderSpec keys_;
    const int64_t* const a_;
    const unsigned char filler_;
    const int64_t a_size_;
    int64_t b_size_;
    std::vector<Part> rest_;  // B's bytes that are not its key
};

class RecordKind {
public:
    typedef JoinRecord Item;

    explicit RecordKind(const JoinSpec& spec)
        : keys_(*spec.keys), tables_{spec.sources[0].key, spec.sources[1].key},
          first_(key_field(field_of(keys_, 0))), image_bytes_(first_.width < 8 ? static_cast<int>(first_.width) : 8),
          exact_(fields_of(keys_) == 1 && field_of(keys_, 0).width <= 8), out(spec, room_)
    {
        for (size_t input = 0; input < 2; ++input) {
            sizes_[input] = record_in(tables_[input]);
            if (fields_in(tables_[input]) != 1) continue;
            const FieldSpec field = field_in(tables_[input], 0);
            if (field.big_endian == first_.big_endian) places_[input] = field.offset;
        }
    }

    // The place behind the record at `at`, or null if it does not end at or ahead of `stop`. input: see read.
    const unsigned char* end_of(const unsigned char* at, const unsigned char* stop, int64_t input) const
    {
        return stop - at < sizes_[input] ? nullptr : at + sizes_[input];
    }

    void read(int64_t input, const unsigned char* begin, const unsigned char*, JoinRecord& record, Buffer& made) const
    {
        const int64_t place = places_[input];
        record = {begin, place >= 0 ? begin + place : record_key(keys_, tables_[input], begin, made).at, 0};
        record.image = field_image(first_, record.key + first_.offset, image_bytes_);
    }

    int compare(const JoinRecord& x, const JoinRecord& y) const
    {
        if (x.image != y.image) return x.image < y.image ? -1 : 1;
        return exact_ ? 0 : compare_items(keys_, x.key, keys_.record, y.key, keys_.record);
    }

    // Whether two records of a diff have the same bytes.
    bool same(const JoinRecord& x, const JoinRecord& y) const
    {
        return std::memcmp(x.at, y.at, static_cast<size_t>(sizes_[0])) == 0;
    }

    // Passes the records in [begin, stop), which both inputs of a diff hold. See LineKind.
    template <typename Visit>
    Passed pass(const JoinRecord& ahead, const unsigned char* begin, const unsigned char* stop, Visit visit)
    {
        Passed found;
        JoinRecord records[2];
        records[1] = ahead;
        for (; stop - begin >= sizes_[0]; begin = found.end) {
            JoinRecord& record = records[found.count & 1];
            read(0, begin, nullptr, record, passed_[found.count & 1]);
            const int order = compare(record, records[~found.count & 1]);
            if (order <= 0) visit(order, begin);
            ++found.count;
            found.last = begin;
            found.end = begin + sizes_[0];
        }
        return found;
    }

    static const unsigned char* begin_of(const JoinRecord& record) { return record.at; }
    static bool is_at_fault(const JoinRecord&) { return false; }

    void move(JoinRecord& record, ptrdiff_t bytes, int64_t input) const
    {
        // A key of one field lies in the record unless its bytes are turned round.
        if (record.key >= record.at && record.key < record.at + sizes_[input]) record.key += bytes;
        record.at += bytes;
    }

    void prepare(int64_t, JoinRecord&) const {}
    void put(const JoinRecord* a, const JoinRecord* b) { out.put(a, b); }
    bool hold(const std::vector<JoinRecord>&, int64_t) const { return true; }
    void begin_pairs(const JoinRecord&) const {}
    void put_held(const JoinRecord& a, const std::vector<JoinRecord>& b, size_t number) { out.put(&a, &b[number]); }
    void put_pair(Bytes, Bytes) const {}
    int64_t fields(int64_t, Bytes) const { return 0; }

private:
    const OrderSpec keys_;
    const int64_t* const tables_[2];
    int64_t sizes_[2], places_[2] = {-1, -1};  // places_: where the key lies, if it is one field that is compared as it lies
    const KeyField first_;
    const int image_bytes_;
    const bool exact_;
    Buffer room_, passed_[2];  // passed_: see pass

public:
    RecordOutput out;
};
