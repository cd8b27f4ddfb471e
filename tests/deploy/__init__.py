"""Two replicas behind HAProxy, with the very file of docs/examples."""
