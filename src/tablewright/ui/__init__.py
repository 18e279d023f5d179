"""The shell of the applications and of the studio, with NiceGUI: sign-in, frame, parts of screens, live changes.

    applications    Application, its views, and who sees them
    screen_page     Page: a browser tab, as views know it
    components, data_list, forms, feedback, frame, icons    what views are drawn with; static/ has the design language
    markup          parts of screens as HTML, one element each
    api_calls       calls of the APIs, for whoever signed in
    live_changes    changes of tables, for the views that are open
    texts           words in English and Italian, times as people say them
    identity/       signing in and out, sessions, which pages may talk to the screens
    frame_views/    the start page, results of a search, the gallery
    admin/          the screens of those who run the systems
    kept_files      scripts and styles, compressed once
    screens         all of it, as an application under /app

docs/applications.md says how a screen is written. It needs the extra ``tablewright[apps]``; nothing else imports this.
"""
