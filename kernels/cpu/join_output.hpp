// The lines that a join puts out, in memory that grows. Included by join.cpp, behind join_fields.hpp.
#pragma once

// The marks of a diff, which lie in this order in JoinSpec.filler.
enum Mark { REMOVED, ADDED, CHANGED_FROM, CHANGED_TO };

// Memory for a part of a result.
class Output {
public:
    Output(const JoinSpec& spec, Buffer& room)
        : room_(room), marks_(spec.filler), mark_bytes_(spec.filler_bytes / 4), counts_((spec.shows & JOIN_COUNTS) != 0)
    {
    }

    void begin(int64_t expected)
    {
        capacity_ = expected + EXTRA;
        at_ = room_.reserve(static_cast<size_t>(capacity_));
        items_ = 0;
    }

    int64_t bytes() const { return at_ - room_.data(); }
    int64_t items() const { return items_; }
    const unsigned char* data() const { return room_.data(); }

protected:
    static constexpr int64_t EXTRA = 1 << 16, SLACK = 64;

    void ensure(int64_t more)
    {
        const int64_t used = bytes();
        if (used + more + SLACK <= capacity_) return;
        capacity_ = 2 * (used + more + SLACK);
        Buffer larger;
        unsigned char* const copy = larger.reserve(static_cast<size_t>(capacity_));
        std::memcpy(copy, room_.data(), static_cast<size_t>(used));
        room_.swap(larger);
        at_ = copy + used;
    }

    // There must be room.
    void mark(Mark mark)
    {
        std::memcpy(at_, marks_ + mark * mark_bytes_, static_cast<size_t>(mark_bytes_));
        at_ += mark_bytes_;
    }

    // Whether an item is counted and not written.
    bool only_counted()
    {
        items_ += counts_;
        return counts_;
    }

    Buffer& room_;
    const unsigned char* const marks_;
    const int64_t mark_bytes_;
    const bool counts_;
    unsigned char* at_ = nullptr;
    int64_t capacity_ = 0, items_ = 0;
};

// A line that has more fields than the spec allows. at: its first byte.
struct SurplusFields : Fault {
    SurplusFields(int64_t input, size_t fields, Place at)
        : Fault{Status::SURPLUS_FIELDS, {static_cast<int64_t>(fields), input, -1}}, at(at)
    {
    }
    Place at;
};

class LineOutput : public Output {
public:
    LineOutput(const JoinSpec& spec, const LineReader& a, const LineReader& b, Buffer& room)
        : Output(spec, room), spec_(spec), readers_{&a, &b}, by_fields_((spec.columns != nullptr && spec.most_a == 0) || spec.filler_bytes > 0 || a.several()),
          terminator_(static_cast<unsigned char>(spec.keys->terminator)), width_(width_of(spec.separator))
    {
    }

    // Whether every field must be looked at.
    bool by_fields() const { return by_fields_; }

    // The fields that each line of an input has at most, see JoinSpec.
    int64_t most(int64_t input) const { return input == 0 ? spec_.most_a : spec_.most_b; }

    // Both lines must be raw, as far as they are there. If there is a most number of fields, they have it.
    void raw(const JoinLine* a, const JoinLine* b)
    {
        const JoinLine& first = a != nullptr ? *a : *b;
        const int64_t bytes = (a != nullptr ? length(a->text) : 0) + (b != nullptr ? length(b->text) : 0);
        ensure(bytes + length(first.field) + (spec_.most_a + spec_.most_b + 2) * width_ + 8);
        copy(first.field);
        if (a != nullptr) rest(*a);
        else empty_rest(spec_.most_a);
        if (b != nullptr) rest(*b);
        else empty_rest(spec_.most_b);
        end(first);
    }

    // A line of a diff.
    void marked(Mark which, const JoinLine& line)
    {
        if (only_counted()) return;
        ensure(mark_bytes_ + length(line.text) + 8);
        mark(which);
        copy(line.text);
        end(line);
    }

