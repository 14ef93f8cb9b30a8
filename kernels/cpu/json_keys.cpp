// Lines of JSON behind the images of their keys, and the way back.
#include <cstring>
#include <new>
#include <vector>

#include "json_images.hpp"
#include "json_reader.hpp"

namespace {

constexpr int64_t MORE = LONGEST_NUMBER + 2;  // bytes of an image, with its mark, beyond those of its value

class Keys {
public:
    Keys(const JsonKeys& keys, const unsigned char* text, JsonLines& found)
        : keys_(keys), text_(text), found_(found), values_(static_cast<size_t>(keys.count)), tree_(keys, values_.data()),
          reader_(tree_)
    {
    }

    // Writes the line at `at` to `out`. Returns the place behind it; null if there is no room, or for a fault.
    unsigned char* put(const unsigned char*& at, unsigned char* out, int64_t room)
    {
        const unsigned char* const newline = reader_.read(at);
        if (newline == nullptr) return failed(reader_.fault, reader_.at_fault, -1);
        if (most(at, newline) > room) return nullptr;
        for (int64_t key = 0; key < keys_.count; ++key) {
            const JsonValue& value = values_[static_cast<size_t>(keys_.keys[key].slot)];
            if (keys_.keys[key].reads == JSON_ADDED) {
                const unsigned char* const begin = behind_blanks(at);
                if (*begin != '{') return failed(NO_OBJECT, begin, key);
                if (value.start != nullptr) return failed(HAS_MEMBER, begin, key);
                continue;
            }
            int64_t* const last = found_.last + FOUND_WORDS * key;
            last[0] = value.type;
            last[1] = value.start == nullptr ? 0 : whole_start(value) - text_;
            last[2] = value.start == nullptr ? 0 : whole_stop(value) - text_;
            last[3] = found_.lines;
            out = put_key(key, value, out);
            if (out == nullptr) return nullptr;
            *out++ = MARK;
        }
        std::memcpy(out, at, static_cast<size_t>(newline - at));
        out += newline - at;
        *out++ = END;
        at = newline + 1;
        return out;
    }

private:
    int64_t most(const unsigned char* at, const unsigned char* newline) const
    {
        int64_t bytes = newline - at + 1 + MORE * keys_.count;
        for (const JsonValue& value : values_) bytes += value.stop - value.start;  // an escape is longer than its text
        return bytes;
    }

    static const unsigned char* whole_start(const JsonValue& value) { return value.start - (value.type == JSON_STRING); }
    static const unsigned char* whole_stop(const JsonValue& value) { return value.stop + (value.type == JSON_STRING); }

    unsigned char* failed(int64_t fault, const unsigned char* at, int64_t key)
    {
        found_.fault = fault;
        found_.at = at - text_;
        found_.key = key;
        return nullptr;
    }

    unsigned char* put_key(int64_t number, const JsonValue& value, unsigned char* out)
    {
        const JsonKey& key = keys_.keys[number];
        unsigned char* const begin = out;
        if (value.type == JSON_CONTAINER) return failed(NO_ORDER, value.start, number);
        if (value.type == JSON_NOTHING) return put_null(key, out);
        int64_t* const first = found_.first + FOUND_WORDS * number;
        const bool is_first = first[0] == JSON_NOTHING;
        if (is_first && key.reads != JSON_VALUES) note_first(first, number);
        if (key.reads == JSON_TEXTS) return value.type == JSON_STRING ? bare_text(value.string(), out) : spelled(value, out);
        if (key.reads == JSON_TAGGED_TEXTS) {
            *out++ = TEXT_IMAGE;
            out = value.type == JSON_STRING ? escaped_text(value.string(), out) : spelled(value, out);
            return is_null(key, begin + 1, out) ? put_null(key, begin) : out;
        }
        if (key.nulls != 0) {
            unsigned char* const behind = value.type == JSON_STRING ? escaped_text(value.string(), out) : spelled(value, out);
            if (is_null(key, begin, behind)) return put_null(key, begin);
        }
        int64_t fault = NO_JSON_FAULT;
        if (key.reads == JSON_NUMBERS) {
            if (value.type == JSON_BOOL || !value.plain) return failed(NO_NUMBER, whole_start(value), number);
            if (value.start == value.stop) return put_null(key, out);
            out = number_image(value.start, value.stop, out, fault);
            return out == nullptr ? failed(fault, whole_start(value), number) : out;
        }
        if (is_first) note_first(first, number);
        else if (first[0] != value.type) return failed(MIXED_TYPES, whole_start(value), number);
        if (value.type == JSON_BOOL) {
            *out++ = *value.start == 't' ? TRUE_IMAGE : FALSE_IMAGE;
            return out;
        }
        if (value.type == JSON_STRING) {
            *out++ = TEXT_IMAGE;
            return escaped_text(value.string(), out);
        }
        out = number_image(value.start, value.stop, out, fault);
        return out == nullptr ? failed(fault, value.start, number) : out;
    }

    void note_first(int64_t* first, int64_t number) const
    {
        std::memcpy(first, found_.last + FOUND_WORDS * number, FOUND_WORDS * sizeof *first);
    }

