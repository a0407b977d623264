"""A lock that is taken with the GIL held (without a GIL: by an attached thread), for a few instructions.

From Python 3.13 on it is a PyMutex. Before, there always is a GIL, so a flag serves: nobody sees it between the look
and the change. A section may let go of the GIL in one place only, `move_under_lock`; whoever comes meanwhile waits at
the gate, without the GIL. (A PyThread lock reads the clock at every attempt, which takes longer than the section
itself.)
"""

cdef extern from *:
    """
    #include <string.h>

    #if PY_VERSION_HEX >= 0x030D0000

    typedef PyMutex tb_lock;

    static int tb_lock_init(tb_lock *lock) { memset(lock, 0, sizeof(*lock)); return 0; }
    static void tb_lock_free(tb_lock *lock) { (void)lock; }
    static inline void tb_lock_take(tb_lock *lock) { PyMutex_Lock(lock); }
    static inline void tb_lock_give(tb_lock *lock) { PyMutex_Unlock(lock); }
    static void tb_gate_close(tb_lock *lock) { (void)lock; }
    static void tb_gate_open(tb_lock *lock) { (void)lock; }

    #else

    typedef struct { int taken; PyThread_type_lock gate; } tb_lock;

    static int tb_lock_init(tb_lock *lock) {
        lock->taken = 0;
        lock->gate = PyThread_allocate_lock();
        if (lock->gate == NULL) { PyErr_NoMemory(); return -1; }
        return 0;
    }
    static void tb_lock_free(tb_lock *lock) {
        if (lock->gate != NULL) { PyThread_free_lock(lock->gate); }
    }
    static inline void tb_lock_take(tb_lock *lock) {
        while (lock->taken) {
            Py_BEGIN_ALLOW_THREADS
            PyThread_acquire_lock(lock->gate, WAIT_LOCK);
            PyThread_release_lock(lock->gate);
            Py_END_ALLOW_THREADS
        }
        lock->taken = 1;
    }
    static inline void tb_lock_give(tb_lock *lock) { lock->taken = 0; }
    static void tb_gate_close(tb_lock *lock) { PyThread_acquire_lock(lock->gate, WAIT_LOCK); }
    static void tb_gate_open(tb_lock *lock) { PyThread_release_lock(lock->gate); }

    #endif

    static void tb_move_under_lock(tb_lock *lock, char *target, const char *source, Py_ssize_t nbytes) {
        if (nbytes < 65536) {
            memmove(target, source, (size_t)nbytes);
            return;
        }
        tb_gate_close(lock);
        Py_BEGIN_ALLOW_THREADS
        memmove(target, source, (size_t)nbytes);
        Py_END_ALLOW_THREADS
        tb_gate_open(lock);
    }
    """
    ctypedef struct Lock "tb_lock":
        pass
    int lock_init "tb_lock_init" (Lock *) except -1
    void lock_free "tb_lock_free" (Lock *) noexcept
    void take "tb_lock_take" (Lock *) noexcept
    void give "tb_lock_give" (Lock *) noexcept
    # memmove; from 64 KiB on without the GIL.
    void move_under_lock "tb_move_under_lock" (Lock *, char *target, const char *source, Py_ssize_t nbytes) noexcept
