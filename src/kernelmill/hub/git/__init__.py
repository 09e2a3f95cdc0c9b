"""Git's own protocol, served by the git program on a repository made for one request."""
