// The images of lines without keys. The text is compared where these are equal. Needs lines.cuh.
#pragma once

struct PlainWords {
    Word words[2];
    static constexpr bool exact = false, fault = false;

    PlainWords(const LineOrder& order, Text line) : words{first_word(line), 0}
    {
        if (order.flags & REVERSE) words[0] = ~words[0];
    }
};
