/* The writing side of the ring; one copy in each library that marks regions. */
#ifndef ERGON_WRITER_H
#define ERGON_WRITER_H

#include <stdint.h>

/* `library` tells the copies apart: their numbers never meet. */
uint64_t ergon_writer_begin(const char *name, unsigned library);
void ergon_writer_end(uint64_t region);
int ergon_writer_active(void);

#endif
