"""The studio: browse tables, items, patterns and the design of a DynamoDB application; with NiceGUI.

    studio_database   StudioDatabase: the database; every request of a view goes through its ``call`` or ``write``
    studio_access     access: a token that works once, a cookie, the allowed hosts and origins
    studio_frame      the frame: views and tables at the side, the bar at the top
    studio_page       StudioPage: a browser tab, as views know it
    studio_server     Studio: everything, as an ASGI application under /studio; serve_studio serves it alone
    studio_texts      texts in English and Italian
    studio_views      the views, with their addresses
    views/            the views of tables, items and the design
    observe/          views of a table's past, activity and cost: time, streams, SQL, heat and bill, a console

The studio is a client like any other: it only sends requests of DynamoDB's API to an engine or an endpoint, with the
rights of the user who runs it. Without ``--write`` it sends no request that changes anything.

How a view is added:

1. A module in ``views/`` with ``async def heat_view(page: StudioPage, table: str = "") -> None``, which draws into the
   page with the parts of ``tablewright.ui`` and asks ``await page.database.call("DescribeTable", TableName=table)``.
   What is refused is a ``Refused``: let it rise, the frame says it. What changes something is ``page.write(...)``,
   which asks first, and writes to the log. A view begins with ``await page.look_at(table)``.
2. A line in ``studio_views.VIEWS``: addresses, title, icon, and whether the view needs a table or a design.
3. Its words in ``studio_texts``; styles in ``static/studio.css``, from the tokens of ``ui/static/design.css``.

It needs the extra ``tablewright[studio]``.
"""
