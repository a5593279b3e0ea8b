/* libergon_region.so: the functions of ergon.h. */
#include "ergon.h"
#include "writer.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT ergon_region_t ergon_region_begin(const char *name) { return ergon_writer_begin(name, 0); }
EXPORT void ergon_region_end(ergon_region_t region) { ergon_writer_end(region); }
EXPORT int ergon_measuring(void) { return ergon_writer_active(); }
