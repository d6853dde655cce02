"""The keys that vLLM-Omni 0.30 reads from a deploy file, and what it does with others.

It ignores an unknown key at the top without a word, refuses an unknown key of a stage only when that stage starts, and fails on an unknown
key of ``duplex_session`` with a Python error. ``omnitalk deploy check`` names all three beforehand.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

__all__ = ["CONNECTORS", "PLATFORMS", "SESSION_KEYS", "STAGE_KEYS", "TESTED_VERSION", "TOP_KEYS", "did_you_mean"]

TESTED_VERSION = "0.30"
"""The vLLM-Omni release whose rules this package follows."""

_TOP_KEYS = """base_config pipeline async_chunk session_mode model_runner active_stream_window duplex_session connectors edges stages
    platforms trust_remote_code distributed_executor_backend dtype quantization enable_prefix_caching enable_chunked_prefill
    data_parallel_size pipeline_parallel_size custom_voice_dir"""
TOP_KEYS = frozenset(_TOP_KEYS.split())

_SESSION_KEYS = """idle_ttl_s disconnect_grace_s reaper_interval_s resume_replay_ttl_s resume_replay_max_bytes_per_session
    max_pending_input_bytes_per_session max_pending_turns_per_session max_sessions completed_append_cache_size
    server_vad_model_path warmup_frames"""
SESSION_KEYS = frozenset(_SESSION_KEYS.split())

# A stage takes its own placement keys, and those engine arguments that vLLM-Omni knows for a stage with a language model or a vocoder.
_PLACEMENT_KEYS = """stage_id devices num_replicas env async_chunk output_connectors input_connectors default_sampling_params
    default_pooling_params subtalker_sampling_params silence_ban_frames engine_extras engine_args runtime"""
_ENGINE_KEYS = """active_stream_window additional_config all2all_backend allowed_local_media_path allowed_media_domains async_scheduling
    attention_backend attention_config block_size code_revision codec_frame_rate_hz compilation_config config_format
    cp_kv_cache_interleave_size cpu_distributed_timeout_seconds custom_voice_dir data_parallel_address data_parallel_backend
    data_parallel_external_lb data_parallel_hybrid_lb data_parallel_rank data_parallel_rpc_port data_parallel_size
    data_parallel_size_local dbo_decode_token_threshold dbo_prefill_token_threshold dcp_comm_backend dcp_kv_cache_interleave_size
    dcp_q_replicate decode_context_parallel_size disable_autocast disable_chunked_mm_input disable_custom_all_reduce
    disable_hybrid_kv_cache_manager disable_nccl_for_dp_synchronization distributed_executor_backend distributed_timeout_seconds
    download_dir dp_sync_interval dtype elastic_ep_max_dp_size enable_batch_sharded_sampling enable_broadcast_weight_load
    enable_chunked_prefill enable_dbo enable_elastic_ep enable_ep_weight_filter enable_eplb enable_expert_parallel
    enable_fault_tolerance enable_flashinfer_autotune enable_mamba_fine_grained_prefix_cache enable_multithread_weight_load
    enable_prefix_caching enable_prompt_embeds enable_sleep_mode enforce_eager eplb_config expert_placement_strategy
    fault_tolerance_config final_output generation_config gpu_memory_utilization has_sampling_extra_args hf_config_path hf_overrides
    hf_token ignore_patterns interleave_mm_strings kv_cache_dtype kv_cache_dtype_skip_layers kv_cache_memory_bytes
    kv_offloading_backend kv_offloading_size kv_sharing_fast_prefill kv_transfer_config limit_mm_per_prompt load_format log_level
    log_stats logits_processors logprobs_mode long_prefill_token_threshold mamba_block_size mamba_cache_dtype mamba_cache_mode
    mamba_ssm_cache_dtype master_addr master_port max_cudagraph_capture_size max_logprobs max_model_len max_num_batched_tokens
    max_num_queued_reqs max_num_queued_tokens max_num_scheduled_tokens max_num_seqs max_parallel_loading_workers media_io_kwargs
    mm_processor_cache_gb mm_processor_cache_type mm_processor_kwargs model model_arch model_loader_extra_config model_subdir
    moe_backend nnodes node_rank num_gpu_blocks_override num_gpus num_weight_load_threads numa_bind numa_bind_cpus numa_bind_nodes
    omni_kv_config override_generation_config parallel_config pipeline_parallel_size pooling_output_decoder
    prefill_context_parallel_size prefill_schedule_interval prefix_cache_retention_interval prefix_caching_hash_algo prefix_match_unit
    profiler_config pt_load_map_location quantization quantization_config ray_workers_use_nsight replayssm_buffer_len revision runner
    safetensors_load_strategy safetensors_prefetch_block_size safetensors_prefetch_num_threads scheduler_reserve_full_isl
    scheduling_policy seed served_model_name skip_mm_profiling skip_tokenizer_init stream_interval task_type tensor_parallel_size
    tokenizer tokenizer_mode tokenizer_revision tokenizer_subdir trust_remote_code ubatch_size use_replayssm use_tqdm_on_load
    watermark worker_cls worker_extension_cls"""
STAGE_KEYS = frozenset((_PLACEMENT_KEYS + " " + _ENGINE_KEYS).split())

PLATFORMS = frozenset({"cuda", "rocm", "npu", "xpu", "musa", "cpu"})

CONNECTORS: Mapping[str, bool] = MappingProxyType(
    {
        "SharedMemoryConnector": False,
        "MooncakeStoreConnector": True,
        "MooncakeTransferEngineConnector": True,
        "MoriTransferEngineConnector": True,
        "NixlConnector": True,
        "YuanrongConnector": True,
        "YuanrongTransferEngineConnector": True,
    }
)
"""What carries chunks between stages, and whether it reaches another host."""


def did_you_mean(key: str, known: Iterable[str]) -> str:
    """A hint to append to a message about an unknown key, or nothing."""
    near = get_close_matches(key, sorted(known), n=1, cutoff=0.75)
    return f" Did you mean {near[0]}?" if near else ""
