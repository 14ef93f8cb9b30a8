// Records of CSV with their fields in other columns. Records without quotes are taken to pieces by vectors.
#include <cstring>
#include <new>
#include <vector>

#include "entries.h"
#include "find.hpp"

namespace {

constexpr int64_t SHORT = 32;  // bytes of a field that are copied at once

// Fields that go out as they stand, and the bytes ahead of them: separators, also those of gaps.
struct Stretch {
    int64_t first = 0, last = -1;  // the fields, counted from 0; last < first for none
    std::vector<unsigned char> ahead;
};

class Rearranging {
public:
    Rearranging(const Columns& columns, const unsigned char* stop, bool ends, Rearranged& found)
        : columns(columns), found(found), stop_(stop), ends_here_(ends), between_(columns.separator),
          between_size_(static_cast<int64_t>(columns.separator_size)), bounds_(columns.fields + 2)
    {
        Stretch stretch;
        for (int64_t at = 0; at < columns.count; ++at) {
            const int64_t field = columns.places[at];
            const bool goes_on = field >= 0 && stretch.last >= stretch.first && field == stretch.last + 1;
            if (goes_on) {
                stretch.last = field;
                continue;
            }
            if (stretch.last >= stretch.first) {
                stretches_.push_back(stretch);
                stretch = {};
            }
            if (at > 0) stretch.ahead.insert(stretch.ahead.end(), between_, between_ + between_size_);
            if (field >= 0) stretch.first = stretch.last = field;
        }
        stretches_.push_back(stretch);
        // One stretch from the first field on to the last one needs no bounds between fields.
        whole_ = columns.fields > 0 && stretches_[0].first == 0 && stretches_[0].last == columns.fields - 1;
        for (size_t at = 1; at < stretches_.size(); ++at) whole_ = whole_ && stretches_[at].last < stretches_[at].first;
    }

    // Takes the record at `at` to pieces. Returns whether it is whole and has no fault.
    bool take(const unsigned char* at)
    {
        start_ = at;
        const bool plain = between_size_ == 1 && take_plain(at);
        return plain || (!failed_ && take_slowly(at));
    }

    // Bytes that the record takes in the output, at most.
    int64_t most() const { return next_ - start_ + columns.count * between_size_ + 4; }
    const unsigned char* next() const { return next_; }

    // Writes the record to `out`, which has room for most() and SHORT bytes. Returns the place behind it.
    unsigned char* put(unsigned char* out) const
    {
        const unsigned char* const begin = out;
        if (count_ == columns.fields) {
            for (const Stretch& stretch : stretches_) {
                out = text(stretch.ahead.data(), stretch.ahead.size(), out);
                if (stretch.last >= stretch.first) {
                    const unsigned char* const first = stretch.first == 0 ? start_ : field_start(stretch.first);
                    const unsigned char* const last = stretch.last == columns.fields - 1 ? stop_of_record_ : field_stop(stretch.last);
                    out = copied(first, last - first, out);
                }
            }
        } else {
            for (int64_t at = 0; at < columns.count; ++at) {
                if (at > 0) out = text(between_, static_cast<size_t>(between_size_), out);
                const int64_t field = columns.places[at];
                if (field >= 0 && field < count_) out = copied(field_start(field), field_stop(field) - field_start(field), out);
            }
        }
        if (out == begin && columns.quote >= 0) {  // an empty line would be no record
            *out++ = static_cast<unsigned char>(columns.quote);
            *out++ = static_cast<unsigned char>(columns.quote);
        }
        if (returns_) *out++ = '\r';
        *out++ = '\n';
        return out;
    }

private:
    static unsigned char* text(const unsigned char* from, size_t bytes, unsigned char* out)
    {
        for (size_t at = 0; at < bytes; ++at) out[at] = from[at];
        return out + bytes;
    }

    // SHORT bytes of the text must be readable.
    static unsigned char* copied(const unsigned char* from, int64_t bytes, unsigned char* out)
    {
        if (bytes <= SHORT) {
            std::memcpy(out, from, SHORT);
        } else {
            std::memcpy(out, from, static_cast<size_t>(bytes));
        }
        return out + bytes;
    }

    const unsigned char* field_start(int64_t field) const { return field == 0 ? start_ : bounds_[field - 1] + between_size_; }
    const unsigned char* field_stop(int64_t field) const { return field == count_ - 1 ? stop_of_record_ : bounds_[field]; }

    void bound(const unsigned char* at)
    {
        if (count_ <= columns.fields) bounds_[count_ - 1] = at;
        ++count_;
    }

    bool finish(const unsigned char* end, bool newline)
    {
        next_ = end + newline;
        returns_ = newline && end > start_ && end[-1] == '\r';
        stop_of_record_ = end - returns_;
        if (count_ > columns.fields) {
            found.fault = SURPLUS_FIELD;
            failed_ = true;
            return false;
        }
        return true;
    }

