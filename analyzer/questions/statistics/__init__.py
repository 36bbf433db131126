"""Statistics of a whole capture: query handles, times and sizes, identities, activity, hosts, decryption."""
