// The lines of a join, and their fields. Included by join.cpp, behind lines.cuh and key_fields.hpp.
#pragma once

// text: a line without its terminator, and of CSV without the carriage return ahead of it. key: what compares. image: has the
// order of keys, but keys of equal images may differ unless both images are `exact`. find_field() finds the rest: `field`, the join
// field as it stands, and whether the other fields can be copied as they lie.
struct JoinLine {
    WideWord image = 0;
    Text text{nullptr, nullptr}, key{nullptr, nullptr}, field{nullptr, nullptr};
    bool exact = false, raw = false, returns = false;  // returns: a carriage return follows the text
    bool fault = false;                                // the key is invalid, which is an error

    // The line lies so much further on in memory. key_too: so does its key.
    void move(ptrdiff_t bytes, bool key_too)
    {
        text = {text.start + bytes, text.stop + bytes};
        if (key_too) key = {key.start + bytes, key.stop + bytes};
        if (field.start != nullptr) field = {field.start + bytes, field.stop + bytes};
    }
};

// Compares keys. `order` is that of keys as if they were lines.
class KeyOrder {
public:
    explicit KeyOrder(const OrderSpec& order)
        : own_(order), order_(order), plain_(is_plain(order)), turned_(is_reversed(order) ? ~WideWord{0} : 0)
    {
        order_.table = own_.table();
    }

    // Makes the image of the line's key.
    __attribute__((always_inline)) void see(JoinLine& line) const
    {
        if (plain_) {
            line.image = WideText(line.key, false).bytes ^ turned_;
            return;
        }
        const Prefix prefix = key_prefix(own_.order(), line.key);
        line.image = prefix.bits;
        line.exact = prefix.exact;
        line.fault = prefix.fault;
    }

    // Negative, zero or positive, if the key of x goes before, with or behind that of y.
    __attribute__((always_inline)) int compare(const JoinLine& x, const JoinLine& y) const
    {
        return x.image != y.image ? (x.image < y.image ? -1 : 1) : compare_rest(x, y);
    }

    // The same for two texts that are keys.
    int compare_texts(Text x, Text y) const
    {
        if (!plain_) return compare_items(order_, x.start, x.stop - x.start, y.start, y.stop - y.start);
        const int result = compare_bytes(x, y);
        return turned_ != 0 ? -result : result;
    }

    // Calls call(words) with a null pointer to the kind of words that make images of keys: see Images.
    template <typename Call>
    auto by_words(Call call) const
    {
        if (plain_) return call(static_cast<WidePlainWords*>(nullptr));
#if defined(__SSE4_1__)
        if (FirstFieldWords::suit(lines())) return call(static_cast<FirstFieldWords*>(nullptr));
#endif
        return by_kind(lines(), call);
    }

    const LineOrder& lines() const { return own_.order(); }

private:
    // Compares keys whose images are equal.
    int compare_rest(const JoinLine& x, const JoinLine& y) const
    {
        if (x.exact && y.exact) return 0;
        const long long x_size = x.key.stop - x.key.start, y_size = y.key.stop - y.key.start;
        if (plain_ && x_size == y_size && x_size <= 16) return 0;
        return compare_texts(x.key, y.key);
    }

    const OwnOrder own_;
    OrderSpec order_;
    bool plain_;
    WideWord turned_;
};

// The fields of a line. there: whether there is a line.
struct FieldView {
    const Text* at = nullptr;
    size_t count = 0;
    bool there = false;
};

// Finds the key and the fields of one input's lines. TEXT_PADDING bytes behind each line must be readable.
class LineReader {
public:
    explicit LineReader(const int64_t* table)
        : order_(*reinterpret_cast<const LineOrder*>(table)), several_(order_.keys > 1),
          whole_(is_whole_line(order_)),
          begins_with_key_(is_plain(order_.separator) && order_.key(0).start_field == 0 && !several_ && !whole_)
    {
    }

    bool several() const { return several_; }
    size_t keys() const { return static_cast<size_t>(order_.keys); }
    size_t joined(size_t key) const { return static_cast<size_t>(order_.key(static_cast<long long>(key)).start_field); }
    bool joins(size_t field) const
    {
        for (size_t key = 0; key < keys(); ++key)
            if (joined(key) == field) return true;
        return false;
    }

    // Finds the key of a line. made: holds a key of several fields.
    __attribute__((always_inline)) void read(Text text, JoinLine& found, Buffer& made) const
    {
        found.text = text;
        if (begins_with_key_) {
            const Place begin = order_.separator < 0 ? skip_blanks(text.start, text.stop) : text.start;
            const Place end = order_.separator < 0 ? find_blank(begin, text.stop) : find_byte(begin, text.stop, order_.separator);
            found.key = {begin, end};
            return;
        }
        found.text = without_return(text);
        found.returns = found.text.stop < text.stop;
        if (whole_) {
            found.key = found.text;
            return;
        }
        const FieldMarks marks(order_, text);
        if (several_) found.key = make_key(marks, found.text, made);
        else found.key = marks.part(order_.key(0));
    }

    // A line without the carriage return that is a part of its end.
    __attribute__((always_inline)) Text without_return(Text text) const
    {
        const bool may_return = order_.separator >= 0 && flags_of(order_.separator) & RECORD_END;
        return {text.start, may_return ? record_end(text) : text.stop};
    }

    // Whether the key is all of the line.
    bool is_whole() const { return whole_; }

