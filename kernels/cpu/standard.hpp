// Standard headers that most units include, parsed once a level when the compiler can keep them (kernels/build_library.py).
// Units name what they need all the same: nothing but the build includes this file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>
