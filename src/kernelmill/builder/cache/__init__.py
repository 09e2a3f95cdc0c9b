"""Binary caches in Nix's format: SDKs and builds that one machine made and others fetch."""
