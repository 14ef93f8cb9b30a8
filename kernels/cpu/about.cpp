// The level, the version and the kernels of the library. The build defines LEVEL and VERSION, and makes kernels.hpp.
#include "entries.h"
#include "kernels.hpp"

const char* gm_level(void) { return LEVEL; }
const char* gm_version(void) { return VERSION; }

const char* gm_kernel(int64_t number)
{
#define NAME(kernel) #kernel,
    static const char* const names[] = {"path", "vector", KERNELS(NAME)};
    return number >= 0 && number < static_cast<int64_t>(sizeof names / sizeof *names) ? names[number] : nullptr;
}
