"""Names of environment variables that more than one package reads."""

# The path of a secrets file, for whoever names none.
SECRETS_VARIABLE = "PCQ_SECRETS"
