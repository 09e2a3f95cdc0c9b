# `nix run .#build-and-copy` and `.#build-and-upload`: the bundle, and then one thing with it.
{
  bundle,
  python,
  system,
}:
let
  script =
    name: text:
    python "kernelmill.builder.nix.script" {
      inherit name text;
      outputs = [ "out" ];
    };
in
{
  build-and-copy = script "build-and-copy" ''
    #!/bin/sh
    # Copy every variant into build/ of the folder where this runs.
    set -eu
    mkdir -p build
    cp -r --no-preserve=mode ${bundle}/. build/
    echo "copied $(ls ${bundle} | grep -vc 'intoto.json$') variants into $PWD/build"
  '';
  build-and-upload = script "build-and-upload" ''
    #!/bin/sh
    # Copy every variant into build/ of the folder where this runs, and upload that.
    set -eu
    mkdir -p build
    cp -r --no-preserve=mode ${bundle}/. build/
    exec kernel-builder upload "$@"
  '';
}
