# `nix develop`: the locked SDKs as a store, for builds by hand with this machine's compiler.
{
  lock,
  name,
  packs,
  packsOf,
  python,
  system,
  variants,
}:
let
  inherit (builtins) listToAttrs mapAttrs toJSON;

  # All of it: the command line too.
  kernelmill = builtins.path {
    name = "kernelmill-whole";
    path = ../src;
    filter = path: _: baseNameOf path != "__pycache__";
  };

  # Nix enters a shell by running bash as a derivation's builder; this one needs no libraries.
  shell = import ./packs.nix { inherit system; } (builtins.fromJSON (builtins.readFile ./shell.json));

  storeOf =
    it:
    python "kernelmill.builder.nix.sdk_store" {
      name = "sdks";
      outputs = [ "out" ];
      records = toJSON (listToAttrs (map (sdk: { name = sdk; value = lock.sdks.${sdk}; }) it.sdks));
      trees = toJSON (mapAttrs (_: pack: "${pack}") (packsOf it));
    };

  toolsOf =
    it: packs.${builtins.head (builtins.filter (sdk: builtins.substring 0 6 sdk == "tools-") it.sdks)};

  enter =
    label: it: hint:
    derivation {
      name = "${name}-${label}";
      inherit system;
      outputs = [ "out" ];
      builder = "${shell}/bin/bash";
      args = [
        "-c"
        "echo 'this is for nix develop' >$out"
      ];
      KERNELMILL_SDKS = "${storeOf it}";
      KERNELMILL_VARIANT = it.variant;
      shellHook = ''
        if ! command -v kernel-builder >/dev/null; then
          kernel-builder() { PATH=$PATH:${toolsOf it}/bin PYTHONPATH=${kernelmill}:${toolsOf it} python3 -m kernelmill.builder "$@"; }
          export -f kernel-builder
        fi
        echo "${it.variant}: ${hint}" >&2
      '';
    };

  shellsFor =
    label: hint: listToAttrs (map (it: { name = it.variant; value = enter label it hint; }) variants);
  best = builtins.head variants;
  building = shellsFor "dev" "kernel-builder build --variant $KERNELMILL_VARIANT";
  testing = shellsFor "test" "kernel-builder test";
in
building
// {
  default = building.${best.variant};
  test = testing.${best.variant};
  devShells = building.${best.variant} // building;
  testShells = testing.${best.variant} // testing;
}
