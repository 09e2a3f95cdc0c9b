#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <torch/mps.h>

#include EMBEDDED_METALLIB_HEADER
#include "relu.h"

namespace {

namespace metallib = EMBEDDED_METALLIB_NAMESPACE;
constexpr NSUInteger kThreads = 256;

id<MTLComputePipelineState> make_pipeline(id<MTLDevice> device) {
  NSError* error = nil;
  dispatch_data_t data = dispatch_data_create(metallib::metallib_data, metallib::metallib_size, nil,
                                              DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  id<MTLLibrary> library = [device newLibraryWithData:data error:&error];
  TORCH_CHECK(library, "relu: no Metal library: ", error.localizedDescription.UTF8String);
  id<MTLFunction> function = [library newFunctionWithName:@"relu_kernel"];
  TORCH_CHECK(function, "relu: the Metal library has no relu_kernel");
  id<MTLComputePipelineState> pipeline = [device newComputePipelineStateWithFunction:function
                                                                               error:&error];
  TORCH_CHECK(pipeline, "relu: no pipeline: ", error.localizedDescription.UTF8String);
  return pipeline;
}

id<MTLBuffer> buffer_of(const at::Tensor& tensor) {
  return __builtin_bit_cast(id<MTLBuffer>, tensor.storage().data());
}

}  // namespace

void relu_metal(const at::Tensor& out, const at::Tensor& input) {
  const NSUInteger count = static_cast<NSUInteger>(input.numel());
  TORCH_CHECK(count <= UINT32_MAX, "relu: input has ", count, " elements, want fewer than 2^32");
  if (count == 0) return;
  @autoreleasepool {
    id<MTLCommandBuffer> commands = torch::mps::get_command_buffer();
    static id<MTLComputePipelineState> pipeline = make_pipeline(commands.device);
    id<MTLBuffer> to = buffer_of(out), from = buffer_of(input);
    const NSUInteger to_start = out.storage_offset() * sizeof(float);
    const NSUInteger from_start = input.storage_offset() * sizeof(float);
    dispatch_sync(torch::mps::get_dispatch_queue(), ^{
      id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
      [encoder setComputePipelineState:pipeline];
      [encoder setBuffer:to offset:to_start atIndex:0];
      [encoder setBuffer:from offset:from_start atIndex:1];
      [encoder dispatchThreads:MTLSizeMake(count, 1, 1)
          threadsPerThreadgroup:MTLSizeMake(count < kThreads ? count : kThreads, 1, 1)];
      [encoder endEncoding];
    });
    torch::mps::commit();
  }
}
