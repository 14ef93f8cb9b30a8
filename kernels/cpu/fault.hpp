// A Fault stops a call. It is thrown inside the library, and the entries turn it into a Status and a Failure.
#pragma once

#include <exception>

#include "entries.h"

struct Fault {
    Status status;
    Failure failure;  // error, input, position
};

// Runs `work`. If something stops it, returns the Status and fills the Failure.
template <typename Work>
int64_t stopped_by(Failure* failure, Work work) noexcept
{
    try {
        work();
        return DONE;
    } catch (const Fault& fault) {
        *failure = fault.failure;
        return fault.status;
    } catch (const std::exception&) {  // no memory, or no thread
        *failure = {0, -1, -1};
        return NO_MEMORY;
    }
}
