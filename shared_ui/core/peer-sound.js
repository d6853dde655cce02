/** The sound of one peer connection: the microphone's own track outwards, and the peer's into the speaker's worklet. */

export class PeerSound {
  /** @param {import('./audio-graph.js').AudioGraph} audio @param {(track: MediaStreamTrack) => void} swapped the person chose another microphone */
  constructor(audio, swapped) {
    this.audio = audio;
    this.swapped = swapped;
    /** @type {MediaStreamTrack | null} */
    this.track = null;
    /** @type {MediaStreamAudioSourceNode | null} */
    this.source = null;
    // Chromium decodes a peer's sound only for a media element; this one is silent.
    this.pump = new Audio();
    this.pump.muted = true;
    audio.peers.add(this);
    if (audio.stream) this.use(audio.stream);
  }

  /** A copy of the microphone's track: muting it leaves the meter's alone. @param {MediaStream} stream */
  use(stream) {
    const before = this.track;
    const [track] = stream.getAudioTracks();
    this.track = track ? track.clone() : null;
    this.obey();
    if (before && this.track) this.swapped(this.track);
    before?.stop();
  }

  /** Who muted or holds the call sends silence; the sound's clock goes on. */
  obey() {
    if (this.track) this.track.enabled = !(this.audio.muted || this.audio.held);
  }

  /** @param {MediaStream} stream */
  play(stream) {
    this.source?.disconnect();
    this.source = this.audio.context.createMediaStreamSource(stream);
    if (this.audio.playback) this.source.connect(this.audio.playback);
    this.pump.srcObject = stream;
  }

  end() {
    this.audio.peers.delete(this);
    this.track?.stop();
    this.source?.disconnect();
    this.pump.srcObject = null;
  }
}
