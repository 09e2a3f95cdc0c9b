// The source of random numbers of newer libstdc++.
// Compiled into each extension, and hidden there: glibc 2.28 has it in its static part, or lacks it, and
// the headers of the build machine are those of a newer glibc.
#include <cstddef>
#include <cstdint>

#define LOCAL __attribute__((visibility("hidden")))

extern "C" {
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
