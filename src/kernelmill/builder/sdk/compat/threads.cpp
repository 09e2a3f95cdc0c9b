// What libstdc++'s headers ask about threads.
// Compiled into each extension, and hidden there: glibc 2.28 has it in its static part, or lacks it, and
// the headers of the build machine are those of a newer glibc.
#define LOCAL __attribute__((visibility("hidden")))

extern "C" {
// 2.32: "there may be other threads" is always right. libstdc++'s headers read it.
LOCAL char __libc_single_threaded = 0;
}
