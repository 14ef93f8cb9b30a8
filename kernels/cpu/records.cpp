// Records of several lines. Finds the lines that begin one, and writes another byte over the newline ahead of each.
#include <locale.h>
#include <regex.h>

#include <climits>
#include <cstring>
#include <new>

#include "compare.hpp"
#ifndef REG_STARTEND
#include <string>
#endif

namespace {

// The calling thread's locale is that of bytes as long as this lives: the same lines match wherever the program runs.
class OfBytes {
public:
    OfBytes() : plain_(newlocale(LC_ALL_MASK, "C", nullptr)), before_(plain_ ? uselocale(plain_) : nullptr) {}
    ~OfBytes()
    {
        if (!plain_) return;
        uselocale(before_);
        freelocale(plain_);
    }
    OfBytes(const OfBytes&) = delete;
    OfBytes& operator=(const OfBytes&) = delete;

private:
    locale_t plain_, before_;
};

bool matches(const regex_t& pattern, Bytes line)
{
#ifdef REG_STARTEND
    regmatch_t bounds{0, static_cast<regoff_t>(line.size < INT_MAX ? line.size : INT_MAX)};
    return regexec(&pattern, reinterpret_cast<const char*>(line.at), 0, &bounds, REG_STARTEND) == 0;
#else
    const std::string copy(reinterpret_cast<const char*>(line.at), static_cast<size_t>(line.size));
    return regexec(&pattern, copy.c_str(), 0, nullptr, 0) == 0;
#endif
}

}  // namespace

void* gm_pattern_open(const unsigned char* text, unsigned char* message, int64_t room)
{
    const OfBytes bytes;
    regex_t* const pattern = new (std::nothrow) regex_t;
    if (pattern == nullptr) return nullptr;
    const int status = regcomp(pattern, reinterpret_cast<const char*>(text), REG_EXTENDED | REG_NOSUB);
    if (status == 0) return pattern;
    regerror(status, pattern, reinterpret_cast<char*>(message), static_cast<size_t>(room));
    delete pattern;
    return nullptr;
}

void gm_pattern_close(void* pattern)
{
    regfree(static_cast<regex_t*>(pattern));
    delete static_cast<regex_t*>(pattern);
}

int64_t gm_mark_records(const void* pattern, const OrderSpec* order, unsigned char* text, int64_t size, int64_t end, int64_t* begun)
{
    const OfBytes bytes;
    const regex_t* const wanted = static_cast<const regex_t*>(pattern);
    int64_t found[4];
    *begun = 0;
    for (unsigned char *at = text, *const stop = text + size;;) {
        unsigned char* const newline = static_cast<unsigned char*>(std::memchr(at, '\n', static_cast<size_t>(stop - at)));
        unsigned char* const behind = newline == nullptr ? stop : newline;
        const Bytes line{at, behind - at};
        if (wanted != nullptr ? matches(*wanted, line) : read_time(*order, 0, line, found)) {
            if (at == text) *begun |= 1;
            else at[-1] = static_cast<unsigned char>(end);
            *begun |= 2;
        }
        if (newline == nullptr) return DONE;
        at = newline + 1;
    }
}
