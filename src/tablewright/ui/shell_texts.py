"""The words of the frame: sign-in, menus, states, keys."""

from __future__ import annotations

from tablewright.ui.texts import Catalogue

__all__ = ["texts"]

texts = Catalogue(
    "shell",
    {
        "product": ("Tablewright", "Tablewright"),
        "applications": ("Applications", "Applicazioni"),
        "start": ("Start", "Inizio"),
        "gallery": ("Gallery", "Galleria"),
        "skip": ("Skip to content", "Vai al contenuto"),
        "search": ("Search", "Cerca"),
        "search_title": ("Search results", "Risultati della ricerca"),
        "search_none": ("Nothing found for “{query}”", "Nessun risultato per “{query}”"),
        "search_hint": ("Try another word, or fewer of them.", "Prova con un'altra parola, o con meno parole."),
        "search_behind": (
            "{name}: the search is {seconds} s behind; something may be missing.",
            "{name}: la ricerca è in ritardo di {seconds} s; potrebbe mancare qualcosa.",
        ),
        "search_building": (
            "{name}: the search index is being built; something may be missing.",
            "{name}: l'indice della ricerca è in costruzione; potrebbe mancare qualcosa.",
        ),
        "kind_ticket": ("ticket", "ticket"),
        "kind_task": ("task", "attività"),
        "kind_comment": ("comment", "commento"),
        "kind_message": ("message", "messaggio"),
        "kind_program": ("program", "programma"),
        "kind_person": ("person", "persona"),
        "live": ("live", "in diretta"),
        "not_live": ("not live", "non in diretta"),
        "you": ("Your account", "Il tuo account"),
        "theme": ("Theme", "Tema"),
        "light": ("Light", "Chiaro"),
        "dark": ("Dark", "Scuro"),
        "auto": ("System", "Sistema"),
        "language": ("Language", "Lingua"),
        "apis": ("API pages", "Pagine delle API"),
        "help": ("Keyboard", "Tastiera"),
        "sign_out": ("Sign out", "Esci"),
        "sign_in": ("Sign in", "Accedi"),
        "sign_in_about": (
            "Sign in with your organisation's account.",
            "Accedi con l'account della tua organizzazione.",
        ),
        "sign_in_with": ("Continue to sign-in", "Continua per accedere"),
        "sign_in_as": ("Who do you want to be?", "Chi vuoi essere?"),
        "sign_in_demo": (
            "For development on this machine: one click signs you in as one of these people.",
            "Per lo sviluppo su questa macchina: con un clic entri come una di queste persone.",
        ),
        "sign_in_closed": (
            "People sign in here on the machine that runs the systems, at a loopback address. For others, configure an "
            "issuer (TABLEWRIGHT_ISSUER).",
            "Qui si accede dalla macchina su cui girano i sistemi, a un indirizzo di loopback. Per gli altri, "
            "configura un emittente (TABLEWRIGHT_ISSUER).",
        ),
        "sign_in_no_url": (
            "Nobody can sign in yet: the issuer has to send people back here. Set TABLEWRIGHT_PUBLIC_URL.",
            "Nessuno può ancora accedere: l'emittente deve rimandare le persone qui. Imposta TABLEWRIGHT_PUBLIC_URL.",
        ),
        "sign_out_failed": (
            "You are still signed in: the database cannot be reached. Try again in a moment.",
            "Sei ancora connesso: il database non è raggiungibile. Riprova tra un momento.",
        ),
        "sign_in_failed": ("That did not work", "Non ha funzionato"),
        "no_applications": (
            "No application is open to you",
            "Nessuna applicazione è aperta per te",
        ),
        "no_applications_about": (
            "You are signed in, but have no role in any of the systems. Ask an administrator for one.",
            "Hai effettuato l'accesso, ma non hai ruoli nei sistemi. Chiedine uno a un amministratore.",
        ),
        "back": ("Back to the list", "Torna all'elenco"),
        "close": ("Close", "Chiudi"),
        "cancel": ("Cancel", "Annulla"),
        "save": ("Save", "Salva"),
        "undo": ("Undo", "Annulla"),
        "again": ("Try again", "Riprova"),
        "more": ("Show more", "Mostra altri"),
        "that_is_all.one": ("That is the only one", "È l'unico"),
        "that_is_all.many": ("That is all {number}", "Sono tutti, {number}"),
        "not_found": ("There is nothing here", "Qui non c'è niente"),
        "not_found_about": (
            "The address may be old, or what it named is gone.",
            "L'indirizzo forse è vecchio, o ciò che indicava non c'è più.",
        ),
        "forbidden": ("This is not open to you", "Non hai accesso a questa pagina"),
        "forbidden_about": (
            "Your roles do not include it. Ask an administrator.",
            "I tuoi ruoli non lo comprendono. Chiedi a un amministratore.",
        ),
        "not_shown": ("This could not be shown", "Non è stato possibile mostrarlo"),
        "to_start": ("To the start page", "Alla pagina iniziale"),
        "changed_meanwhile": (
            "Somebody changed it meanwhile. What you see now is the latest.",
            "Qualcuno l'ha modificato nel frattempo. Ora vedi la versione più recente.",
        ),
        "too_fast": ("Too many requests; wait a moment.", "Troppe richieste; attendi un momento."),
        "our_fault": (
            "Something went wrong here. It was logged; try again.",
            "Qualcosa è andato storto qui. È stato registrato; riprova.",
        ),
        "required": ("This is needed", "È necessario"),
        "too_large": ("A file may have {size} KB at most", "Un file può avere al massimo {size} KB"),
        "now": ("now", "ora"),
        "today": ("today", "oggi"),
        "tomorrow": ("tomorrow", "domani"),
        "yesterday": ("yesterday", "ieri"),
        "days": ("d", "g"),
        "hello": ("Hello, {name}", "Ciao, {name}"),
        "waiting": ("What waits for you", "Cosa ti aspetta"),
        "nothing_waits": ("Nothing waits for you here", "Niente ti aspetta qui"),
        "open": ("Open", "Apri"),
        "key_search": ("Search", "Cerca"),
        "key_next": ("Next in the list", "Prossimo nell'elenco"),
        "key_previous": ("Previous in the list", "Precedente nell'elenco"),
        "key_open": ("Open", "Apri"),
        "key_back": ("Back, or close", "Indietro, o chiudi"),
        "key_submit": ("Send what you wrote", "Invia ciò che hai scritto"),
        "key_new": ("Something new", "Qualcosa di nuovo"),
        "key_help": ("This list", "Questo elenco"),
    },
)
