"""The words of the studio. What is DynamoDB's own (table, item, index, stream, TTL, names of operations) stays so."""

from __future__ import annotations

from tablewright.ui.texts import Catalogue

__all__ = ["texts"]

_FRAME = {
    "title": ("Studio", "Studio"),
    "views": ("Views", "Viste"),
    "tables": ("Tables", "Tabelle"),
    "go_to": ("Go to item, pattern, table", "Vai a item, pattern, tabella"),
    "read_only": ("read-only", "sola lettura"),
    "read_only_about": (
        "The studio is read-only; start it with --write to change something.",
        "Lo studio è in sola lettura; avvialo con --write per modificare qualcosa.",
    ),
    "writable": ("may write", "può scrivere"),
    "settings": ("Settings", "Impostazioni"),
    "copy": ("Copy", "Copia"),
    "copied": ("Copied", "Copiato"),
    "token": ("Token", "Token"),
    "token_about": (
        "Open the address that was printed where the studio was started, or paste its token here.",
        "Apri l'indirizzo stampato dove lo studio è stato avviato, o incolla qui il suo token.",
    ),
    "token_used": (
        "This token is wrong, or was used already. The terminal has another one.",
        "Questo token è sbagliato, o è già stato usato. Nel terminale ce n'è un altro.",
    ),
    "will_send": ("This {operation} request will be sent:", "Verrà inviata questa richiesta {operation}:"),
    "sent": ("{operation} done", "{operation} eseguita"),
    "not_allowed": ("Not everything may be asked here: {what}", "Qui non tutto può essere chiesto: {what}"),
    "no_design": ("No design", "Nessun design"),
    "no_design_about": (
        "Start the studio with --design and the module of your model to see it here.",
        "Avvia lo studio con --design e il modulo del tuo modello per vederlo qui.",
    ),
}
_WRITES = {
    "writes": ("Writes of this studio", "Scritture di questo studio"),
    "writes_about": (
        "What was written since the studio was started. No values are logged.",
        "Ciò che è stato scritto da quando lo studio è stato avviato. I valori non vengono registrati.",
    ),
    "no_writes": ("Nothing was written", "Non è stato scritto nulla"),
    "when": ("When", "Quando"),
    "who": ("Who", "Chi"),
    "operation": ("Operation", "Operazione"),
    "what": ("What", "Che cosa"),
    "outcome": ("Outcome", "Esito"),
    "done": ("done", "eseguita"),
}
_TABLES = {
    "table": ("Table", "Tabella"),
    "the_table": ("Table", "Tabella"),
    "items": ("Items", "Item"),
    "size": ("Size", "Dimensione"),
    "keys": ("Keys", "Chiavi"),
    "entities": ("Entities", "Entità"),
    "indexes": ("Indexes", "Indici"),
    "no_tables": ("There are no tables yet", "Non ci sono ancora tabelle"),
    "no_tables_about": (
        "A program that uses this database creates them, or you do, with --write.",
        "Le crea un programma che usa questo database, o tu, con --write.",
    ),
    "more_tables": ("and {number} more, at the side", "e altre {number}, di lato"),
    "counts_about": (
        "Items and sizes are as DescribeTable has them; Amazon DynamoDB counts them every six hours.",
        "Item e dimensioni sono quelli di DescribeTable; Amazon DynamoDB li conta ogni sei ore.",
    ),
    "whole": ("What lies where, and what reads it", "Che cosa sta dove, e che cosa lo legge"),
    "partition_key": ("Partition key", "Chiave di partizione"),
    "sort_key": ("Sort key", "Chiave di ordinamento"),
    "sort_hint": ("Leave it empty for a table without one.", "Lascialo vuoto per una tabella che non ne ha."),
    "type": ("Type", "Tipo"),
    "name": ("Name", "Nome"),
    "billing": ("Billing", "Fatturazione"),
    "on_demand": ("on demand", "on demand"),
    "provisioned": ("{reads} read, {writes} write units", "{reads} unità di lettura, {writes} di scrittura"),
    "ttl": ("Time to live", "Time to live"),
    "stream": ("Stream", "Stream"),
    "recovery": ("Point-in-time recovery", "Ripristino a un istante"),
    "protection": ("Deletion protection", "Protezione dalla cancellazione"),
    "on": ("on", "attivo"),
    "off": ("off", "non attivo"),
    "backups": ("Backups", "Backup"),
    "backup": ("Backup", "Backup"),
    "status": ("Status", "Stato"),
    "no_backups": ("There are none.", "Non ce ne sono."),
    "new_table": ("New table", "Nuova tabella"),
    "from_design": ("As the design has it", "Come la dichiara il design"),
    "create": ("Create", "Crea"),
    "change": ("Change", "Modifica"),
    "toggle_recovery_on": ("Turn recovery on", "Attiva il ripristino"),
    "toggle_recovery_off": ("Turn recovery off", "Disattiva il ripristino"),
    "toggle_stream_on": ("Turn the stream on", "Attiva lo stream"),
    "toggle_stream_off": ("Turn the stream off", "Disattiva lo stream"),
    "toggle_protection": ("Change deletion protection", "Cambia la protezione dalla cancellazione"),
    "change_ttl": ("Time to live", "Time to live"),
    "ttl_attribute": ("Attribute with the time, in seconds", "Attributo con l'istante, in secondi"),
    "turn_on": ("Turn on", "Attiva"),
    "turn_off": ("Turn off", "Disattiva"),
    "back_up": ("Back up", "Crea un backup"),
    "restore": ("Restore", "Ripristina"),
    "restore_from": ("From", "Da"),
    "restore_to": ("As the table", "Come tabella"),
    "latest": ("Point-in-time recovery, latest time", "Ripristino a un istante, il più recente"),
    "delete_table": ("Delete table", "Elimina tabella"),
    "delete_table_ask": ("Delete {table} and all of its items?", "Eliminare {table} e tutti i suoi item?"),
    "deleted": ("{table} is deleted", "{table} è eliminata"),
}

texts = Catalogue("studio", {**_FRAME, **_WRITES, **_TABLES})
