"""The texts of the views of designs."""

from __future__ import annotations

from tablewright.ui.texts import Catalogue

__all__ = ["texts"]

texts = Catalogue(
    "designs",
    {
        "patterns": ("Patterns", "Pattern"),
        "design": ("Design", "Design"),
        "choose_pattern": ("Choose a pattern", "Scegli un pattern"),
        "choose_pattern_about": (
            "Each access pattern and each write of the design can be run here, exactly as a program runs it.",
            "Ogni pattern di accesso e ogni scrittura del design si eseguono qui, come li esegue un programma.",
        ),
        "write": ("Write", "Scrittura"),
        "checks": (
            "A program also has conditions on {names}; here they are not checked.",
            "Un programma pone anche condizioni su {names}; qui non vengono verificate.",
        ),
        "no_key_pattern": (
            "{name} has no access pattern by its primary key: declare a Get to choose an item here.",
            "{name} non ha un pattern di accesso per chiave primaria: dichiara un Get per scegliere qui un item.",
        ),
        "one_of_several": (
            "A program writes up to {number} of these; here only one.",
            "Un programma ne scrive fino a {number}; qui solo uno.",
        ),
        "add": ("added to it", "aggiunto"),
        "append": ("appended to it", "accodato"),
        "read_first": ("Read units before it", "Unità di lettura prima"),
        "planned": ("{units} planned", "{units}: previsione"),
        "optional": ("optional", "facoltativo"),
        "several": ("one or several", "uno o più valori"),
        "type_json": ("Edit as JSON", "Modifica come JSON"),
        "type_members": ("Edit its members", "Modifica i suoi membri"),
        "as_json": ("{name} as JSON", "{name} come JSON"),
        "give": ("Set {name}", "Imposta {name}"),
        "leave_out": ("Omit {name}", "Ometti {name}"),
        "name_of": ("Name of {name}", "Nome di {name}"),
        "plan": ("Plan", "Piano"),
        "units": ("Units", "Unità"),
        "units_against": ("{units} of {planned} planned", "{units} di {planned} previste"),
        "took": ("Took", "Durata"),
        "as_python": ("As Python", "In Python"),
        "requests.one": ("{number} request", "{number} richiesta"),
        "requests.many": ("{number} requests", "{number} richieste"),
        "history": ("Before this", "Prima di questo"),
        "findings": ("Findings", "Rilievi"),
        "document": ("Document", "Documento"),
        "diff": ("Changes", "Modifiche"),
        "files": ("Files", "File"),
        "no_findings": ("No lint findings", "Nessun problema rilevato da lint"),
        "no_findings_about": (
            "No rule of lint found a problem in this design.",
            "Nessuna regola di lint ha trovato problemi in questo design.",
        ),
        "accepted": ("Accepted", "Accettati"),
        "diff_about": (
            "Compare this design with a snapshot of an earlier version: what changed, and how to migrate.",
            "Confronta questo design con uno snapshot di una versione precedente: che cosa è cambiato, e come migrare.",
        ),
        "compare": ("Compare with a snapshot", "Confronta con uno snapshot"),
        "take_snapshot": ("Take a snapshot", "Crea uno snapshot"),
        "the_file": ("the file", "il file"),
        "not_in_snapshot": ("The snapshot has no design {name}", "Lo snapshot non ha il design {name}"),
        "no_changes": ("Nothing has changed", "Non è cambiato nulla"),
        "files_about": (
            "Made from the model, as tablewright infra, iam, docs and workbench make them.",
            "Prodotti dal modello, come fanno tablewright infra, iam, docs e workbench.",
        ),
        "policies": ("IAM policies", "Policy IAM"),
        "policies_about": (
            "The minimum that each needs. Replace {account} with your account, or use the template.",
            "Il minimo che serve a ciascuno. Sostituisci {account} con il tuo account, o usa il template.",
        ),
        "policies_of_calls": ("For each pattern and each write", "Per ogni pattern e ogni scrittura"),
        "download": ("Download {name}", "Scarica {name}"),
    },
)
