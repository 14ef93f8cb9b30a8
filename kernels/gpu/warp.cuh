// The threads of a warp.
#pragma once

#include "sizes.cuh"

constexpr unsigned ALL = 0xffffffffu;  // all lanes of a warp
