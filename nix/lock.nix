# `build.lock`: SDKs by name, and which of them each variant is built of.
file:
let
  lock = builtins.fromJSON (builtins.readFile file);

  # "torch213-cxx11-cpu-x86_64-linux" and its like: version of PyTorch, backend, system.
  pattern = "(torch-stable-abi|torch|tvm-ffi)([0-9]*)(-cxx11|-cxx98)?-(cpu|cuda|cu|rocm|metal|xpu|npu)([0-9]*)-([a-z0-9_]+-[a-z]+)";
  dotted = digits: "${builtins.substring 0 1 digits}.${builtins.substring 1 (-1) digits}";

  describe =
    variant: sdks:
    let
      parts = builtins.match pattern variant;
      short = builtins.elemAt parts 3;
      number = builtins.elemAt parts 1;
    in
    {
      inherit variant sdks;
    }
    // (
      if parts == null then
        {
          # Of Python alone: for every system.
          system = null;
          backend = builtins.head (
            builtins.match "torch-(.*)" variant ++ [ "universal" ]
          );
          torchVersion = null;
        }
      else
        {
          system = builtins.elemAt parts 5;
          backend = if short == "cu" then "cuda" else short;
          torchVersion = if number == "" then null else dotted number;
        }
    );
  # As users would choose: a GPU's before a CPU's, the newest PyTorch first.
  ranks = {
    cuda = 1;
    rocm = 2;
    xpu = 3;
    metal = 4;
  };
  rank = it: ranks.${it.backend} or 9;
  release = it: if it.torchVersion == null then "0" else it.torchVersion;
  isBefore =
    a: b:
    if rank a != rank b then
      rank a < rank b
    else if release a != release b then
      builtins.compareVersions (release a) (release b) > 0
    else
      a.variant > b.variant;
in
if lock.version != 1 then
  throw "kernelmill: build.lock has version ${toString lock.version}, and this reads 1\n  hint: use the kernelmill that wrote it"
else
  {
    inherit (lock) sdks;
    sha256 = builtins.hashFile "sha256" file;
    variants = builtins.sort isBefore (
      map (name: describe name lock.variants.${name}) (builtins.attrNames lock.variants)
    );
  }