    void fields(const JoinLine* a, FieldView of_a, const JoinLine* b, FieldView of_b)
    {
        const FieldView views[2] = {of_a, of_b};
        check(0, a, of_a);
        check(1, b, of_b);
        const JoinLine& first = a != nullptr ? *a : *b;
        const int64_t both = (a != nullptr ? length(a->text) : 0) + (b != nullptr ? length(b->text) : 0);
        const int64_t count = spec_.columns != nullptr ? spec_.count : 2;  // without columns no field goes out three times
        const int64_t fields = count + static_cast<int64_t>(of_a.count + of_b.count + readers_[0]->keys());
        const int64_t most = fields * (spec_.filler_bytes + width_) + count * both;
        if (most <= EXTRA) {
            ensure(most);
            put_fields<false>(views, a != nullptr ? 0 : 1);
        } else {
            put_fields<true>(views, a != nullptr ? 0 : 1);
        }
        ensure(8);
        end(first);
    }

private:
    void check(int64_t input, const JoinLine* line, FieldView view) const
    {
        const size_t allowed = static_cast<size_t>(most(input));
        if (allowed == 0 || view.count <= allowed) [[likely]] return;
        for (size_t number = allowed; number < view.count; ++number)
            if (length(view.at[number]) > 0) throw SurplusFields(input, view.count, line->text.start);
    }

    static int64_t length(Text text) { return text.stop - text.start; }

    // There must be room.
    void copy(Text text)
    {
        const int64_t count = length(text);
        if (count <= 32) std::memcpy(at_, text.start, 32);
        else std::memcpy(at_, text.start, static_cast<size_t>(count));
        at_ += count;
    }

    // first: the input whose key goes out. CHECKED: there may not be room for all fields.
    template <bool CHECKED>
    void put_fields(const FieldView* views, size_t first)
    {
        if (spec_.columns != nullptr) {
            for (int64_t number = 0; number < spec_.count; ++number) {
                if (number > 0) between<CHECKED>();
                const int64_t* const column = spec_.columns + 2 * number;
                if (column[0] == 0) field<CHECKED>(views[first], readers_[first]->joined(static_cast<size_t>(column[1])));
                else field<CHECKED>(views[column[0] - 1], static_cast<size_t>(column[1]));
            }
            return;
        }
        for (size_t key = 0; key < readers_[first]->keys(); ++key) {
            if (key > 0) between<CHECKED>();
            field<CHECKED>(views[first], readers_[first]->joined(key));
        }
        for (size_t input = 0; input < 2; ++input)
            for (size_t number = 0; number < views[input].count; ++number) {
                if (readers_[input]->joins(number)) continue;
                between<CHECKED>();
                field<CHECKED>(views[input], number);
            }
    }

    template <bool CHECKED>
    void between()
    {
        if (CHECKED) ensure(width_);
        at_ = put_separator(spec_.separator, at_);
    }

    template <bool CHECKED>
    void field(FieldView view, size_t number)
    {
        if (number < view.count && length(view.at[number]) > 0) {
            if (CHECKED) ensure(length(view.at[number]));
            copy(view.at[number]);
        } else if (spec_.filler_bytes > 0) {
            if (CHECKED) ensure(spec_.filler_bytes);
            std::memcpy(at_, spec_.filler, static_cast<size_t>(spec_.filler_bytes));
            at_ += spec_.filler_bytes;
        }
    }

    // The same for a missing line of so many fields; 0 if they do not go out.
    void empty_rest(int64_t fields)
    {
        for (int64_t number = 1; number < fields; ++number) between<false>();
    }

    // The fields of a line but for the join field, each with a separator ahead of it.
    void rest(const JoinLine& line)
    {
        if (line.field.start > line.text.start) {
            between<false>();
            copy({line.text.start, line.field.start - width_});
        }
        copy({line.field.stop, line.text.stop});
    }

    void end(const JoinLine& first)
    {
        if (first.returns) *at_++ = '\r';
        *at_++ = terminator_;
        ++items_;
    }

    const JoinSpec& spec_;
    const LineReader* readers_[2];
    bool by_fields_;
    unsigned char terminator_;
    int width_;  // of the separator
};
