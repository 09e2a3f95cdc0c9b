# The outputs of a kernel's flake, under the names that kernels' users know.
{ kernelmill }:

arguments:
let
  # NOTE: looked at inside of the outputs only: `self` is not there before they are.
  inherit (import ./arguments.nix arguments) path self torchVersions;
  lock = import ./lock.nix (path + "/build.lock");
  chosen = torchVersions lock.variants;
  wanted =
    if builtins.isList chosen && chosen != [ ] then
      chosen
    else
      throw "kernelmill: `torchVersions` left no variant\n  hint: it returns some of the list that it gets";
  # What no variant is for is not named, but this one always is: kernels of Python alone have it.
  systems = builtins.attrNames (
    builtins.listToAttrs (
      map (it: {
        name = if it.system == null then "x86_64-linux" else it.system;
        value = null;
      }) wanted
    )
  );
  perSystem = builtins.listToAttrs (
    map (system: {
      name = system;
      value = import ./system.nix {
        inherit
          kernelmill
          lock
          path
          self
          system
          ;
        variants = builtins.filter (it: it.system == null || it.system == system) wanted;
      };
    }) systems
  );
  pick = name: builtins.mapAttrs (_: value: value.${name}) perSystem;
in
{
  packages = pick "packages";
  legacyPackages = pick "legacyPackages";
  devShells = pick "devShells";
  apps = pick "apps";
}
