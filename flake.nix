{
  description = "kernelmill builds, checks, shares and loads compute kernels for PyTorch";

  outputs =
    { self }:
    {
      lib = import ./nix;
    };
}
