// Memory that is kept from chunk to chunk. It is aligned to pages, and not cleared.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

constexpr size_t HUGE_PAGE = 1 << 21;
constexpr size_t PADDING = 64;  // bytes that may be read behind what a buffer holds

// Room for items of type T. When it grows, it loses its content.
template <typename T>
class Room {
public:
    Room() = default;
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { std::free(at_); }

    // Makes room for at least `count` items and PADDING bytes. Throws std::bad_alloc.
    T* reserve(size_t count)
    {
        if (count > count_ || at_ == nullptr) {
            std::free(at_);
            at_ = nullptr;
            count_ = 0;
            // Large rooms take huge pages: there are far fewer page faults, and the processor can keep all translations.
            const size_t needed = count * sizeof(T) + PADDING, page = needed >= 4 * HUGE_PAGE ? HUGE_PAGE : 4096;
            void* memory = nullptr;
            if (posix_memalign(&memory, page, needed) != 0) throw std::bad_alloc();
            if (page == HUGE_PAGE) madvise(memory, needed / page * page, MADV_HUGEPAGE);
            at_ = static_cast<T*>(memory);
            count_ = count;
        }
        return at_;
    }

    T* data() const { return at_; }
    size_t size() const { return count_; }  // the items that there is room for
    void swap(Room& other)
    {
        std::swap(at_, other.at_);
        std::swap(count_, other.count_);
    }

private:
    T* at_ = nullptr;
    size_t count_ = 0;
};

typedef Room<unsigned char> Buffer;
