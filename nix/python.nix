# A derivation that runs a module of kernelmill with the toolchain's own Python.
{
  system,
  kernelmill, # the folder that holds the package
}:

packs: # SDK's name -> its tree; the toolchain and the tools are among them
let
  named = prefix: builtins.filter (name: builtins.substring 0 (builtins.stringLength prefix) name == prefix) (builtins.attrNames packs);
  toolchain = packs.${builtins.head (named "cxx-")};
  tools = map (name: "${packs.${name}}") (named "tools-");
  libraries = "${toolchain}/usr/lib/${builtins.head (builtins.split "-" system)}-linux-gnu";
in
module: attributes:
derivation (
  {
    inherit system;
    # Its loader is where the toolchain is not, so it is started by name.
    builder = "${libraries}/ld-linux-x86-64.so.2";
    args = [
      "--library-path"
      libraries
      "${toolchain}/usr/bin/python3.11"
      "-m"
      module
    ];
    PYTHONHOME = "${toolchain}/usr";
    PYTHONPATH = builtins.concatStringsSep ":" ([ kernelmill ] ++ tools);
    PYTHONDONTWRITEBYTECODE = "1";
  }
  // attributes
)
