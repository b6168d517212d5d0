"""A listing whole, for tests that do not care in how many pages it comes."""

from berth_server.placement.ports import Listing, Store


async def listed(store: Store, kind: str) -> Listing:
    """Return all pages as one."""
    pages: list[Listing] = []
    async for page in store.list(kind):
        if page.first:
            pages.clear()
        pages.append(page)
    resources = [each for page in pages for each in page.resources]
    return Listing(kind, pages[0].version, resources, [each for page in pages for each in page.undecodable])