    void find_field(JoinLine& line) const
    {
        if (several_) return;
        line.field = as_it_stands(order_, line.text, line.key);
        // If the field lies at the line's end, and nothing is in it, there may be none.
        const bool there = line.field.start < line.text.stop;
        line.raw = there && (order_.separator >= 0 || is_simple(line.text));
    }

    // Whether a line of CSV that is not empty has so many fields.
    bool has_fields(Text text, int64_t count) const
    {
        if (rest_of(order_.separator) != 0) return counted_fields(text) == count;
        const unsigned char separator = static_cast<unsigned char>(order_.separator);
        const bool quoted = is_quoted(order_.separator);
        int64_t found = 1;
        for (Place at = text.start; at < text.stop; at += 64) {
            const Word inside = text.stop - at < 64 ? (1ull << (text.stop - at)) - 1 : ~0ull;
            if (quoted && (matches_at(at, '"') & inside) != 0) return counted_fields(text) == count;
            found += __builtin_popcountll(matches_at(at, separator) & inside);
        }
        return found == count;
    }

    // Whether a value may be written with quotes and without.
    bool may_be_quoted() const { return is_quoted(order_.separator); }

    // Whether two fields have the same value, with quotes around it or without.
    bool same_value(Text x, Text y) const
    {
        const bool quotes = may_be_quoted();
        Place at[2] = {x.start, y.start};
        Place stop[2] = {x.stop, y.stop};
        bool within[2] = {false, false};
        for (size_t side = 0; side < 2; ++side) {
            within[side] = quotes && stop[side] - at[side] >= 2 && *at[side] == '"';
            if (within[side]) ++at[side], --stop[side];
        }
        for (; at[0] < stop[0] && at[1] < stop[1]; ++at[0], ++at[1]) {
            if (*at[0] != *at[1]) return false;
            for (size_t side = 0; side < 2; ++side)
                if (within[side] && *at[side] == '"') ++at[side];  // it is written twice
        }
        return at[0] >= stop[0] && at[1] >= stop[1];
    }

    // Appends all fields of a line as they stand. There are none in an empty line, and none in blanks that fields do not lie
    // between. Blanks at a line's end have an empty field behind them.
    void split(Text text, std::vector<Text>& fields) const
    {
        if (text.start == text.stop) return;
        if (order_.separator < 0) return split_by_blanks(text, fields);
        Place at = text.start;
        if (!is_quoted(order_.separator) && rest_of(order_.separator) == 0) {
            const unsigned char separator = static_cast<unsigned char>(order_.separator);
            each_mark(text, [&](Place block) { return matches_at(block, separator); }, [&](Place mark) {
                fields.push_back({at, mark});
                at = mark + 1;
            });
            fields.push_back({at, text.stop});
            return;
        }
        for (const int width = width_of(order_.separator);; at += width) {
            const Place end = field_end(at, text.stop, order_.separator);
            fields.push_back({at, end});
            if (end == text.stop) return;
            at = end;
        }
    }

private:
    int64_t counted_fields(Text text) const
    {
        const int width = width_of(order_.separator);
        int64_t found = 1;
        for (Place at = text.start; (at = field_end(at, text.stop, order_.separator)) != text.stop; at += width) ++found;
        return found;
    }

    __attribute__((noinline)) Text make_key(const FieldMarks& marks, Text text, Buffer& made) const
    {
        unsigned char* const out = made.reserve(bytes_of_keys(order_, text.stop - text.start));
        return several_keys(order_, text, out, [&](const Key& key) { return marks.part(key); });
    }

    // Calls visit(place) for each byte of a text that marks(block) marks among the 64 bytes at `block`.
    template <typename Marks, typename Visit>
    static void each_mark(Text text, Marks marks, Visit visit)
    {
        for (Place block = text.start; block < text.stop; block += 64) {
            Word found = marks(block);
            if (text.stop - block < 64) found &= (1ull << (text.stop - block)) - 1;
            for (; found != 0; found &= found - 1) visit(block + __builtin_ctzll(found));
        }
    }

    static void split_by_blanks(Text text, std::vector<Text>& fields)
    {
        Place begin = nullptr, behind = text.start;  // of the current field, if there is one; behind the last blank
        Word blank_ahead = 1;                        // a line's start is as one behind a blank
        const auto edges = [&](Place block) {  // the first blank behind each field, and each field's first byte
            const Word blanks = blanks_at(block), found = blanks ^ (blanks << 1 | blank_ahead);
            blank_ahead = blanks >> 63;
            return found;
        };
        each_mark(text, edges, [&](Place edge) {
            if (begin == nullptr) {
                begin = edge;
            } else {
                fields.push_back({begin, edge});
                begin = nullptr;
                behind = edge;
            }
        });
        if (begin != nullptr) fields.push_back({begin, text.stop});
        else if (behind != text.start) fields.push_back({text.stop, text.stop});
    }

    // Whether single spaces, and no other blanks, separate the fields, and none is ahead of the first one.
    static bool is_simple(Text text)
    {
        Word behind_blank = 1;  // a blank at the start is as one behind a blank
        for (Place at = text.start; at < text.stop; at += 64) {
            const Word inside = text.stop - at < 64 ? (1ull << (text.stop - at)) - 1 : ~0ull;
            const Word spaces = matches_at(at, ' ') & inside;
            if ((blanks_at(at) & inside) != spaces || (spaces & (spaces << 1 | behind_blank)) != 0) return false;
            behind_blank = spaces >> 63;
        }
        return true;
    }

    const LineOrder& order_;
    bool several_, whole_, begins_with_key_;  // whole_: the key is all of the line
};
