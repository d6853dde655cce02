// The two worklets of upstream.js: one hands over each quantum as PCM16, the other plays a queue after a fixed start buffer.
class Capture extends AudioWorkletProcessor {
  process([input]) {
    if (input[0]) this.port.postMessage(Int16Array.from(input[0], (sample) => Math.max(-1, Math.min(1, sample)) * 32767));
    return true;
  }
}

class Playback extends AudioWorkletProcessor {
  constructor({ processorOptions }) {
    super();
    this.start = processorOptions.startFrames;
    this.queue = [];
    this.frames = 0;
    this.at = 0;
    this.playing = false;
    this.port.onmessage = ({ data }) => {
      this.queue.push(data);
      this.frames += data.length;
    };
  }

  process(_, [[out]]) {
    if (!this.playing && this.frames < this.start) return true;
    this.playing = true;
    for (let i = 0; i < out.length; i++) {
      if (this.queue.length === 0) {
        this.playing = false;
        this.port.postMessage('underrun');
        break;
      }
      out[i] = this.queue[0][this.at++] / 32768;
      this.frames--;
      if (this.at === this.queue[0].length) {
        this.queue.shift();
        this.at = 0;
      }
    }
    return true;
  }
}

registerProcessor('upstream-capture', Capture);
registerProcessor('upstream-playback', Playback);
