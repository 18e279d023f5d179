"""The studio: tables, items, patterns and the design of a DynamoDB application, on the screen, with NiceGUI.

    studio_database   StudioDatabase: what is looked at; every request of a view goes through its ``call`` or ``write``
    studio_access     the way in: a token that is good once, a cookie, which hosts and origins may ask
    studio_frame      the frame: views and tables at the side, the bar at the top
    studio_page       StudioPage: a browser tab, as views know it
    studio_server     Studio: all of it, as an ASGI application under /studio; serve_studio runs one by itself
    studio_texts      words in English and Italian
    studio_views      which views there are, with their addresses
    views/            the views of tables, items and the design
    observe/          those of what tables were, do and cost: time, streams, SQL, heat and bill, a console

The studio is a client like any other: it sends requests of DynamoDB's API to an engine or an endpoint, with the rights
of whoever runs it, and never reaches around that. Without ``--write`` it sends no request that changes anything.

How a view is added:

1. A module in ``views/`` with ``async def heat_view(page: StudioPage, table: str = "") -> None``, which draws into the
   page with the parts of ``tablewright.ui`` and asks ``await page.database.call("DescribeTable", TableName=table)``.
   What is refused is a ``Refused``: let it rise, the frame says it. What changes something is ``page.write(...)``,
   which asks first, and writes to the log. A view begins with ``await page.look_at(table)``.
2. A line in ``studio_views.VIEWS``: addresses, title, icon, and whether the view needs a table or a design.
3. Its words in ``studio_texts``; styles in ``static/studio.css``, from the tokens of ``ui/static/design.css``.

It needs the extra ``tablewright[studio]``.
"""
