"""What ``/metrics`` shows: read off the hub when asked, so nothing is counted twice and no global registry is touched."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from omnitalk.hub import Hub

__all__ = ["exposition"]


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
        dropped = sum(runner.call.outbox.dropped_audio_ms for runner in calls)
        yield GaugeMetricFamily("omnitalk_output_audio_dropped_ms", "Sound of live calls given up for slow readers.", dropped)
        events = CounterMetricFamily("omnitalk_call_events", "What happened in calls, by kind.", labels=["kind"])
        totals = dict(hub.totals)
        for runner in calls:
            for name, value in runner.call.counters.items():
                totals[name] = totals.get(name, 0.0) + value
            totals["resumes"] = totals.get("resumes", 0.0) + max(0, runner.call.lease.generation - 1)
        for kind, value in sorted(totals.items()):
            events.add_metric([kind], value)
        yield events
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
