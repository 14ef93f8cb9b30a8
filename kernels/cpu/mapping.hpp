// Files that lie in memory to be written. Their pages may go away: when the file is cut off, or when its device fails. Then
// SIGBUS comes to the thread that writes, which gets another page in place of the lost one, and goes on. So a call is not
// interrupted; it fails at its end.
//
// Data in a mapping must not steer the program: other programs can change it, and lost pages read as zeros.
#pragma once

#include <cstdint>

#include "entries.h"

struct MappedFile;

// Keeps a mapping in its place as long as it lives.
class HeldMapping {
public:
    // memory: what gm_map returned. Throws Fault if it was unmapped.
    explicit HeldMapping(const unsigned char* memory);
    ~HeldMapping();
    HeldMapping(const HeldMapping&) = delete;
    HeldMapping& operator=(const HeldMapping&) = delete;

    // Tells that bytes were written. From time to time this unmaps pages that were, which stay in the page cache: what is
    // mapped counts as memory of the process, and unmapping it all at the end would take one thread long.
    void wrote(int64_t position, int64_t nbytes);
    // Throws Fault if bytes were lost.
    void check() const;

private:
    MappedFile* file_;
};
