/* Regions: names for parts of a program, so that `ergon measure` can say the energy of each.
 *
 * Link with -lergon_region, or load the library that ERGON_REGION_LIBRARY names. Outside of
 * `ergon measure` every call does nothing. A call costs well under a microsecond, takes no lock and
 * may be made from any thread. GPU work is asynchronous: synchronise the device before both ends,
 * or the region holds the launching and not the work. */
#ifndef ERGON_H
#define ERGON_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names a region that was begun; 0 where nobody measures. */
typedef uint64_t ergon_region_t;

/* Begins a region. Regions may overlap, nest and repeat; equal names are one line of the answer.
 * `name` is UTF-8 and copied; what is longer than 95 bytes is cut. NULL is "". */
ergon_region_t ergon_region_begin(const char *name);

/* Ends it, from any thread of the process that began it. 0 is allowed and does nothing. */
void ergon_region_end(ergon_region_t region);

/* Whether regions are recorded: 1 under `ergon measure`, else 0. */
int ergon_measuring(void);

#ifdef __cplusplus
} /* extern "C" */

namespace ergon {

/* A region as long as its scope. */
class Region {
 public:
  explicit Region(const char *name) : region_(ergon_region_begin(name)) {}
  ~Region() { ergon_region_end(region_); }
  Region(const Region &) = delete;
  Region &operator=(const Region &) = delete;

 private:
  ergon_region_t region_;
};

}  /* namespace ergon */
#endif

#endif
