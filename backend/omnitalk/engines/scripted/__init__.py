"""An engine without a model: it speaks the vocabularies of the real ones, with tones for speech. For tests and page development."""
