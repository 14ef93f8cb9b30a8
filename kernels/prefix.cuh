// The prefix of a line while it is made of the images of its keys. 64 bits on a GPU; the CPU makes 128, and packs them.
#pragma once

#include "key_classes.cuh"

#if TEXT_PADDING
typedef WideWord PrefixBits;
constexpr int PREFIX_BITS = 128;
#else
typedef Word PrefixBits;
constexpr int PREFIX_BITS = 64;
#endif

// A prefix while it is made. Its bytes are put in, the most significant one first. Bytes that do not fit are dropped.
struct Prefix {
    PrefixBits bits = 0;
    int room = PREFIX_BITS;
    int rest = 0;      // the room that is left behind the keys
    bool exact = true;  // whether lines with equal bits have equal keys
    bool fault = false;  // on the CPU: whether any key is invalid that has the flag CHECKED, be it among the bits or not

    __device__ __forceinline__ bool full() const { return room <= 0; }

    // turned: 0, or 255 to take the complement.
    __device__ __forceinline__ void put(int byte, int turned)
    {
        room -= 8;
        if (room >= 0) bits |= static_cast<PrefixBits>(byte ^ turned) << room;
        else if (room > -8) bits |= static_cast<PrefixBits>(byte ^ turned) >> -room;
    }

    // Puts the first `width` bits of `image`; the bits behind them must be 0. There must be room for at least one bit.
    __device__ __forceinline__ void put_image(PrefixBits image, int width)
    {
        bits |= image >> (PREFIX_BITS - room);
        room -= width;
    }

    template <int BITS>
    __device__ static __forceinline__ int width_of(const KeyImage& image) { return image.width > 0 ? image.width : BITS; }

    // Puts the bits of an image of a kind with BITS, or their complement. There must be room for at least one bit.
    template <int BITS>
    __device__ __forceinline__ void put_key(const KeyImage& image, bool turned)
    {
#if TEXT_PADDING
        PrefixBits bits = static_cast<PrefixBits>(image.first) << 64 | image.second;
#else
        PrefixBits bits = image.first;
#endif
        if (turned) bits = ~bits;
        const int width = width_of<BITS>(image);
        if (width < PREFIX_BITS) bits &= ~(~static_cast<PrefixBits>(0) >> (width % PREFIX_BITS));
        put_image(bits, width);
    }

    __device__ __forceinline__ void put_class(int place)
    {
        room -= CLASS_BITS;
        if (room >= 0) bits |= static_cast<PrefixBits>(place) << room;
    }

    // Puts the image of a key that is no null. Returns false if it does not hold all of the key.
    template <int BITS>
    __device__ __forceinline__ bool put_classed(const KeyImage& image, const KeyIn& one, int turned)
    {
        if (one.flags() & CLASSED) {
            put_class(place_of_class(one.key, image.invalid ? INVALID_KEY : VALUE_KEY));
            if (image.invalid) {
                fault = fault || one.flags() & CHECKED;
                put_text(one.text, 0, turned);
                return true;
            }
            if (full()) return false;
        }
        put_key<BITS>(image, turned != 0);
        return width_of<BITS>(image) < PREFIX_BITS && image.exact;
    }

#if TEXT_PADDING
    // Puts an image that fills all the room, if there is any. It has no branch, because the lengths of keys would decide it,
    // and processors cannot predict them.
    __device__ __forceinline__ void put_last(PrefixBits image)
    {
        const PrefixBits all = 0 - static_cast<PrefixBits>(room > 0);
        bits |= (image >> (static_cast<unsigned>(PREFIX_BITS - room) % PREFIX_BITS)) & all;
        room = 0;
    }
#endif

    // Puts a key that is compared by bytes. A byte 0 or 1 takes two bytes, and 0 ends the key.
    __device__ inline void put_text(Text text, long long flags, int turned)
    {
#if TEXT_PADDING
        if (!(flags & (DICTIONARY | PRINTABLE))) {
            const WideText wide(text, flags & FOLD);
            if (!wide.has_0_or_1 && room > 0) {
                put_image(wide.image(turned), 8 * wide.length + 8);
                return;
            }
        }
#endif
        for (Place at = next_counting(text.start, text.stop, flags); at < text.stop && !full();
             at = next_counting(at + 1, text.stop, flags)) {
            int byte = folded(*at, flags);
            if (byte < 2) {
                put(1, turned);
                ++byte;
            }
            put(byte, turned);
        }
        put(0, turned);
    }

#if HAS_COLLATION
    __attribute__((noinline)) void put_line_in_locale(const LineOrder& order, Text line)
    {
        if (full()) return;
        const Weights found = weights_in(order, last_text(order, line));
        put_key<128>({found.first, false, found.second}, (order.flags & REVERSE) != 0);
    }
#endif

    // Puts the bytes of the line behind all its keys, unless lines with equal keys keep their order.
    __device__ __forceinline__ void put_line(const LineOrder& order, Text line)
    {
        rest = room;
        if (order.flags & STABLE) return;
#if HAS_COLLATION
        if (order.flags & IN_LOCALE) return put_line_in_locale(order, line);
#endif
        const int turned = order.flags & REVERSE ? 255 : 0;
#if TEXT_PADDING
        put_last(WideText(line, false).bytes ^ (0 - static_cast<WideWord>(turned != 0)));
#else
        for (Place at = line.start; !full(); ++at) put(at < line.stop ? *at : 0, turned);
#endif
    }
};

// Puts a key. Returns false if nothing may follow it, because its image does not hold all of it.
__device__ __forceinline__ bool put_key(Prefix& prefix, const KeyIn& one)
{
    const int turned = one.flags() & KEY_REVERSE ? 255 : 0;
    if (one.flags() & CLASSED && is_null(one)) {
        prefix.put_class(place_of_class(one.key, NULL_KEY));
        return true;
    }
    if (one.key.is(KIND_bytes)) {
        if (one.flags() & CLASSED) prefix.put_class(place_of_class(one.key, VALUE_KEY));
        prefix.put_text(one.text, one.flags(), turned);
        return true;
    }
#define PUT(name) \
    if (one.key.is(KIND_##name)) { \
        const KeyImage image = kind_##name::image(one); \
        return prefix.put_classed<kind_##name::BITS>(image, one, turned); \
    }
    IMAGED_KINDS(PUT)
#undef PUT
    return true;
}

// The images of a line's keys, one after the other, and then the bytes of the line, until the prefix is full. If an image
// does not hold all of its key, nothing follows it.
__device__ __noinline__ Prefix key_prefix(const LineOrder& order, Text line)
{
    Prefix prefix;
    const FieldMarks marks(order, line);
    for (long long number = 0; number < order.keys; ++number) {
        const Key& key = order.key(number);
        [[maybe_unused]] const bool unseen = prefix.full();
        if (unseen || !put_key(prefix, {order, key, marks.part(key)})) {
            prefix.exact = false;
#if TEXT_PADDING
            if (order.flags & CHECKS_VALUES)
                prefix.fault = prefix.fault || is_at_fault(order, marks, unseen ? number : number + 1);
#endif
            return prefix;
        }
        prefix.exact = prefix.exact && prefix.room >= 0;
    }
    prefix.put_line(order, line);
    return prefix;
}
