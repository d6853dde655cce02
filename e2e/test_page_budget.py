"""What the page costs before the first call, and that it works under a path prefix."""

from .support.browser import opened
from .support.server import Server

BUDGET_BYTES = 150_000


def test_the_page_is_small_ready_and_silent_in_the_console(cascade_server: Server) -> None:
    with opened(cascade_server.url, ear=False) as caller:
        caller.page.get_by_role("button", name="Call", exact=True).wait_for()
        caller.page.wait_for_load_state("networkidle")
        transferred = caller.page.evaluate(
            "[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]"
            ".reduce((sum, entry) => sum + entry.transferSize, 0)"
        )
        assert 0 < transferred <= BUDGET_BYTES
        foreign = caller.page.evaluate(
            "performance.getEntriesByType('resource').map(entry => new URL(entry.name).host).filter(host => host !== location.host)"
        )
        assert foreign == []
        # The security policy lets the page do all that a call needs.
        caller.call()
        assert caller.errors == []
