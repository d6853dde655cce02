// A peer connection with a browser's defaults, and nothing of ours: `?calls=` says where the offer goes.
const calls = new URLSearchParams(location.search).get('calls');

async function call() {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const context = new AudioContext();
  // Into no speaker: the measurement's ear hears the microphone where it enters the graph.
  context.createMediaStreamSource(stream).connect(new GainNode(context, { gain: 0 })).connect(context.destination);
  const connection = (window.connection = new RTCPeerConnection());
  connection.addTrack(stream.getAudioTracks()[0], stream);
  const channel = connection.createDataChannel('oai-events');
  connection.ontrack = ({ track }) => {
    const heard = new MediaStream([track]);
    const pump = new Audio(); // without a media element Chromium decodes nothing
    pump.muted = true;
    pump.srcObject = heard;
    context.createMediaStreamSource(heard).connect(context.destination);
  };
  await connection.setLocalDescription();
  await new Promise((done) => {
    connection.onicegatheringstatechange = () => connection.iceGatheringState === 'complete' && done();
    if (connection.iceGatheringState === 'complete') done();
  });
  const body = connection.localDescription.sdp;
  const answer = await fetch(calls, { method: 'POST', body, headers: { 'content-type': 'application/sdp' } });
  if (!answer.ok) throw new Error(`${calls} answered ${answer.status}: ${await answer.text()}`);
  channel.onopen = () => (window.live = true);
  await connection.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
}

document.getElementById('call').onclick = () => void call();
