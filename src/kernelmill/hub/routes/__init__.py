"""HTTP endpoints: read the request, ask the service, render the reply."""
