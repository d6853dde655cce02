"""Random weights for the vocoder (flow and HiFT) at the released model's size, so that Code2Wav computes as it does with real ones."""

from pathlib import Path

__all__ = ["write"]

# Layer sizes of the released vocoder, as its own description file gives them to the loader.
_FLOW = """
flow: !new:cosyvoice2.flow.flow.CausalMaskedDiffWithXvec
    input_size: 512
    output_size: 80
    spk_embed_dim: 192
    output_type: mel
    vocab_size: 6561
    encoder: !new:cosyvoice2.transformer.upsample_encoder_v2.UpsampleConformerEncoderV2
        input_size: 512
        output_size: 512
        input_layer: linear
        pre_lookahead_len: 3
        num_blocks: 6
        num_up_blocks: 4
        up_stride: 2
        up_scale_factor: 2
        attention_heads: 8
        pos_enc_layer_type: rel_pos_espnet
        selfattention_layer_type: rel_selfattn
        key_bias: true
        linear_units: 2048
        dropout_rate: 0.1
        positional_dropout_rate: 0.1
        attention_dropout_rate: 0.1
        normalize_before: true
    decoder: !new:cosyvoice2.flow.flow_matching.CausalConditionalCFM
        inference_cfg_rate: 0.7
        estimator: !new:cosyvoice2.flow.decoder_dit.DiT
            in_channels: 320
            out_channels: 80
            mlp_ratio: 4.0
            depth: 16
            num_heads: 8
            head_dim: 64
            hidden_size: 512
"""


def write(folder: Path) -> None:
    """Write ``assets/token2wav`` and an empty ``model.safetensors`` into a model folder. Needs the gpu extra."""
    import torch
    from hyperpyyaml import load_hyperpyyaml
    from safetensors.torch import save_file
    from vllm_omni.model_executor.models.step_audio2.step_audio2_token2wav import _build_hift

    from omnitalk.engines.omni.plugin import register

    register()
    assets = folder / "assets" / "token2wav"
    assets.mkdir(parents=True, exist_ok=True)
    (assets / "flow.yaml").write_text(_FLOW)
    torch.manual_seed(0)
    with (assets / "flow.yaml").open() as file:
        flow = load_hyperpyyaml(file)["flow"]
    for parameter in flow.parameters():
        # Some layers begin at zero, which would make the whole of it do nothing.
        if parameter.abs().sum() == 0:
            torch.nn.init.normal_(parameter, std=0.02)
    torch.save(flow.state_dict(), assets / "flow.pt")
    torch.save(_build_hift().state_dict(), assets / "hift.pt")
    for name in ("campplus.onnx", "speech_tokenizer_v2_25hz.onnx"):
        # Stand-ins: ``scripted_draw`` replaces what would read them.
        (assets / name).write_bytes(b"")
    save_file({"none": torch.zeros(1)}, folder / "model.safetensors")
