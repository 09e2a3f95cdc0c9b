# `lib` of the flake: what a kernel's flake.nix calls. No nixpkgs: derivations of Nix itself.
let
  # The parts of the package that a build imports, as builder/sandbox/contents.py copies them.
  kernelmill =
    let
      root = ../src;
      start = builtins.stringLength (toString root) + 1;
      isPart =
        path: _:
        baseNameOf path != "__pycache__"
        &&
          builtins.match "kernelmill(/__init__\\.py|/(spec|binary|builder)(/.*)?)?" (
            builtins.substring start (-1) path
          ) != null;
    in
    builtins.path {
      name = "kernelmill";
      path = root;
      filter = isPart;
    };

  outputs = import ./outputs.nix { inherit kernelmill; };
in
{
  # The outputs of a kernel's flake: packages, devShells and lists of variants.
  genKernelFlakeOutputs = arguments: outputs arguments;

  # The name that the published guide uses. It took `rev` where `self` does now.
  genFlakeOutputs = arguments: outputs (removeAttrs arguments [ "rev" ]);
}
