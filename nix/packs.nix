# SDKs in Nix's store. Each is known by its name and the hash of its tree, and is there because
# somebody imported it (`kernel-builder nix import`), or because a binary cache has it.
{ system }:

record:
let
  name = "${record.kind}-${record.release}";
in
derivation {
  inherit name system;
  outputs = [ "out" ];
  outputHashMode = "recursive";
  outputHashAlgo = "sha256";
  outputHash = record.nar-sha256;
  # Nothing can make it here. What cannot be started is shown: this line is the hint.
  builder = "this SDK is not in Nix's store, run: kernel-builder nix import ${name}";
}
