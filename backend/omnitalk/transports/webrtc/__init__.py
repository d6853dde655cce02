"""One call over one peer connection: Opus both ways by RTP, the events on a data channel. ``docs/adr/0009`` says why it is built so."""
