{
  description = "FP8 block-scaled GEMM for gfx942 and CPUs";

  inputs = {
    kernel-builder.url = "path:../.."; # in a repository of its own: the address of kernelmill's
  };

  outputs =
    { self, kernel-builder }:
    kernel-builder.lib.genFlakeOutputs {
      inherit self;
      path = ./.;
    };
}
