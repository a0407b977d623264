/* The instruction-set level whose functions a module calls: 2 for the baseline (x86-64-v2), 3 and 4. Every module that includes this has a level
   of its own, and is told it at import. */
#ifndef TENSORBUF_LEVEL_H
#define TENSORBUF_LEVEL_H

static int tb_level = 2;
static inline void tb_use(int level) { tb_level = level; }

#endif
