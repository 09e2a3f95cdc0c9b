# One variant of a kernel: the program that our own sandbox starts, in a room of the same shape.
{
  system,
  kernelmill, # the folder that holds the package
}:

{
  src, # the kernel's folder
  order, # what `job.json` says, without a version
  packs, # SDK's name -> its tree
}:
let
  toolchain = packs.${toolchainName};
  toolchainName = builtins.head (
    builtins.filter (name: builtins.substring 0 4 name == "cxx-") (builtins.attrNames packs)
  );
  tools = builtins.filter (name: builtins.substring 0 6 name == "tools-") (builtins.attrNames packs);
  libraries = "${toolchain}/usr/lib/x86_64-linux-gnu";
in
derivation {
  name = order.variant;
  inherit system src;
  outputs = [
    "out"
    "statement"
  ];
  order = builtins.toJSON ({ version = 1; } // order);
  trees = builtins.toJSON (builtins.mapAttrs (_: pack: "${pack}") packs);
  builder = "${libraries}/ld-linux-x86-64.so.2";
  args = [
    "--library-path"
    libraries
    "${toolchain}/usr/bin/python3.11"
    "-m"
    "kernelmill.builder.nix.start"
  ];
  PYTHONHOME = "${toolchain}/usr";
  PYTHONPATH = builtins.concatStringsSep ":" ([ kernelmill ] ++ map (name: "${packs.${name}}") tools);
  PYTHONDONTWRITEBYTECODE = "1";
}
