// thrust::complex as PyTorch's headers need it: a pair of numbers that can be passed on. Its functions
// are declared and nothing more: code that calls one does not link.
#pragma once

namespace thrust {
template <typename T>
struct alignas(2 * sizeof(T)) complex {
  __host__ __device__ complex(T real = T(), T imag = T()) : real_(real), imag_(imag) {}
  template <typename U>
  __host__ __device__ complex(const complex<U>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}
  __host__ __device__ T real() const { return real_; }
  __host__ __device__ T imag() const { return imag_; }

 private:
  T real_, imag_;
};
template <typename T>
__host__ __device__ T abs(const complex<T>&);
template <typename T>
__host__ __device__ complex<T> polar(const T&, const T& = T());
template <typename X, typename Y>
__host__ __device__ X pow(const X&, const Y&);
#define KERNELMILL_DECLARE(name) \
  template <typename T>          \
  __host__ __device__ complex<T> name(const complex<T>&);
KERNELMILL_DECLARE(exp)
KERNELMILL_DECLARE(log)
KERNELMILL_DECLARE(log10)
KERNELMILL_DECLARE(sqrt)
KERNELMILL_DECLARE(sin)
KERNELMILL_DECLARE(cos)
KERNELMILL_DECLARE(tan)
KERNELMILL_DECLARE(asin)
KERNELMILL_DECLARE(acos)
KERNELMILL_DECLARE(atan)
KERNELMILL_DECLARE(sinh)
KERNELMILL_DECLARE(cosh)
KERNELMILL_DECLARE(tanh)
KERNELMILL_DECLARE(asinh)
KERNELMILL_DECLARE(acosh)
KERNELMILL_DECLARE(atanh)
#undef KERNELMILL_DECLARE
}  // namespace thrust
