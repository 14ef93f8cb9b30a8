// The standard headers that most units include. The build parses them once for each level, if the compiler can keep them
// (kernels/build_library.py). Only the build includes this file, so each unit still includes the headers that it needs.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>
