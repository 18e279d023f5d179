"""The shell of the applications and of the studio, with NiceGUI: sign-in, frame, parts of screens, live changes.

    applications    Application, its views, and who sees them
    screen_page     Page: a browser tab, as views know it
    components, data_list, forms, feedback, frame, icons    what views are drawn with; static/ has the design language
    markup          parts of screens as HTML, one element each
    api_calls       calls of the APIs, for the signed-in user
    live_changes    changes of tables, for open views
    texts           texts in English and Italian, times in everyday form
    identity/       signing in and out, sessions, which origins may use the screens
    frame_views/    the start page, results of a search, the gallery
    admin/          the screens for administrators
    cached_files    scripts and styles, compressed once
    screens         everything, as an application under /app

docs/applications.md explains how to write a screen. It needs the extra ``tablewright[apps]``; nothing else imports it.
"""
