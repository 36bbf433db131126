"""What a capture says as a whole: query handles, times and sizes, identities, activity, hosts, decryption."""