    // As take, for a record that ends in a newline and has no quotes and no escapes. Returns false for others.
    bool take_plain(const unsigned char* at)
    {
        count_ = 1;
        for (;; at += 64) {
            if (at >= stop_) return false;
            const uint64_t inside = stop_ - at < 64 ? (uint64_t{1} << (stop_ - at)) - 1 : ~uint64_t{0};
            const uint64_t ends = matches_at(at, '\n') & inside;
            const uint64_t ahead = ends != 0 ? (ends & -ends) - 1 : inside;
            uint64_t special = 0;
            if (columns.quote >= 0) special = matches_at(at, static_cast<unsigned char>(columns.quote));
            if (columns.escape >= 0) special |= matches_at(at, static_cast<unsigned char>(columns.escape));
            if ((special & ahead) != 0) return false;
            if ((matches_at(at, '\r') & ahead) != 0) found.special = 1;
            uint64_t separators = matches_at(at, between_[0]) & ahead;
            if (whole_ && count_ == 1 && ends != 0 && __builtin_popcountll(separators) + 1 == columns.fields) {
                count_ = columns.fields;
            } else {
                for (; separators != 0; separators &= separators - 1) bound(at + __builtin_ctzll(separators));
            }
            if (ends != 0) return finish(at + __builtin_ctzll(ends), true);
        }
    }

    bool take_slowly(const unsigned char* at)
    {
        count_ = 1;
        bool field_begins = true;
        while (at < stop_) {
            if (*at == columns.quote && columns.quote >= 0) found.special = 1;
            if (columns.escape >= 0 && *at == columns.escape) {
                found.special = 1;
                at = behind_escape(at);
                field_begins = false;
                continue;
            }
            if (field_begins && columns.quote >= 0 && *at == columns.quote) {
                at = behind_quotes(at + 1);
                if (at == nullptr) return false;
                field_begins = false;
                if (at < stop_ && *at != '\n' && *at != '\r' && !is_separator(at)) {
                    found.fault = TEXT_BEHIND_QUOTE;
                    failed_ = true;
                    return false;
                }
                continue;
            }
            if (*at == '\n') return finish(at, true);
            if (*at == '\r') found.special = 1;
            field_begins = is_separator(at);
            if (field_begins) bound(at);
            at += field_begins ? between_size_ : 1;
        }
        return ends_here_ && stop_ > start_ && finish(stop_, false);
    }

    // The place behind an escape and what it makes text: a byte, or a carriage return and a newline.
    const unsigned char* behind_escape(const unsigned char* at) const
    {
        const bool ends_line = stop_ - at > 2 && at[1] == '\r' && at[2] == '\n';
        return at + 1 < stop_ ? at + 2 + ends_line : stop_;
    }

    bool is_separator(const unsigned char* at) const
    {
        return stop_ - at >= between_size_ && std::memcmp(at, between_, static_cast<size_t>(between_size_)) == 0;
    }

    // The place behind the closing quote; null if it is not there.
    const unsigned char* behind_quotes(const unsigned char* at)
    {
        while (at < stop_) {
            if (columns.escape >= 0 && *at == columns.escape) {
                at = behind_escape(at);
            } else if (*at != columns.quote) {
                ++at;
            } else if (at + 1 < stop_ && at[1] == columns.quote) {
                at += 2;
            } else if (at + 1 < stop_ || ends_here_) {
                return at + 1;
            } else {
                return nullptr;
            }
        }
        if (ends_here_) {
            found.fault = OPEN_QUOTE;
            failed_ = true;
        }
        return nullptr;
    }

    const Columns& columns;
    Rearranged& found;
    const unsigned char* const stop_;
    const bool ends_here_;
    const unsigned char* const between_;
    const int64_t between_size_;
    std::vector<Stretch> stretches_;
    std::vector<const unsigned char*> bounds_;  // where fields of the record stop, but for the last one
    bool whole_ = false, failed_ = false, returns_ = false;
    int64_t count_ = 1;  // fields of the record
    const unsigned char* start_ = nullptr;
    const unsigned char* stop_of_record_ = nullptr;
    const unsigned char* next_ = nullptr;
};

}  // namespace

int64_t gm_rearrange(const Columns* columns, const unsigned char* text, int64_t nbytes, int64_t ends, unsigned char* out,
    int64_t room, Rearranged* found)
{
    try {
        *found = {};
        const unsigned char* at = text;
        unsigned char* to = out;
        Rearranging rearranging(*columns, text + nbytes, ends != 0, *found);
        while (at < text + nbytes && rearranging.take(at)) {
            if (rearranging.most() + SHORT > out + room - to) break;
            to = rearranging.put(to);
            at = rearranging.next();
            ++found->records;
        }
        found->taken = at - text;
        found->made = to - out;
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    return DONE;
}
