"""Sign people in through an OpenID provider, if OIDC_ISSUER names one."""
