{
  description = "ReLU against PyTorch's stable ABI";

  inputs = {
    kernel-builder.url = "path:../.."; # in a repository of its own: the address of kernelmill's
  };

  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genKernelFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
