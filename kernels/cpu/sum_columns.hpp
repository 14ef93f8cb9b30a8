// Finds the summed columns of items. The names of kernels/fields.cuh lie in the namespace of the unit that includes this.
#pragma once

#include "json_reader.hpp"

// The text of a column in an item; null if the item has no such column.
struct Span {
    const unsigned char *start, *stop;
};

// The span without blanks and a carriage return at its ends.
inline Span trimmed(Span span)
{
    while (span.start < span.stop && (*span.start == ' ' || *span.start == '\t')) ++span.start;
    while (span.start < span.stop && (span.stop[-1] == ' ' || span.stop[-1] == '\t' || span.stop[-1] == '\r')) --span.stop;
    return span;
}

// Fields of lines, and of records of CSV.
class FieldColumns {
public:
    explicit FieldColumns(const SumSpec& spec) : spec_(spec) {}

    void find(const unsigned char* at, const unsigned char* stop, Span* found) const
    {
        if (spec_.form == FIELDS_OF_RECORDS) {
            stop = find_byte(at, stop, MARK);
            if (at < stop && stop[-1] == '\r') --stop;
            return walk(at, stop, found, [&](Place from) { return piece_end(from, stop); }, width_of(spec_.separator));
        }
        stop = keys_end({at, stop}, spec_.separator);
        if (spec_.separator >= 0)
            return walk(at, stop, found, [&](Place from) { return field_end(from, stop, spec_.separator); }, width_of(spec_.separator));
        int64_t field = 0;
        for (int64_t column = 0; column < spec_.count; ++column) {
            for (; field < spec_.columns[column].place; ++field) at = skip_field(at, stop);
            const Place begin = skip_blanks(at, stop);
            found[column] = begin < stop ? trimmed({begin, find_blank(begin, stop)}) : Span{nullptr, nullptr};
        }
    }

private:
    template <typename End>
    void walk(Place at, Place stop, Span* found, End end, int width) const
    {
        int64_t field = 0;
        Place behind = end(at);
        for (int64_t column = 0; column < spec_.count; ++column) {
            for (; field < spec_.columns[column].place && behind < stop; ++field) {
                at = behind + width;
                behind = at < stop ? end(at) : stop;
            }
            if (field < spec_.columns[column].place) {
                found[column] = {nullptr, nullptr};
                continue;
            }
            Span span = trimmed({at, behind});
            if (is_quoted(spec_.separator) && span.stop - span.start >= 2 && *span.start == '"' && span.stop[-1] == '"')
                span = trimmed({span.start + 1, span.stop - 1});
            found[column] = span;
        }
    }

    // The end of a field of a record whose quotes need not enclose whole fields: only one at a field's start opens quotes.
    Place piece_end(Place at, Place stop) const
    {
        const bool escapes = spec_.quotes == ESCAPED_QUOTES;
        const int first = static_cast<int>(spec_.separator & 255);
        bool inside = spec_.quotes != NO_QUOTES && at < stop && *at == '"';
        for (at += inside; at < stop; ++at) {
            if (escapes && *at == '\\') {
                if (at + 1 < stop) ++at;
            } else if (inside) {
                if (*at != '"') continue;
                if (at + 1 < stop && at[1] == '"') ++at;
                else inside = false;
            } else if (*at == first && follows(at + 1, stop, rest_of(spec_.separator))) {
                return at;
            }
        }
        return stop;
    }

    const SumSpec& spec_;
};

// Values of lines of JSON.
class MemberColumns {
public:
    explicit MemberColumns(const SumSpec& spec)
        : spec_(spec), values_(static_cast<size_t>(spec.count)), tree_(*spec.members, values_.data()), reader_(tree_)
    {
    }

    // The line of an item.
    Place line_of(Place at, Place stop) const
    {
        for (int64_t key = 0; key < spec_.keys && at < stop; ++key) {
            at = find_byte(at, stop, MARK);
            at += at < stop;
        }
        return at;
    }

    void find(Place item, Place stop, Span* found)
    {
        const Place line = line_of(item, stop);
        const size_t size = static_cast<size_t>(stop - line);
        if (line_.size() < size + 1 + STRIDE) line_.resize(2 * size + 1 + STRIDE);
        if (size > 0) std::memcpy(line_.data(), line, size);
        line_[size] = '\n';
        const bool valid = reader_.read(line_.data()) != nullptr;
        for (int64_t column = 0; column < spec_.count; ++column) {
            const JsonValue& value = values_[static_cast<size_t>(spec_.columns[column].place)];
            if (!valid || value.start == nullptr) {
                found[column] = {nullptr, nullptr};
                continue;
            }
            const bool quoted = value.type == JSON_STRING;  // a string is no number
            found[column] = {line + (value.start - line_.data()) - quoted, line + (value.stop - line_.data()) + quoted};
        }
    }

    static bool is_null(Span span) { return span.stop - span.start == 4 && std::memcmp(span.start, "null", 4) == 0; }

private:
    const SumSpec& spec_;
    std::vector<unsigned char> line_;
    std::vector<JsonValue> values_;
    JsonKeyTree tree_;
    JsonReader<JsonKeyTree> reader_;
};