    // The text of a value that is not a string.
    static unsigned char* spelled(const JsonValue& value, unsigned char* out)
    {
        std::memcpy(out, value.start, static_cast<size_t>(value.stop - value.start));
        return out + (value.stop - value.start);
    }

    static unsigned char* put_null(const JsonKey& key, unsigned char* out)
    {
        if (key.null_image != 0) *out++ = static_cast<unsigned char>(key.null_image);
        return out;
    }

    // Whether a text stands for a null.
    bool is_null(const JsonKey& key, const unsigned char* text, const unsigned char* stop) const
    {
        const int64_t size = stop - text;
        const unsigned char* name = keys_.texts + key.null_texts;
        for (int64_t one = 0; one < key.nulls; ++one) {
            int64_t bytes;
            std::memcpy(&bytes, name, sizeof bytes);
            name += sizeof bytes;
            if (bytes == size && std::memcmp(name, text, static_cast<size_t>(size)) == 0) return true;
            name += bytes;
        }
        return false;
    }

    const JsonKeys& keys_;
    const unsigned char* const text_;
    JsonLines& found_;
    std::vector<JsonValue> values_;
    JsonKeyTree tree_;
    JsonReader<JsonKeyTree> reader_;
};

// The place of the byte; `stop` if there is none.
const unsigned char* find(const unsigned char* at, const unsigned char* stop, unsigned char byte)
{
    const void* const found = std::memchr(at, byte, static_cast<size_t>(stop - at));
    return found == nullptr ? stop : static_cast<const unsigned char*>(found);
}

}  // namespace

int64_t gm_json_keys(const JsonKeys* keys, const unsigned char* text, int64_t start, int64_t stop, unsigned char* out, int64_t room,
    JsonLines* found)
{
    try {
        const unsigned char* at = text + start;
        unsigned char* to = out;
        found->fault = NO_JSON_FAULT;
        Keys lines(*keys, text, *found);
        while (at < text + stop) {
            const unsigned char* const newline = behind_blanks(at);
            if (*newline == '\n') {
                if (found->blanks == found->most_blanks) break;
                found->blank[2 * found->blanks] = found->lines;
                found->blank[2 * found->blanks++ + 1] = newline + 1 - at;
                at = newline + 1;
            } else {
                unsigned char* const behind = lines.put(at, to, out + room - to);
                if (behind == nullptr) break;
                to = behind;
            }
            ++found->lines;
        }
        found->taken = at - text;
        found->made = to - out;
    } catch (const std::bad_alloc&) {
        return NO_MEMORY;
    }
    return DONE;
}

int64_t gm_json_lines(const unsigned char* items, int64_t nbytes, int64_t keys, unsigned char* out)
{
    const unsigned char* at = items;
    const unsigned char* const stop = items + nbytes;
    unsigned char* to = out;
    while (at < stop) {
        for (int64_t key = 0; key < keys && at < stop; ++key) {
            at = find(at, stop, MARK);
            at += at < stop;
        }
        const unsigned char* const end = find(at, stop, END);
        std::memcpy(to, at, static_cast<size_t>(end - at));
        to += end - at;
        if (end < stop) *to++ = '\n';
        at = end + (end < stop);
    }
    return to - out;
}

int64_t gm_json_members(const JsonMembers* members, const unsigned char* items, int64_t nbytes, unsigned char* out)
{
    const unsigned char* at = items;
    const unsigned char* const stop = items + nbytes;
    unsigned char* to = out;
    const auto put = [&](const unsigned char* first, const unsigned char* last) {
        std::memcpy(to, first, static_cast<size_t>(last - first));
        to += last - first;
    };
    const auto put_member = [&](int64_t number, const unsigned char* value, const unsigned char* value_end) {
        put(members->names + (number > 0 ? members->ends[number - 1] : 0), members->names + members->ends[number]);
        put(value, value_end);
    };
    while (at < stop) {
        const unsigned char *const end = find(at, stop, END), *const values = at;
        const bool is_item = find(at, end, MARK) < end;
        for (int64_t text = 0; is_item && text < members->ahead + members->keys; ++text) at = find(at, end, MARK) + 1;
        if (!is_item) {
            put(at, end);
        } else {
            const unsigned char* const line_end = members->behind ? find(at, end, MARK) : end;
            const unsigned char* const brace = behind_blanks(at);
            const bool is_empty = *behind_blanks(brace + 1) == '}';
            put(at, brace + 1);
            const unsigned char* value = values;
            for (int64_t number = 0; number < members->ahead; ++number) {
                const unsigned char* const value_end = find(value, end, MARK);
                if (number > 0) *to++ = ',';
                put_member(number, value, value_end);
                value = value_end + 1;
            }
            if (members->ahead > 0 && !is_empty) *to++ = ',';
            const unsigned char* rest = brace + 1;
            if (members->behind) {
                const unsigned char *last = line_end, *value_end = end;
                while (*--last != '}') {}
                put(rest, last);
                if (members->ahead > 0 || !is_empty) *to++ = ',';
                value_end -= value_end[-1] == '\r';
                put_member(members->ahead, line_end + 1, value_end);
                put(last, line_end);
                rest = value_end;
            }
            put(rest, end);
        }
        if (end < stop) *to++ = '\n';
        at = end + (end < stop);
    }
    return to - out;
}
