# What a kernel's flake may pass, checked before anything else is looked at.
{
  path,
  self ? null,
  rev ? null,
  doGetKernelCheck ? true,
  pythonCheckInputs ? _: [ ],
  pythonNativeCheckInputs ? _: [ ],
  torchVersions ? locked: locked,
}:
let
  fail = problem: hint: throw "kernelmill: ${problem}\n  hint: ${hint}";
  isPath = builtins.isPath path || builtins.isString path;
  # Reading a file of the flake's own folder needs no other permission.
  has = name: builtins.pathExists (path + "/${name}");
in
if rev != null then
  fail "genKernelFlakeOutputs takes no `rev`" "write `inherit self;` in its place"
else if self == null then
  fail "genKernelFlakeOutputs needs `self`" "write `inherit self;` beside `path = ./.;`"
else if !isPath then
  fail "`path` is not the kernel's folder" "write `path = ./.;`"
else if !builtins.isBool doGetKernelCheck then
  fail "`doGetKernelCheck` is neither true nor false" "leave it out"
else if !builtins.isFunction torchVersions then
  fail "`torchVersions` is not a function" "it maps the list of what is locked to what is wanted: `torchVersions = all: builtins.filter (it: it.torchVersion == \"2.13\") all;`"
else if !(builtins.isFunction pythonCheckInputs && builtins.isFunction pythonNativeCheckInputs) then
  fail "`pythonCheckInputs` and `pythonNativeCheckInputs` are functions" "leave them out: tests run outside of Nix, with `kernel-builder test`"
else if !has "build.toml" then
  fail "no build.toml in ${toString path}" "flakes see the files that git knows: git add build.toml"
else if !has "build.lock" then
  fail "no build.lock in ${toString path}" "write one with `kernel-builder lock`, and git add it"
else
  {
    inherit path self torchVersions;
  }
