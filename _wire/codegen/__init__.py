"""From definitions to source: fields, the decoder (reading) and the encoder (writing), modules of them, and stubs."""
