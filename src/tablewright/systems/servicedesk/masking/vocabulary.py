"""The words of seven languages by which secrets are found, in lower case and without accents (``folded_text``).

To add a word, add it to its table: nothing else depends on the language.

    CUES          what a secret is called, and how much the name alone says: "password", "codigo de verificacion"
    COPULAS       what links a name to its secret: "is", "lautet"      CHANGES  ... "to", after a verb of change
    LEADS         what stands before a secret that is typed or shown: "entered", "c'est"
    ABOUT         what is said of passwords all the time, and is none: "expired", "falsch"; and words of grammar
    THINGS        what makes another thing of a cue: "password manager"
    OPEN_CODES    codes that are no secrets: "error code"              OTHERS   what other numbers are of: "order"
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = [
    "ABOUT",
    "ABOUT_ENDINGS",
    "ARTICLES",
    "BEFORE_NUMBERS",
    "CHANGES",
    "COPULAS",
    "CUES",
    "CUE_BEGINNINGS",
    "DIGITS",
    "FILLERS",
    "LEADS",
    "LONGEST_CUE",
    "NEGATIONS",
    "NEXT_ONE",
    "NOUNS",
    "NOW",
    "OPEN_CODES",
    "OTHERS",
    "PASSWORD",
    "PORTS",
    "PREPOSITIONS",
    "PRONOUNS",
    "PUTS",
    "SPELLED",
    "THINGS",
    "Cue",
]


class Cue(NamedTuple):
    """What a cue announces (``kind``), and what its secrets look like (``family``)."""

    kind: str
    family: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _names(cue: Cue, names: str) -> dict[tuple[str, ...], Cue]:
    return {tuple(name.split()): cue for line in names.strip().splitlines() for name in line.split(",") if name.strip()}


PASSWORD: Final = Cue("password", "password")
_PHRASE = Cue("password", "phrase")
_CREDENTIALS = Cue("password", "credentials")
_PIN = Cue("password", "pin")
_KEY = Cue("password", "key")
_CODE = Cue("mfa_code", "code")
_ONE_TIME = Cue("mfa_code", "one-time")
_BACKUP = Cue("mfa_code", "backup")
_MESSAGE = Cue("mfa_code", "message")
_SERIAL = Cue("device_serial", "serial")
_STICKER = Cue("device_serial", "sticker")

CUES: Final = {
    **_names(
        PASSWORD,
        """
        password, passwords, pass word, pass - word, passwd, pwd, pswd, psw, pw, p / w, pass
        secret word, login password, parola chiave, parola segreta, codice di accesso, contrasena, contrasenas
        clave, claves
        clave de acceso, palabra clave, mot de passe, mots de passe, mdp, motdepasse
        passwort, passworter, kennwort, kennworter, losungswort, zugangspasswort, wlan passwort, passwortes, kennworts
        senha, senhas, palavra passe, palavra - passe, palavras - passe, palavra chave
        haslo, hasla, haslem, hasel, haslu
        """,
    ),
    **_names(
        _PHRASE,
        """
        passphrase, passphrases, pass phrase, pass - phrase, secret phrase, seed phrase, recovery phrase
        parola d ' ordine, parole d ' ordine, frase segreta, frase di accesso, frase d ' accesso, frase password
        frase de contrasena, frase de paso, frase secreta, frase de acceso, frase clave, frase de seguridad
        phrase secrete, phrase de passe, phrase de securite, passphrase, passwortsatz, kennwortsatz, geheimsatz
        merksatz
        frase secreta, frase - passe, frase passe, frase - senha, frase de acesso, frase senha
        fraza, fraza haslowa, frazy, haslo frazowe, zdanie hasla
        """,
    ),
    **_names(
        _CREDENTIALS,
        """
        credentials, credential, creds, login details, logon details, login data, credenziali, dati di accesso
        credenciales, datos de acceso, identifiants, zugangsdaten, anmeldedaten, logindaten
        credenciais, dados de acesso, dane logowania, dane do logowania
        """,
    ),
    **_names(
        _PIN,
        """
        pin, pins, pin code, pin - code, pin number, pin nummer, pin - nummer, codice pin, codigo pin, code pin
        kod pin, puk
        pin - u, pin - em, pinu, pinem, passcode, passcodes, pass code, pass - code, codice puk, code puk, voicemail pin
        geheimzahl, geheimnummer, numero segreto, numero secreto, numer pin
        unlock code, alarm code, door code, gate code, entry code, keypad code, codice di sblocco, codice allarme
        codigo de desbloqueo, code de deverrouillage, code d ' entree, entsperrcode, codigo de desbloqueio
        kod odblokowania
        """,
    ),
    **_names(
        _KEY,
        """
        wifi key, wi - fi key, network key, wpa key, wpa2 key, bitlocker key, recovery key, encryption key, wireless key
        security key, api key, secret key, access key, bitlocker recovery key
        chiave di rete, chiave wifi, chiave wi - fi, chiave di ripristino, chiave bitlocker, chiave wpa
        clave de red, clave wifi, clave del wifi, cle wifi, cle wi - fi, cle reseau, cle de securite, cle wpa
        cle bitlocker
        wlan - schlussel, wlan schlussel, wlanschlussel, netzwerkschlussel, wiederherstellungsschlussel
        bitlocker schlussel
        bitlocker - schlussel, sicherheitsschlussel
        chave de rede, chave do wifi, chave wifi, chave de recuperacao
        klucz sieciowy, klucz wifi, klucz do wifi, klucz odzyskiwania, klucz bitlocker, klucz zabezpieczen
        """,
    ),
    **_names(_CODE, "code, codes, codice, codici, codigo, codigos, kod, kody, kodu, kodem, token, tokens, tan, kode"),
    **_names(
        _ONE_TIME,
        """
        mfa, mfa code, 2fa, 2fa code, otp, otp code, totp, two factor, two - factor, two factor code, two - factor code
        one time code, one - time code, onetime code, one time password, one - time password, one time pin
        one - time pin
        one time passcode, one - time passcode, one time pass, one - time pass
        verification code, verification, confirmation code, authentication code, authenticator, authenticator code
        authentication, security code, sms code, text code, login code, log in code, access code, sign in code
        sign - in code, six digit code, six - digit code, 6 digit code, 6 - digit code, six digits, 6 digits
        sei cifre, seis digitos, six chiffres, sechs ziffern, szesc cyfr, codice otp, codice usa e getta
        codice monouso, codice temporaneo, codice di verifica, codice di sicurezza, codice di conferma, codice sms
        codice di autenticazione, codigo otp, codigo de verificacion, codigo de seguridad, codigo de confirmacion
        codigo de acceso, codigo de un solo uso, codigo temporal, codigo sms, clave de un solo uso
        code otp, code de verification, code de securite, code de confirmation, code sms, code a usage unique
        code d ' authentification, code d ' acces, code de validation, code de connexion, code temporaire
        bestatigungscode, sicherheitscode, einmalcode, einmalpasswort, einmalkennwort, verifizierungscode, zugangscode
        prufcode, freischaltcode, anmeldecode, sms - code, smscode, sms - tan, mobiltan, authentifizierungscode
        einmal - code, mfa - code, 2fa - code, otp - code, zwei - faktor - code, zwei - faktor, aktivierungscode
        codigo de verificacao, codigo de seguranca, codigo de confirmacao, codigo de acesso, codigo de uso unico
        codigo de autenticacao, codigo temporario
        kod otp, kod weryfikacyjny, kod bezpieczenstwa, kod potwierdzajacy, kod jednorazowy, kod dostepu, kod sms
        kod autoryzacyjny, kod uwierzytelniajacy, kodu weryfikacyjnego, haslo jednorazowe, kod z sms - a
        authenticator app, authenticator - app, authentication app, app authenticator, app di autenticazione
        app de autenticacion, aplicacion de autenticacion, app autenticadora, app autenticador
        aplicacion autenticadora, appli d ' authentification, application d ' authentification
        authentifizierungs - app, app de autenticacao, aplicativo autenticador, aplicacao de autenticacao
        aplikacja uwierzytelniajaca, aplikacji uwierzytelniajacej, aplikacje uwierzytelniajaca
        """,
    ),
    **_names(
        _BACKUP,
        """
        backup code, backup codes, recovery code, recovery codes, rescue code, rescue codes, scratch code, scratch codes
        reset code, emergency code, codice di recupero, codici di recupero, codice di backup, codici di backup
        codice di ripristino, codice di emergenza, codigo de recuperacion, codigos de recuperacion, codigo de respaldo
        codigo de emergencia, code de secours, codes de secours, code de recuperation, codes de recuperation
        wiederherstellungscode, wiederherstellungscodes, backup - code, backup - codes, backupcode, notfallcode
        ersatzcode
        codigo de recuperacao, codigos de recuperacao, kod odzyskiwania, kody odzyskiwania, kod zapasowy, kody zapasowe
        kod awaryjny
        """,
    ),
    **_names(_MESSAGE, "sms, text, texted, sms - a, smsa, smsem, sms - em, sms - em, google"),
    **_names(
        _SERIAL,
        """
        serial, serials, serial number, serial numbers, serial no, serial nr, serial num, serial code, serial id
        s / n, sn
        serial #, service tag, service tags, service code, asset tag, asset tags, asset number, asset no, asset label
        asset id, imei, imei number, imei no, meid, udid, device id, device ids, device identifier, device serial
        device number, hardware id, tag, inventory number, inventory tag
        numero di serie, numeri di serie, n di serie, nr di serie, no di serie, seriale, numero seriale, matricola
        num di serie
        numero di matricola, tag di servizio, numero di inventario, codice dispositivo, id dispositivo
        numero de serie, numeros de serie, n de serie, no de serie, nro de serie, num de serie, serie, n ° de serie
        codigo de servicio, numero de inventario, id del dispositivo, etiqueta de servicio, etiqueta de servico
        numeros de serie, numero d ' inventaire, id de l ' appareil, identifiant de l ' appareil
        seriennummer, seriennummern, seriennr, serien - nr, serien nr, serien - nummer, geratenummer, gerate - id
        inventarnummer, inventarnr, fabriknummer, fabrikationsnummer, service - tag, gerate - nr
        numero de patrimonio, numero do patrimonio, patrimonio, id do dispositivo
        numer seryjny, nr seryjny, numeru seryjnego, numery seryjne, numerem seryjnym, numer fabryczny
        numer inwentarzowy
        nr inwentarzowy, nr fabryczny
        """,
    ),
    **_names(
        _STICKER,
        """
        sticker, stickers, label, labels, barcode sticker, nameplate, type plate, engraved, engraving
        etichetta, etichette, adesivo, adesiva, targhetta, etichettina, pegatina, etiqueta, placa, adhesivo, calcomania
        etiquette, autocollant, plaque, plaquette, vignette, aufkleber, etikett, typenschild, schild, sticker, plakette
        autocolante, etiqueta, adesivo, plaqueta, chapa, naklejka, naklejce, naklejki, etykieta, etykiecie, etykiety
        tabliczka, tabliczce, tabliczce znamionowej, nalepka, nalepce
        """,
    ),
}
CUE_BEGINNINGS: Final = frozenset(words[0] for words in CUES)
LONGEST_CUE: Final = max(map(len, CUES))

COPULAS: Final = _words(
    "is was are were be been being reads equals became becomes è era sarebbe sara diventata diventato sono es era "
    "fue sera "
    "seria son est etait sont serait ist war lautet lautete heisst hiess ware sind waere foi seria ficou fica to brzmi "
    "brzmialo jest bylo byla byl stanowi s"
)
# Between a copula and a secret, however it looks.
NOW: Final = _words(
    "now just currently actually simply ora adesso attualmente ahora actualmente maintenant desormais actuellement "
    "jetzt "
    "nun aktuell derzeit agora atualmente teraz obecnie aktualnie bylo basically set changed reset updated er um uh "
    "hmm "
    "erm ehm also le o el il"
)
# Between a copula and a secret that looks like one.
FILLERS: Final = _words(
    "not no longer still always probably maybe really something like the same as my old usual one a simple that i "
    "think "
    "credo forse ancora sempre tipo non la mia lo stesso creo quizas todavia siempre como mi misma je crois toujours "
    "encore comme mon peut etre pas noch immer wohl vielleicht glaube ich mein so wie nicht acho ainda sempre talvez a "
    "minha nao chyba nadal zawsze moje nie wlasnie it this ne qualcosa algo quelque chose etwas alguma coisa should "
    "would "
    "will be have been supposed"
)
CHANGES: Final = _words("to in a en auf para na come con com mit zu as of into por sobre from von dal")
LEADS: Final = _words(
    "use used using uses try tried trying type typed typing enter entered entering put puts input punched punch key "
    "keyed "
    "say says said saying show shows showed showing shown read reads given gave give get gets got received sent "
    "sends texted with like spelled namely called wrote written dire decir znaczy dizer "
    "uso usato usando provo provato metto messo inserisco inserito inserendo digito digitato scrivo scritto con "
    "mostra dice "
    "mostrato ricevuto arrivato dato cioe ovvero mando mandato c'e c'è è ho "
    "usado usando uso pruebo probado probe pongo puse puesto pone escribo escribi escrito meto meti metido introduzco "
    "introduje tecleo teclee muestra sale dice recibi recibido llego llegado mando mandaron dado osea "
    "utilise utilisais utilisant essaye essaie tape saisis saisi entre mets mis ecris ecrit affiche montre dit recu "
    "avec "
    "donne soit rentre "
    "benutze benutzt nehme nutze verwende probiere probiert tippe getippt gebe eingebe steht zeigt sagt bekommen "
    "erhalten "
    "uberall namlich mit habe schreibe "
    "coloquei coloco ponho pus digitei digito escrevi escrevo usei tentei insiro inseri mostra diz aparece recebi "
    "chegou "
    "mandou mandaram deram seja está "
    "uzywam uzylem uzylam wpisuje wpisalem wpisalam wpisac wpisujac probuje probowalem podaje podalem podalam pokazuje "
    "pisze napisane dostalem dostalam otrzymalem otrzymalam przyszlo wyslal czyli jest"
)
NEGATIONS: Final = _words(
    "not no never doesn don didn isn wasn won can't cannot cant fails failed expired non nicht kein keine ne pas "
    "nie nao "
    "nem jamais nunca mai works work working does did funziona funciona marche geht dziala fonctionne"
)
ABOUT: Final = _words(
    # English
    "a about accepted according account again ago all already also always an and another any anybody anymore anyone "
    "anything apparently as asked at available back bad be because been before being below blank blocked both "
    "broken but by "
    "cached can cannot case causing changed completely complex compromised correct correctly could currently default "
    "definitely different disabled do does done down due during each easy either empty encrypted enough entirely "
    "even ever "
    "every everyone everywhere exactly except expired expires expiring few fine for forgotten from full getting "
    "give given "
    "go going gone good greyed had happens hard has have having he her here hers hidden him his how i if illegible in "
    "inactive incorrect indeed insecure instead instructions into invalid irrelevant it its itself just known last "
    "later "
    "least less like likely linked locked long longer look lost made mandatory many may maybe me mine missing mixed "
    "more most "
    "much must my necessary needed needs neither never new next no nobody none nor not nothing now nowhere obvious "
    "of off ok "
    "okay old older on once one only optional or other others our ours out outdated over perhaps please possible "
    "private "
    "probably protected public quite rather ready really refused rejected required reset right safe same saved "
    "scheduled "
    "secret secure sensitive set shared she short shorter should shown similar simple since so some somehow someone "
    "something "
    "sometimes somewhere soon still stored strong stuck such supposed sure synced temporary than thank thanks that "
    "the their "
    "theirs them then there these they this those though through till to today together tomorrow too true twice unable "
    "unchanged under unknown unless unreadable until up us useless user using usually valid very via visible wanted "
    "was we "
    "weak well were what whatever when whenever where whereas whether which while who whoever whom whose why will "
    "with within "
    "without won working worn would wrong yesterday yet you your yours zero obsolete illegal rubbish garbage nonsense "
    "wrongly partly scratched torn covered somebody identical access begin connect continue enter expire fix gain "
    "get keep "
    "let log login make match meet open regain restore see sign start stop test unlock use view work colleagues "
    "support "
    "helpdesk manager management policy team department anyway besides plus http https www problem problems issue "
    "issues error "
    "users customers number numbers characters character digits letters attempt attempts times time day days week "
    "month "
    "windows outlook "
    "inaccurate incomplete unclear inexact outdated "
    # Italian
    "il lo la i gli le un uno una di da dal dalla dai dagli del della dei delle dello al alla ai alle allo nel "
    "nella nei nelle sul sulla su per "
    "con tra fra e ed o ma anche non no si sì che chi cui come dove quando perche se gia ancora sempre mai piu meno "
    "molto "
    "troppo poco stata stato stati scaduta scaduto errata errato sbagliata sbagliato corretta corretto giusta "
    "giusto valida "
    "valido nuova nuovo vecchia vecchio stessa stesso lunga corta debole forte bloccata bloccato persa perso salvata "
    "illeggibile rotta rovinata diversa diverso uguale quella quello questa questo quale mia mio mie miei tua suo "
    "sua nostra "
    "sotto sopra dietro scritta scritto fino ieri oggi domani poi pero qui li tutto tutti nulla niente qualcosa "
    "inutile "
    "sicura segreta obbligatoria necessaria vuota sconosciuta visibile nascosta grazie "
    "inserita inserito fornita fornito definita definito smarrita smarrito esaurita preferita garantita riferita "
    "fallita finita gestita sparita stabilita trasferita proibita impedita consentita sostituita restituita unita "
    "incompleta imprecisa "
    # Spanish
    "el los las unos unas de del al en para por sin sobre entre y pero tambien no que quien como donde cuando "
    "porque ya "
    "todavia siempre nunca mas menos muy demasiado poco caducada vencida incorrecta incorrecto correcta correcto "
    "valida "
    "invalida nueva vieja misma mismo larga corta debil fuerte bloqueada perdida guardada ilegible rota distinta "
    "igual esa "
    "ese esta este cual mi mis tu su sus nuestra abajo arriba hasta ayer hoy manana luego aqui ahi todo todos nada "
    "algo inutil "
    "segura secreta obligatoria necesaria vacia desconocida visible oculta gracias otra otro cualquiera "
    "incompleta inexacta erronea "
    # French
    "le les des du au aux dans pour par sans sur sous avec et ou mais aussi ne pas plus que qui quoi dont quand "
    "parce deja "
    "encore toujours jamais moins tres trop peu expire incorrect correct correcte faux bon bonne mauvais valide "
    "invalide "
    "valable nouveau nouvelle ancien meme long court faible fort bloque perdu enregistre illisible casse different "
    "identique "
    "celui celle ce cet cette ces quel mon ma mes ton ta son sa ses notre votre dessous dessus ici jusqu jusque hier "
    "aujourd demain puis tout tous rien merci oublie refuse rejete demande obligatoire necessaire vide inconnu "
    "visible cache "
    "inexact inexacte incomplet inconnue "
    "autre je tu il elle on nous vous ils elles y en c n d l j s m t qu "
    # German
    "der die das den dem des ein eine einen einem einer eines und oder aber auch nicht kein keine nie immer schon "
    "noch mehr "
    "weniger sehr zu kurz lang falsch richtig korrekt ungultig gultig abgelaufen neu alt gleich gleiche dasselbe "
    "derselbe "
    "dieselbe schwach stark gesperrt weg verloren gespeichert unleserlich lesbar kaputt anders mein meine meinem "
    "meinen "
    "meiner dein ihr ihre unser unsere hier dort unten oben bis seit gestern heute morgen dann alles alle nichts "
    "etwas danke "
    "bitte was wer wie wo wann weil wenn dass ob fur mit ohne von vom aus bei nach im in am an auf uber unter durch "
    "gegen um "
    "ich du er sie es wir man sich jetzt wohl leider unbekannt sichtbar leer sicher geheim notig erforderlich pflicht "
    "werkseinstellungen standard nur so wieder einfach anderes "
    # Portuguese
    "o os as um uma uns umas da do das dos na no nas nos pela pelo para por sem sobre entre mas tambem nao que quem "
    "como onde "
    "quando porque ja ainda sempre nunca mais menos muito demais pouco expirada incorreta incorreto correta correto "
    "valida "
    "invalida nova velha mesma mesmo longa curta fraca forte bloqueada perdida guardada ilegivel rasgada diferente "
    "igual essa "
    "esse esta este qual minha meu sua seu nossa baixo cima ate ontem hoje amanha depois aqui ali tudo todos nada "
    "algo inutil "
    "segura secreta obrigatoria necessaria vazia desconhecida visivel oculta obrigado obrigada outra outro aceite "
    "aceita "
    # Polish
    "i a ale lub albo oraz nie jest sa byl byla bylo byly za krotkie krotki dlugie dobre zle bledne niepoprawne "
    "poprawne "
    "wazne niewazne nowe stare takie samo ten ta te to tego tej slabe silne zgubione zapisane nieczytelny "
    "nieczytelna zerwana "
    "inne inny moje moj moja mojego twoje jego jej nasz tu tam pod nad do od z ze w we na po przy przez dla bez o u "
    "dzis "
    "wczoraj jutro potem wszystko nic cos dzieki prosze co kto jak gdzie kiedy bo poniewaz jesli ze czy ktore ktory "
    "ktora "
    "juz jeszcze zawsze nigdy wiecej mniej bardzo teraz nieznane widoczne puste bezpieczne tajne wymagane potrzebne "
    "zostalo "
    "zostal zostala mi mnie go sie wlasciwe aktualne aktualny wlasciwy"
)
# Participles and adverbs, which say something of a password.
ABOUT_ENDINGS: Final = tuple(
    _words(
        "ing ed able ible ously ely ally tly mente abile ibile abili ato ata ati uto uta ado ada "
        "ados adas ido ida idos idas avel ivel lich wany wana wane zony zona zone niety cane cana cany zane "
        "lane nieta niete iony iona ione "
        # Adjectives
        "haft andig idlowy idlowa idlowe"
    )
)
# What people take for passwords, and ends like a participle: names, animals, food, places.
NOUNS: Final = _words(
    # English
    "alfred wilfred winifred mildred hundred sacred moped biped bobsled seaweed knotweed hayseed linseed aniseed "
    "spring sterling darling duckling starling seedling sapling pudding morning evening viking wedding lightning "
    "clothing icing wyoming beijing table stable vegetable cable bible crucible sally bally rally valley family "
    "tomato potato avocado tornado colorado eldorado desperado mikado hurricane sugarcane chicane canzone ozone "
    "arizona daytona ramona sonata regatta toccata florida adelaide aphid "
    # Italian
    "margherita rita gelato avvocato candidato mercato prato senato sindacato soldato pirata patata insalata "
    "frittata cioccolata cioccolato marmellata limonata aranciata spremuta cascata strada brigata serenata giornata "
    "nottata mattinata serata estate cicuta cognato peccato palato stivale felicita acrobata agata renato donato "
    "campione leone stazione canzone melone passione emozione nazione religione prigione attenzione stagione "
    "cane pescecane mariana tramontana romana collana montana fontana lupo partita "
    # Spanish
    "margarita senorita bonita carita anita conchita lolita juanita soldado helado mercado pescado abogado estado "
    "tejado candado arado granada espada ensalada limonada empanada fachada almohada cascada cruzada llamada manada "
    "mirada posada temporada madrugada entrada comida bebida vida salida corrida merida guarida medida partida "
    "marido vestido sonido oido partido apellido nido leonardo dorado eldorado colorado prado "
    # Portuguese
    "margarida estrada fada espada escada jangada goiabada feijoada cocada limonada salada namorada namorado "
    "cunhado soldado gelado mercado deputado advogado telhado sabado figado vida comida bebida avenida corrida ferida "
    "batida saida ouvido vestido marido partido sentido amor abacate "
    # Polish
    "ilona iwona arizona korona malina madonna ramona simona "
    # French
    "liberte beaute sante verite charite amitie egalite fraternite eternite cafe bebe canape cliche the marche "
    "poupee fusee idee orchidee odyssee musee lycee rosee annee journee soiree vallee epee armee ete comete "
    # German, written small
    "geist gesicht gericht gebet geburt gemut gewicht gestalt geschaft abend enten"
)
THINGS: Final = _words(
    "age box change changes complexity dialog email emails entry expiration expiry field form generator history "
    "hint hints "
    "issue issues length link links manager managers page policies policy popup portal problem problems prompt prompts "
    "protection recovery request requests requirement requirements reset resets rotation rule rules screen service "
    "strength "
    "sync tool vault window attempt attempts review freeze base pad ring app printer port console cable adapter "
    "interface "
    "mouse bus line connection connectors connector bent message messages editor size document area"
)
OPEN_CODES: Final = _words(
    "error exit status stop zip area postal post country dialling dialing bar qr return fault event product item cost "
    "department promo discount reference response http result reason source colour color building branch service "
    "bug check "
    "company project transaction location site floor room dress course model part voucher coupon gift order customer "
    "tracking language currency swift sort vat tax studio exception meeting flight booking diagnostic "
    "errore postale cliente fiscale barre sconto prodotto articolo ordine sorgente avviamento destinatario univoco "
    "stato "
    "progetto tributo promozionale azienda pratica reparto prenotazione guasto stanza sala uscita "
    "postal barras descuento producto articulo pedido fuente pais promocional proyecto empresa estado cupon reserva "
    "sala "
    "salida erreur barres client promo source produit projet pays article commande ape naf couleur reservation "
    "salle retour "
    "sortie etat fehler quell rabatt erro desconto produto fonte empresa encomenda estado projeto reserva saida "
    "bledu pocztowy pocztowego kreskowy kreskowego rabatowy zrodlowy produktu projektu kraju klienta zamowienia "
    "promocyjny "
    "wyjscia pokoju statusu qr postleitzahl of conduct civil penal verde"
)
# What other numbers and ids are of.
OTHERS: Final = _words(
    "ticket tickets case incident inc order orders room extension ext build version kb port request ref reference "
    "call phone "
    "mobile telephone desk invoice account customer client employee user username login name id meeting model part "
    "floor "
    "building zip postal error server host hostname machine computer pc printer dial reach conference badge flight "
    "project "
    "contract policy tracking parcel cost office update patch firmware driver ip vlan page line year since "
    "ordine fattura stanza interno utente utenza cliente versione telefono cellulare chiamarmi chiamatemi chiamata "
    "riunione "
    "edificio piano postale errore modello dipendente commessa sala pratica contratto pacco segnalazione al "
    "pedido factura sala extension usuario version telefono movil llamenme llamame edificio planta modelo empleado "
    "incidencia caso contrato paquete solicitud albaran "
    "commande facture salle poste utilisateur identifiant telephone portable appelez rappelez reunion batiment "
    "etage modele "
    "dossier contrat colis demande client au bureau "
    "bestellung bestellnummer rechnung raum durchwahl benutzer benutzername kunde kundennummer telefon "
    "telefonnummer handy "
    "handynummer rufnummer rufen gebaude stock modell vorgang vertrag paket anfrage auftrag auftragsnummer "
    "rechnungsnummer "
    "ticketnummer personalnummer mitarbeiternummer fehler postleitzahl schrank buro unter vertragsnummer "
    "vorgangsnummer "
    "encomenda fatura ramal utilizador versao telefone telemovel celular liguem ligue reuniao predio andar funcionario "
    "chamado contrato pacote armario "
    "zamowienia zamowienie faktura faktury pokoj wewnetrzny uzytkownik wersja wersje telefon telefonu dzwonic klienta "
    "pracownika zgloszenie zgloszenia budynek pietro model umowy paczka sprawy"
)
DIGITS: Final = _words(
    "zero oh one two three four five six seven eight nine double triple null nil "
    "uno due tre quattro cinque sei sette otto nove doppio "
    "cero dos tres cuatro cinco seis siete ocho nueve doble un deux trois quatre cinq sept huit neuf "
    "eins zwei zwo drei quatro vier funf sechs sieben acht neun dois um sete oito meia jeden dwa trzy cztery piec "
    "szesc siedem osiem "
    "dziewiec"
)
# How letters and signs are said when spelling.
SPELLED: Final = DIGITS | _words(
    "ten twenty capital uppercase lowercase upper lower big small letter hash hashtag dollar ampersand underscore "
    "dash hyphen "
    "dot exclamation question mark star asterisk plus slash percent at maiuscola minuscola chiocciola punto trattino "
    "cancelletto mayuscula minuscula guion arroba almohadilla majuscule minuscule tiret point arobase diese gross "
    "klein "
    "bindestrich punkt raute maiuscula ponto duza mala kropka myslnik malpa"
)
# Between a number and what it is of: my order number is 4482913.
BEFORE_NUMBERS: Final = _words(
    "# ' - : at back bitte el id il le me mich my no nr number numer numero nummer o on sie the"
)
# Before the next one of several secrets.
NEXT_ONE: Final = _words(
    ", / a adesso agora ahora albo also and auf dann dopo e en et i in is it jetzt lub maintenant na now o oder or ora "
    "ou para poi puis teraz then to u und y"
)
# What is serial, and has no serial number.
PORTS: Final = _words("cable cavi cavo kabel port porta portas porte porto ports puerto puertos")
# "The PIN for my phone", and not another number.
PREPOSITIONS: Final = _words(
    "al alla allo an ao as au auf aufs aux by da dans de del della dem der di do du en for from fur im in mein my na "
    "nas nel nella no nos of on pelo per pour sul sulla sur to vom von w with z"
)
PRONOUNS: Final = _words("it that this what which here there c one")
ARTICLES: Final = _words("a das der die el il la le lo o the")
# "Puse X de clave", "ho messo X di password": what is put there is the secret.
PUTS: Final = _words(
    "coloco coloquei introduje meti meto metido metto messo mettiamo pongo ponemos ponho pus puse pusimos puesto uso "
    "usei usamos usado usato uso"
)
