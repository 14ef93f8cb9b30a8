// Finds the ends of all fields in the first 64 bytes of a line at once. Included by fields.cuh, behind cpu/find.hpp.
#pragma once

// Bit k says whether at[k] is a blank, for 64 bytes.
inline Word blanks_at(Place at)
{
#if defined(__AVX2__)
    // The blank that has the low half of a byte; a byte that has another low half where there is none.
    const __m256i likes = _mm256_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, 0, 0, 0, ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t',
        '\n', 0, 0, 0, 0, 0);
    const auto half = [&](int which) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at) + which);
        const __m256i found = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(likes, bytes), bytes);
        return static_cast<Word>(static_cast<unsigned>(_mm256_movemask_epi8(found)));
    };
    return half(0) | half(1) << 32;
#else
    return matches_at(at, ' ') | matches_at(at, '\t') | matches_at(at, '\n');
#endif
}

// Bit k says whether an odd number of the bits 0 to k is set: of quotes, those that they enclose and the opening ones.
inline Word enclosed(Word quotes)
{
    for (int step = 1; step < 64; step *= 2) quotes ^= quotes << step;
    return quotes;
}

class FieldMarks {
public:
    FieldMarks() {}
    // 64 bytes behind the end of the line must be readable.
    FieldMarks(const LineOrder& order, Text line) : line_(line), stop_(line.stop), separator_(order.separator)
    {
        if (!is_plain(separator_)) line_.stop = keys_end(line, separator_);
        if (rest_of(separator_) != 0) {  // key_text looks for them
            ends_ = 0;
            whole_ = false;
            return;
        }
        const long long length = line_.stop - line.start;
        if (separator_ >= 0) {
            ends_ = matches_at(line.start, static_cast<unsigned char>(separator_));
            if (quoted()) {
                const Word quotes = matches_at(line.start, '"');
                if (quotes != 0) ends_ &= ~enclosed(quotes);
            }
        } else {
            const Word found = blanks_at(line.start);
            ends_ = found & ~(found << 1 | 1);  // blanks ahead of a field belong to it
        }
        if (length < 64) ends_ &= (1ull << length) - 1;
        whole_ = length <= 64;
    }

    // Gives the same as key_text of fields.cuh.
    __attribute__((always_inline)) Text part(const Key& key) const
    {
        if (key.end_char > 0) [[unlikely]] return by_bytes(key);
        Word ends = ends_;
        for (long long field = 1; ends != 0 && field < key.start_field; ++field) ends &= ends - 1;
        Place begin = line_.start;
        if (key.start_field > 0) {
            if (ends == 0 && !whole_) [[unlikely]] return by_bytes(key);
            begin = ends == 0 ? line_.stop : line_.start + __builtin_ctzll(ends) + (separator_ >= 0);
            ends &= ends - 1;
        }
        if (quoted() && begin < line_.stop && *begin == '"') ++begin;
        if (key.flags & SKIP_START) begin = skip_blanks(begin, line_.stop);
        begin = forward(begin, line_.stop, key.start_char);
        if (key.end_field < 0) return {begin, line_.stop};
        if (key.end_field < key.start_field) return {begin, begin};
        for (long long field = key.start_field; ends != 0 && field < key.end_field; ++field) ends &= ends - 1;
        if (ends == 0 && !whole_) [[unlikely]] return by_bytes(key);
        Place end = ends == 0 ? line_.stop : line_.start + __builtin_ctzll(ends);
        if (quoted() && end > begin && end[-1] == '"') --end;
        return {begin, end < begin ? begin : end};
    }

private:
    __attribute__((always_inline)) bool quoted() const { return is_quoted(separator_); }

    Text by_bytes(const Key& key) const { return key_text(key, separator_, {line_.start, stop_}); }

    Text line_;    // the part in which keys lie
    Place stop_;   // of the whole line
    long long separator_;
    Word ends_;   // where fields end
    bool whole_;  // no field ends behind these bytes
};
