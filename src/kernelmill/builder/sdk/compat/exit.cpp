// atexit and its like, which say whose handlers they register.
// Compiled into each extension, and hidden there: glibc 2.28 has it in its static part, or lacks it, and
// the headers of the build machine are those of a newer glibc.
#define LOCAL __attribute__((visibility("hidden")))

extern "C" {
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
}
