"""TLS: keys and certificates, the contexts of Python's ssl, and who a client is by its certificate.

Imported only for listeners with TLS. Needs the library cryptography, of the extra `security`.
"""
