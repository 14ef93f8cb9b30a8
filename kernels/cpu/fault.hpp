// What stops a call: thrown inside the library, and turned into a Status and a Failure where the library is entered.
#pragma once

#include <exception>

#include "entries.h"

struct Fault {
    Status status;
    Failure failure;  // error, input, position
};

// Runs `work`, and says in the library's way what stopped it.
template <typename Work>
int64_t stopped_by(Failure* failure, Work work) noexcept
{
    try {
        work();
        return DONE;
    } catch (const Fault& fault) {
        *failure = fault.failure;
        return fault.status;
    } catch (const std::exception&) {  // neither memory nor another thread to be had
        *failure = {0, -1, -1};
        return NO_MEMORY;
    }
}
