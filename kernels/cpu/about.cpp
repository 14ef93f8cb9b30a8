// What this library is; VERSION and LEVEL are given by the build.
#include "entries.h"

const char* gm_level(void) { return LEVEL; }
const char* gm_version(void) { return VERSION; }
