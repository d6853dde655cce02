"""What ``/metrics`` shows: read off the hub when asked, so nothing is counted twice and no global registry is touched."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from omnitalk.hub.first_sound import BOUNDS_S

if TYPE_CHECKING:
    from omnitalk.hub import Hub

__all__ = ["exposition"]

_CUT = "interruptions_"


class _HubCollector(Collector):
    def __init__(self, hub: "Hub") -> None:
        self._hub = hub

    def collect(self) -> Iterator[Metric]:
        hub = self._hub
        calls = list(hub)
        yield GaugeMetricFamily("omnitalk_ready", "1 when the engine can take a call.", int(hub.engine.health().ready))
        yield GaugeMetricFamily("omnitalk_calls_live", "Calls that hold a line.", len(calls))
        detached = sum(not runner.call.lease.attached for runner in calls)
        yield GaugeMetricFamily("omnitalk_calls_detached", "Live calls that wait for their client to return.", detached)
        yield GaugeMetricFamily("omnitalk_slots", "Lines.", hub.slots)
        yield GaugeMetricFamily("omnitalk_callers_waiting", "Callers in the line.", hub.admission.waiting)
        yield CounterMetricFamily("omnitalk_calls_opened", "Calls opened.", hub.opened)
        yield CounterMetricFamily("omnitalk_callers_refused", "Callers refused because the line was full.", hub.admission.refused)
        yield CounterMetricFamily("omnitalk_callers_abandoned", "Callers who left or vanished while waiting.", hub.admission.abandoned)
        ended = CounterMetricFamily("omnitalk_calls_ended", "Calls ended, by reason.", labels=["reason"])
        for reason, count in hub.ended.items():
            ended.add_metric([reason], count)
        yield ended
        journal = sum(runner.call.outbox.journal.bytes for runner in calls)
        yield GaugeMetricFamily("omnitalk_journal_bytes", "Events kept for sending and resume.", journal)
        queued = sum(len(runner.commands) for runner in calls)
        yield GaugeMetricFamily("omnitalk_engine_commands_waiting", "Commands that the engine has not taken yet.", queued)
        figures = hub.figures()
        cuts = CounterMetricFamily("omnitalk_interruptions", "Replies cut short, by what cut them.", labels=["source"])
        for kind, value in sorted(figures.items()):
            if kind.startswith(_CUT):
                cuts.add_metric([kind.removeprefix(_CUT)], value)
        yield cuts
        resumes = figures.get("resumes", 0.0)
        yield CounterMetricFamily("omnitalk_resumes", "Clients that came back to their call.", resumes)
        dropped = figures.get("output_audio_ms_dropped", 0.0)
        yield CounterMetricFamily("omnitalk_output_audio_dropped_ms", "Speech given up for readers that are too slow.", dropped)
        events = CounterMetricFamily("omnitalk_call_events", "What happened in calls, by kind.", labels=["kind"])
        for kind, value in sorted(figures.items()):
            if not kind.startswith(_CUT):
                events.add_metric([kind], value)
        yield events
        waits = HistogramMetricFamily("omnitalk_first_sound_seconds", "From the end of a turn to the first sound of its reply.")
        total, buckets = 0, []
        for bound, count in zip([*map(str, BOUNDS_S), "+Inf"], hub.waits.counts, strict=True):
            total += count
            buckets.append((bound, total))
        waits.add_metric([], buckets, sum_value=hub.waits.sum_s)
        yield waits
        engine = GaugeMetricFamily("omnitalk_engine", "Figures of the engine's own.", labels=["figure"])
        for name, value in hub.engine.health().details.items():
            if isinstance(value, int | float):
                engine.add_metric([name], value)
        yield engine


def exposition(hub: "Hub") -> bytes:
    """The hub's figures in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_HubCollector(hub))
    return generate_latest(registry)
