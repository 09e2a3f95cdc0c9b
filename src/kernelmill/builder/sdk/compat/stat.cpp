// stat and mknod, which were functions of the static part until 2.33.
// Compiled into each extension, and hidden there: glibc 2.28 has it in its static part, or lacks it, and
// the headers of the build machine are those of a newer glibc.
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
}
