"""The texts of the views of time, streams, SQL, heat and the console."""

from __future__ import annotations

from tablewright.ui.texts import Catalogue

__all__ = ["observe_texts"]

_TIME = {
    "time": ("Time", "Tempo"),
    "as_of": ("As of", "Alla data"),
    "day_back": ("-1 day", "-1 giorno"),
    "hour_back": ("-1 h", "-1 h"),
    "minute_back": ("-1 min", "-1 min"),
    "minute_on": ("+1 min", "+1 min"),
    "hour_on": ("+1 h", "+1 h"),
    "day_on": ("+1 day", "+1 giorno"),
    "latest_time": ("Now", "Adesso"),
    "where_hint": ('{name} = "...", or empty for all', '{name} = "...", o vuoto per tutti'),
    "show": ("Show", "Mostra"),
    "items_then": ("Items at this time", "Item a questo istante"),
    "nothing_then": ("There were no items.", "Non c'erano item."),
    "compared_with": ("Compared with", "Confrontato con"),
    "another_moment": ("Another time", "Un altro istante"),
    "earliest": ("The start of the recovery window", "L'inizio della finestra di ripristino"),
    "latest": ("The latest time that can be shown", "L'ultimo istante che si può mostrare"),
    "deleted_then": ("deleted by then", "eliminato per allora"),
    "changed_then": ("changed by then", "modificato per allora"),
    "changed_between": ("Changed between the two", "Modificati fra i due istanti"),
    "nothing_between": ("The items are the same at both times.", "Gli item sono gli stessi nei due istanti."),
    "more_changes": ("Further changes", "Altre modifiche"),
    "deleted_since": ("deleted since", "eliminato da allora"),
    "changed_since": ("changed since", "modificato da allora"),
    "first_of": ("The first {number}.", "I primi {number}."),
    "changed_items": ("Changed since", "Modificati da allora"),
    "nothing_changed": ("Nothing has changed since.", "Da allora non è cambiato niente."),
    "added": ("added", "aggiunto"),
    "removed": ("removed", "eliminato"),
    "modified": ("modified", "modificato"),
    "history": ("History of an item", "Storia di un item"),
    "choose_item": ("Choose an item to see its versions.", "Scegli un item per vederne le versioni."),
    "first_known": ("first known", "prima nota"),
    "restore_item": ("Restore this version", "Ripristina questa versione"),
    "restore_by_store": (
        "A {name} is more than one item ({why}): restore this version with the store",
        "Un {name} è più di un item ({why}): ripristina questa versione con lo store",
    ),
    "restore_table": ("Restore the table to this time", "Ripristina la tabella a questo istante"),
    "sql_then": ("SQL at this time", "SQL a questo istante"),
    "to_table": ("Go to the table", "Vai alla tabella"),
    "no_recovery": ("This table has no history", "Questa tabella non ha una cronologia"),
    "no_recovery_about": (
        "Turn on point-in-time recovery to keep its changes from then on.",
        "Attiva il ripristino a un istante per conservare le modifiche da allora in poi.",
    ),
    "no_past_here": ("An endpoint cannot show its history", "Un endpoint non può mostrare la sua cronologia"),
    "no_past_here_about": (
        "It can only restore a table to a time; a data folder can be read as of any time.",
        "Può solo ripristinare una tabella a un istante; una cartella dati si può leggere com'era in qualsiasi "
        "istante.",
    ),
}
_SQL = {
    "sql": ("SQL", "SQL"),
    "as_of_utc": ("As of (UTC)", "Alla data (UTC)"),
    "look_then": ("Show this time", "Mostra questo istante"),
    "now": ("now", "adesso"),
    "no_moment": ("This is not a date and time.", "Questa non è una data con ora."),
    "no_relations": ("There are no tables.", "Non ci sono tabelle."),
    "no_relations_then": (
        "No table can be read as of that time: that needs point-in-time recovery since then.",
        "Nessuna tabella si può leggere a quell'istante: serve il ripristino a un istante da allora.",
    ),
    "run": ("Run", "Esegui"),
    "stop": ("Stop", "Ferma"),
    "read_again": ("Read tables again", "Rileggi le tabelle"),
    "relations": ("Tables and entities", "Tabelle ed entità"),
    "query_it": ("Query", "Interroga"),
    "columns_when_read": (
        "Other columns are known once the table has been read.",
        "Le altre colonne si conoscono dopo la lettura della tabella.",
    ),
    "sql_about": (
        "Write a SELECT over tables and entities. Ctrl+Enter runs it. A table is read once, and kept until you read "
        "it again.",
        "Scrivi una SELECT su tabelle ed entità. Ctrl+Invio la esegue. Una tabella viene letta una volta, e resta "
        "finché non la rileggi.",
    ),
    "sql_missing": (
        "SQL needs DuckDB: pip install 'tablewright[sql]'",
        "SQL richiede DuckDB: pip install 'tablewright[sql]'",
    ),
    "scan_cost": (
        "To be scanned: {tables}: about {items} items, {units} read units, {dollars} on demand.",
        "Da leggere: {tables}: circa {items} item, {units} unità di lettura, {dollars} on demand.",
    ),
    "read_and_run": ("Scan, and run", "Leggi ed esegui"),
    "running": ("The query is running", "La query è in esecuzione"),
    "waiting": (
        "The query of another window is running; this one runs next",
        "È in esecuzione la query di un'altra finestra; questa viene eseguita dopo",
    ),
    "reading": (
        "Reading {table}: {items} of about {expected} items",
        "Lettura di {table}: {items} di circa {expected}",
    ),
    "rows.one": ("{number} row", "{number} riga"),
    "rows.many": ("{number} rows", "{number} righe"),
    "rows_cut": (
        "These are the first rows; an export has all of them.",
        "Queste sono le prime righe; un'esportazione le ha tutte.",
    ),
    "unreadable": ("{number} items unreadable as {entity}", "{number} item illeggibili come {entity}"),
    "chart": ("Chart", "Grafico"),
    "result": ("Result", "Risultato"),
    "too_large": (
        "The file is larger than 200 MB: write it with tablewright sql ... --output FILE",
        "Il file supera 200 MB: scrivilo con tablewright sql ... --output FILE",
    ),
    "exported": ("{kind} exported", "{kind} esportato"),
}
_STREAMS = {
    "streams": ("Streams", "Stream"),
    "no_stream": ("This table has no stream", "Questa tabella non ha uno stream"),
    "no_stream_about": (
        "Turn on the stream to see its changes here as they arrive.",
        "Attiva lo stream per vedere qui le modifiche mentre arrivano.",
    ),
    "live": ("live", "in diretta"),
    "ended": ("turned off", "disattivato"),
    "paused": ("paused", "in pausa"),
    "away": ("not responding, retrying", "non risponde, nuovo tentativo"),
    "pause": ("Pause", "Pausa"),
    "clear": ("Clear", "Svuota"),
    "all_entities": ("All entities", "Tutte le entità"),
    "images_missing": (
        "The stream has {kind}: it does not include the other image.",
        "Lo stream ha {kind}: non contiene l'altra immagine.",
    ),
    "no_changes_yet": (
        "No changes yet. They appear here as they arrive.",
        "Ancora nessuna modifica. Le modifiche appaiono qui mentre arrivano.",
    ),
    "before": ("Before", "Prima"),
    "after": ("After", "Dopo"),
    "consumers": ("Consumers", "Consumatori"),
    "consumer": ("Consumer", "Consumatore"),
    "no_consumers": (
        "No consumer of this stream has a checkpoint in an internal table of a design.",
        "Nessun consumatore di questo stream ha un checkpoint in una tabella interna di un design.",
    ),
    "behind": ("Behind", "In ritardo"),
    "caught_up": ("caught up", "al passo"),
    "seconds_behind": ("{seconds} s behind", "{seconds} s di ritardo"),
    "behind_unknown": ("unknown", "non noto"),
    "rebuilding": ("rebuilding", "in ricostruzione"),
    "lease": ("Run by", "Eseguito da"),
    "nobody_runs": ("no process at the moment", "nessun processo al momento"),
    "dead_letters": ("Dead letters", "Dead letter"),
    "dead_letter": ("dead letter", "dead letter"),
    "tried": ("attempts: {number}", "tentativi: {number}"),
    "images": ("The change", "La modifica"),
    "consumers_cut": (
        "The internal table is large; these are the consumers on its first pages.",
        "La tabella interna è grande; questi sono i consumatori delle sue prime pagine.",
    ),
    "replay": ("Retry", "Riprova"),
    "will_replay": (
        "{consumer} processes this change again, including its writes. If that succeeds, the dead letter is deleted.",
        "{consumer} elabora di nuovo questa modifica, comprese le sue scritture. Se riesce, la dead letter viene "
        "eliminata.",
    ),
    "replayed": ("{consumer} has handled it", "{consumer} l'ha gestita"),
    "replay_about": (
        "Only the process that runs its consumer can retry a dead letter, and no consumer runs here. The studio and "
        "Admin of this command can do it; a program of your own calls consumer.replay(letter).",
        "Solo il processo che esegue il suo consumatore può riprovare una dead letter, e qui non ne gira nessuno. "
        "Lo studio e Admin di questo comando possono farlo; un programma tuo chiama consumer.replay(letter).",
    ),
    "replay_read_only": (
        "Admin can retry dead letters; so can this studio with up --studio-write, for consumers that run in "
        "this process.",
        "Admin può riprovare le dead letter; anche questo studio, con up --studio-write, per i consumatori che "
        "girano in questo processo.",
    ),
}
_HEAT = {
    "heat": ("Hot keys and cost", "Chiavi calde e costi"),
    "no_meter": ("An endpoint does its own metering", "Un endpoint ha le proprie misure"),
    "no_meter_about": (
        "Its figures are in CloudWatch. For an engine in this process, the studio shows them here.",
        "Le sue cifre sono in CloudWatch. Per un engine in questo processo lo studio le mostra qui.",
    ),
    "not_metered": ("Nothing is metered yet", "Ancora nessuna misura"),
    "not_metered_about": (
        "Metering makes every request some 30 µs slower, so it is off until you start it.",
        "La misura rallenta ogni richiesta di circa 30 µs: è disattivata finché non la avvii.",
    ),
    "start_metering": ("Start metering", "Avvia la misura"),
    "stop_metering": ("Stop metering", "Ferma la misura"),
    "metering": ("metering", "misura attiva"),
    "metered_for": ("for {span}", "da {span}"),
    "requests": ("Requests", "Richieste"),
    "read_units": ("Read units", "Unità di lettura"),
    "write_units": ("Write units", "Unità di scrittura"),
    "bill": ("On demand", "On demand"),
    "a_month": ("{dollars} a month at this rate", "{dollars} al mese a questo ritmo"),
    "each_second": ("Units per second", "Unità al secondo"),
    "hot_keys": ("Hottest keys of the last few minutes", "Chiavi più calde degli ultimi minuti"),
    "hot_keys_about": (
        "A partition serves 3,000 read units and 1,000 write units per second. Counted by a space-saving sketch of 500 "
        "keys "
        "for each table and index.",
        "Una partizione serve 3.000 unità di lettura e 1.000 di scrittura al secondo. Contate con uno sketch "
        "space-saving di 500 chiavi per tabella e indice.",
    ),
    "key": ("Partition key", "Chiave di partizione"),
    "place": ("Table or index", "Tabella o indice"),
    "of_partition": ("Of a partition", "Di una partizione"),
    "partition_share": ("{percent} % of a partition", "{percent} % di una partizione"),
    "pattern": ("Pattern", "Pattern"),
    "part": ("Part", "Quota"),
    "bill_by_pattern": ("Bill by pattern", "Conto per pattern"),
    "provisioning": ("On demand or provisioned", "On demand o provisioned"),
    "provisioning_about": (
        "A month at this rate on demand, and a month with the units of the busiest second provisioned.",
        "Un mese a questo ritmo on demand, e un mese con le unità del secondo più intenso.",
    ),
    "busiest": ("Busiest second, read / write", "Secondo più intenso, lett. / scritt."),
    "provisioned_for": ("Provisioned", "Provisioned"),
    "cheaper": ("Cheaper", "Conviene"),
    "provision": ("provisioned", "provisioned"),
}
_CONSOLE = {
    "console": ("Console", "Console"),
    "partiql": ("PartiQL statement", "Istruzione PartiQL"),
    "send": ("Send", "Invia"),
    "console_about": ("Ctrl+Enter sends it.", "Ctrl+Invio la invia."),
    "request": ("Request", "Richiesta"),
    "no_response": ("The response is shown here.", "La risposta appare qui."),
    "no_json": ("The request is not a JSON object: {reason}", "La richiesta non è un oggetto JSON: {reason}"),
    "counted": ("{count} items of {scanned} scanned", "{count} item su {scanned} letti"),
    "units": ("{units} units", "{units} unità"),
    "response_cut": ("The response is cut here; it is longer.", "La risposta è troncata qui; è più lunga."),
}

observe_texts = Catalogue("observe", {**_TIME, **_SQL, **_STREAMS, **_HEAT, **_CONSOLE})
