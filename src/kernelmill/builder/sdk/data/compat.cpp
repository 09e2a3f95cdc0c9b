// What glibc 2.28 has in its static part, or lacks: compiled into each extension, and hidden there.
// The headers of the build machine are those of a newer glibc, which has these as dynamic symbols.
#include <cstddef>
#include <cstdint>

#define LOCAL __attribute__((visibility("hidden")))

extern "C" {

// Until 2.33 the program says for which layout of `struct stat` and `dev_t` it was compiled.
#if defined(__x86_64__)
constexpr int kStatVersion = 1, kNodeVersion = 0;
#elif defined(__aarch64__)
constexpr int kStatVersion = 0, kNodeVersion = 0;
#else
#error "x86_64 and aarch64 only"
#endif

int __xstat(int, const char*, void*);
int __fxstat(int, int, void*);
int __lxstat(int, const char*, void*);
int __fxstatat(int, int, const char*, void*, int);
int __xstat64(int, const char*, void*);
int __fxstat64(int, int, void*);
int __lxstat64(int, const char*, void*);
int __fxstatat64(int, int, const char*, void*, int);
int __xmknod(int, const char*, unsigned, unsigned long*);
int __xmknodat(int, int, const char*, unsigned, unsigned long*);

LOCAL int stat(const char* path, void* out) { return __xstat(kStatVersion, path, out); }
LOCAL int fstat(int file, void* out) { return __fxstat(kStatVersion, file, out); }
LOCAL int lstat(const char* path, void* out) { return __lxstat(kStatVersion, path, out); }
LOCAL int fstatat(int folder, const char* path, void* out, int flags) {
  return __fxstatat(kStatVersion, folder, path, out, flags);
}
LOCAL int stat64(const char* path, void* out) { return __xstat64(kStatVersion, path, out); }
LOCAL int fstat64(int file, void* out) { return __fxstat64(kStatVersion, file, out); }
LOCAL int lstat64(const char* path, void* out) { return __lxstat64(kStatVersion, path, out); }
LOCAL int fstatat64(int folder, const char* path, void* out, int flags) {
  return __fxstatat64(kStatVersion, folder, path, out, flags);
}
LOCAL int mknod(const char* path, unsigned mode, unsigned long device) {
  return __xmknod(kNodeVersion, path, mode, &device);
}
LOCAL int mknodat(int folder, const char* path, unsigned mode, unsigned long device) {
  return __xmknodat(kNodeVersion, folder, path, mode, &device);
}

extern void* __dso_handle LOCAL;
int __cxa_atexit(void (*)(void*), void*, void*);
int __cxa_at_quick_exit(void (*)(void*), void*);
int __register_atfork(void (*)(), void (*)(), void (*)(), void*);

LOCAL int atexit(void (*function)()) {
  return __cxa_atexit(reinterpret_cast<void (*)(void*)>(function), nullptr, __dso_handle);
}
LOCAL int at_quick_exit(void (*function)()) {
  return __cxa_at_quick_exit(reinterpret_cast<void (*)(void*)>(function), __dso_handle);
}
LOCAL int pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)()) {
  return __register_atfork(prepare, parent, child, __dso_handle);
}

// 2.32: "there may be other threads" is always right. libstdc++'s headers read it.
LOCAL char __libc_single_threaded = 0;

// 2.36; std::random_device of newer libstdc++ calls it. getrandom came with 2.25, and fails for a few
// bytes only where the kernel lacks it.
long getrandom(void*, std::size_t, unsigned);
[[noreturn]] void abort();

LOCAL std::uint32_t arc4random() {
  std::uint32_t number;
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number;
}
}
