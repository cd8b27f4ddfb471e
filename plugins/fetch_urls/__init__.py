"""The wrapper `fetch_urls`: files that a request names by URL are fetched and sent as data.

These are images, for engines that take only data, and PDFs.

`guard.py` and `addresses.py` say what may be fetched, `fetch.py` fetches one file, `names.py` looks hosts up, `load.py`
fetches all of a request, `turns.py` shares the places out, `kept.py` keeps files a while, `kinds.py` knows them,
`blocks.py` finds the URLs in a request and fills in the data.
"""

from plugins.fetch_urls.plugin import FetchURLs

__all__ = ["FetchURLs"]
