# Everything for one system.
{
  kernelmill,
  lock,
  path,
  self,
  system,
  variants, # of this system, as lock.nix describes them
}:
let
  inherit (builtins)
    attrNames
    concatMap
    filter
    head
    listToAttrs
    mapAttrs
    ;

  packs = mapAttrs (_: import ./packs.nix { inherit system; }) lock.sdks;
  packsOf = it: listToAttrs (map (name: { inherit name; value = packs.${name}; }) it.sdks);
  python = import ./python.nix { inherit system kernelmill; };

  # Builds and what they leave behind are no sources: they would change every build after them.
  src = builtins.path {
    name = "kernel";
    inherit path;
    filter = place: _: builtins.match "build|build\\.lock|build\\.sha256|flake\\.(nix|lock)|result.*|\\.git|\\.kernelmill|__pycache__" (baseNameOf place) == null;
  };
  manifest = builtins.fromTOML (builtins.readFile (path + "/build.toml"));
  name = (manifest.general or { }).name or "kernel";

  build =
    it:
    python (packsOf it) "kernelmill.builder.nix.start" {
      name = it.variant;
      inherit src;
      outputs = [
        "out"
        "statement"
      ];
      order = builtins.toJSON {
        version = 1;
        inherit (it) variant;
        lock-sha256 = lock.sha256;
        isolation = "sandbox";
        source =
          if self ? rev then
            {
              commit = self.rev;
              dirty = false;
            }
          else
            null;
        sdks = listToAttrs (map (sdk: { name = sdk; value = lock.sdks.${sdk}; }) it.sdks);
      };
      trees = builtins.toJSON (mapAttrs (_: pack: "${pack}") (packsOf it));
    };

  byVariant = listToAttrs (map (it: { name = it.variant; value = build it; }) variants);

  # Any variant's toolchain does for copying files.
  bundleOf =
    label: chosen:
    python (packsOf (head variants)) "kernelmill.builder.nix.bundle" {
      name = "${name}-${label}";
      outputs = [ "out" ];
      variants = builtins.toJSON (
        listToAttrs (
          map (it: {
            name = it.variant;
            value = {
              folder = "${byVariant.${it.variant}}";
              statement = "${byVariant.${it.variant}.statement}";
            };
          }) chosen
        )
      );
    };

  backends = attrNames (listToAttrs (map (it: { name = it.backend; value = null; }) variants));
  ofBackend = backend: filter (it: it.backend == backend) variants;
  ciVariants = map (backend: head (ofBackend backend)) backends;
  eachBackend = make: listToAttrs (map (backend: { name = backend; value = make backend; }) backends);

  bundle = bundleOf "bundle" variants;
  ci = bundleOf "ci" ciVariants;
  backendBundle = eachBackend (backend: bundleOf "bundle-${backend}" (ofBackend backend));
  backendCi = eachBackend (backend: bundleOf "ci-${backend}" [ (head (ofBackend backend)) ]);

  scripts = import ./scripts.nix {
    inherit bundle system;
    python = python (packsOf (head variants));
  };
  shells = import ./shells.nix {
    inherit
      lock
      packs
      packsOf
      system
      variants
      name
      ;
    python = python (packsOf (head variants));
  };
  outside = what: throw "kernelmill: ${what} is not part of the flake: no PyTorch that runs is pinned\n  hint: kernel-builder test";
in
{
  packages =
    byVariant
    // {
      default = bundle;
      inherit bundle ci;
      # Each is the whole, with its parts as attributes.
      redistributable = bundle // byVariant;
      backendBundle = bundle // backendBundle;
      backendCi = ci // backendCi;
    }
    // scripts;

  # Names whose values are no packages.
  legacyPackages = {
    inherit backendBundle backendCi;
    redistributable = byVariant;
    variants = map (it: it.variant) variants;
    archVariants = concatMap (it: if it.system == null then [ ] else [ it.variant ]) variants;
    sdks = packs;
    ci-test = outside "ci-test";
    ciTests = mapAttrs (variant: _: outside "ciTests.${variant}") byVariant;
    kernels = outside "kernels";
    pkgs = mapAttrs (variant: _: outside "pkgs.${variant}") byVariant;
  };

  apps = mapAttrs (script: drv: {
    type = "app";
    program = "${drv}/bin/${script}";
  }) scripts;

  devShells = shells;
}
