// The lines that a join puts out, in memory that grows. Included by join.cpp, behind join_fields.hpp.
#pragma once

// Memory for a part of a result.
class Output {
public:
    explicit Output(Buffer& room) : room_(room) {}

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

    Buffer& room_;
    unsigned char* at_ = nullptr;
    int64_t capacity_ = 0, items_ = 0;
};

class LineOutput : public Output {
public:
    LineOutput(const JoinSpec& spec, const LineReader& a, const LineReader& b, Buffer& room)
        : Output(room), spec_(spec), readers_{&a, &b}, by_fields_(spec.columns != nullptr || spec.filler_bytes > 0 || a.several()),
          terminator_(static_cast<unsigned char>(spec.keys->terminator)), separator_(static_cast<unsigned char>(spec.separator))
    {
    }

    // Whether every field must be looked at.
    bool by_fields() const { return by_fields_; }

    // Both lines must be raw, as far as they are there.
    void raw(const JoinLine* a, const JoinLine* b)
    {
        const JoinLine& first = a != nullptr ? *a : *b;
        ensure((a != nullptr ? length(a->text) : 0) + (b != nullptr ? length(b->text) : 0) + length(first.field) + 8);
        copy(first.field);
        if (a != nullptr) rest(*a);
        if (b != nullptr) rest(*b);
        end(first);
    }

    void fields(const JoinLine* a, FieldView of_a, const JoinLine* b, FieldView of_b)
    {
        const FieldView views[2] = {of_a, of_b};
        const size_t first = of_a.there ? 0 : 1;
        if (spec_.columns != nullptr) {
            for (int64_t number = 0; number < spec_.count; ++number) {
                if (number > 0) put(separator_);
                const int64_t* const column = spec_.columns + 2 * number;
                if (column[0] == 0) field(views[first], readers_[first]->joined(static_cast<size_t>(column[1])));
                else field(views[column[0] - 1], static_cast<size_t>(column[1]));
            }
        } else {
            for (size_t key = 0; key < readers_[first]->keys(); ++key) {
                if (key > 0) put(separator_);
                field(views[first], readers_[first]->joined(key));
            }
            for (size_t input = 0; input < 2; ++input)
                for (size_t number = 0; number < views[input].count; ++number) {
                    if (readers_[input]->joins(number)) continue;
                    put(separator_);
                    field(views[input], number);
                }
        }
        ensure(8);
        end(first == 0 ? *a : *b);
    }

private:
    static int64_t length(Text text) { return text.stop - text.start; }

    // There must be room.
    void copy(Text text)
    {
        const int64_t count = length(text);
        if (count <= 32) std::memcpy(at_, text.start, 32);
        else std::memcpy(at_, text.start, static_cast<size_t>(count));
        at_ += count;
    }

    void put(unsigned char byte)
    {
        ensure(1);
        *at_++ = byte;
    }

    void field(FieldView view, size_t number)
    {
        if (number < view.count && length(view.at[number]) > 0) {
            ensure(length(view.at[number]));
            copy(view.at[number]);
        } else if (spec_.filler_bytes > 0) {
            ensure(spec_.filler_bytes);
            std::memcpy(at_, spec_.filler, static_cast<size_t>(spec_.filler_bytes));
            at_ += spec_.filler_bytes;
        }
    }

    // The fields of a line but for the join field, each with a separator ahead of it.
    void rest(const JoinLine& line)
    {
        if (line.field.start > line.text.start) {
            *at_++ = separator_;
            copy({line.text.start, line.field.start - 1});
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
    unsigned char terminator_, separator_;
};
