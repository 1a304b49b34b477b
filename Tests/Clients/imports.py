"""Imports that are broken off, large or damaged, from data that the script writes: nothing is lost or comes twice, memory does not grow, and
what is wrong is told with its file, line and field while all else is taken.
"""
import collections
import json
import pathlib
import re
import signal
import subprocess

from lib.apps import App
from lib.former import DOMAIN, ROOMS
from lib.harness import BINARY, PASSWORD, PATIENCE, Checks, Server, expect
from lib.sources import KEY, SALT, SCRAM, WORDS, Import, peak, portable, result
from lib.terminal import Terminal

KINDS = ("accounts", "files", "rooms", "messages", "records")
USERS, CONTACTS, MESSAGES = 100, 10, 20_000


def parley(server, *arguments, status=0):
    done = subprocess.run(
        [str(BINARY), *map(str, arguments), "--config", server.configuration], env=server.environment(), capture_output=True,
        text=True, timeout=2 * PATIENCE)
    expect(done.returncode == status, f"parley {arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def acts(server):
    """What the audit has of imports, the oldest first."""
    rows = json.loads(parley(server, "audit", "--matching", "records.import", "--json"))
    return [(row["operation"], row["object"]) for row in reversed(rows)]


# MARK: Broken off

def broken_off(checks):
    with Server() as server:
        server.start()
        source = portable(pathlib.Path(server.folder, "export.xml"), USERS, CONTACTS, MESSAGES, 60)
        with checks.check("broken off: kill -9 in the middle leaves what came before, and a beginning in the audit"):
            killed = Import(server, "xep0227", source)
            killed.until("messages", 10)
            killed.kill()
            expect(acts(server) == [("records.import", f"xep0227 {source}")], f"{acts(server)}")
        with checks.check("broken off: progress has a rate and the time that is left, and Control-C says how to go on"):
            interrupted(server, source)
            begun, end = acts(server)[1:]
            expect(begun[0] == "records.import" and end[0] == "records.import.end" and "broken off after" in end[1], f"{acts(server)}")
        with checks.check("broken off: the same command goes on, and everything is there once"):
            report = json.loads(parley(server, "import", "xep0227", source, "--json"))
            expect(sum(report[kind]["failed"] for kind in KINDS) + report["unreadable"] == 0, f"{report}")
            expect(report["accounts"]["present"] == USERS, f"{report}")
            messages = report["messages"]
            # Both runs were broken off within the messages.
            expect(messages["present"] > 0 and messages["imported"] > 0, f"{report}")
            expect(messages["present"] + messages["imported"] == MESSAGES, f"{report}")
            ended = acts(server)[-1]
            expect(ended[0] == "records.import.end" and f"{messages['imported']:,} messages" in ended[1] and "broken" not in ended[1], f"{ended}")
            expect(pieces(parley(server, "export", "xep0227")) == pieces(source.read_text()), "it is not what was imported")


def interrupted(server, source):
    """Breaks the import off in a terminal, as an operator would."""
    settings = [f"{name}={value}" for name, value in server.environment().items() if name.startswith("PARLEY_")]
    command = "trap : INT; \"$@\"; echo status $?; read line"
    terminal = Terminal(
        server.folder, "env", *settings, "sh", "-c", command, "sh", BINARY, "import", "xep0227", source, "--config", server.configuration)
    try:
        # What came before the kill is passed over.
        drawn = re.compile(r"\[#*-*\] +[1-9]\d %  [\d,]+ messages  [\d,]+/s  \d+:\d\d left")
        terminal.until("progress of messages", lambda screen: drawn.search(screen))
        terminal.press("C-c")
        terminal.shows("Interrupted. Everything imported so far is kept", "the same command", "accounts imported", "status 130")
    finally:
        terminal.close()


def pieces(export):
    """How often each message and each contact stands in an export, by its user."""
    found = collections.Counter()
    for user in export.split("<user ")[1:]:
        name = re.match(r"name='([^']*)'", user).group(1)
        for number in re.findall(r" id='(m\d+)'", user):
            found[name, number] += 1
        for jid in re.findall(r"<item jid='([^']*)'", user):
            found[name, jid] += 1
    return found


# MARK: Large

def large(checks):
    with checks.check("large: a source fifteen times as large takes no more memory, of the importing process or of the server"):
        (small, one), (big, other) = (peaks(messages) for messages in (SMALL, 15 * SMALL))
        expect(other > 50e6 and other > 12 * one, f"{one} and {other} bytes are no test")
        grown = [now - then for then, now in zip(small, big)]
        expect(max(grown) < GROWTH, f"command and server: {small} MB, then {big} MB")
        print(f"        {one / 1e6:.0f} MB: {small}; {other / 1e6:.0f} MB: {big}")


SMALL = 400
GROWTH = 32  # megabytes: 16 are for sorting; the source grows by 54


def peaks(messages):
    """The peaks of command and server, and the size of the source."""
    with Server() as server:
        server.start()
        source = portable(pathlib.Path(server.folder, "export.xml"), 20, 4, messages, 4_600)
        importing = Import(server, "xep0227", source)
        command = 0
        for _ in importing.drawings():
            command = peak(importing.process) or command
        output, status = importing.end()
        expect(status == 0 and json.loads(output)["messages"]["imported"] == messages, f"{status}: {output}")
        return (round(command), round(peak(server.process))), source.stat().st_size


# MARK: Repeated

def repeated(checks):
    with Server() as server, checks.check("repeated: what has been changed or removed since stays and is reported, and a dry run says the same"):
        file = pathlib.Path(server.folder, "export.xml")
        file.write_text(f"""<?xml version='1.0' encoding='UTF-8'?>
<server-data xmlns='urn:xmpp:pie:0'><host jid='{DOMAIN}'>
<user name='romeo'>{SCRAM}<query xmlns='jabber:iq:roster'>
<item jid='juliet@{DOMAIN}' name='Juliet' subscription='both'/>
<item jid='nurse@{DOMAIN}' subscription='both'/>
</query><vCard xmlns='vcard-temp'><FN>Romeo</FN></vCard></user>
<user name='juliet'>{SCRAM}</user><user name='nurse'>{SCRAM}</user>
</host></server-data>
""")
        def reported(*options):
            report = pathlib.Path(server.folder, "report.txt")
            counts = json.loads(parley(server, "import", "xep0227", file, "--json", "--report", report, *options))
            return counts["records"] | {"kept": counts["kept"]}, report.read_text().splitlines()

        expect(reported() == ({"imported": 3, "present": 0, "failed": 0, "kept": 0}, []), "the first import")
        present = {"imported": 0, "present": 3, "failed": 0}
        expect(reported() == (present | {"kept": 0}, []), "the second import")
        parley(server, "roster", "add", f"romeo@{DOMAIN}", f"juliet@{DOMAIN}", "--name", "Jule")
        parley(server, "roster", "remove", f"romeo@{DOMAIN}", f"nurse@{DOMAIN}")
        for options in (["--dry-run"], []):
            counts, lines = reported(*options)
            expect(counts == present | {"kept": 2} and len(lines) == 2, f"{options}: {counts} {lines}")
            expect(f"romeo@{DOMAIN}, roster item juliet@{DOMAIN}: this server has another value" in lines[0], f"{options}: {lines}")
            expect(f"romeo@{DOMAIN}, roster item nurse@{DOMAIN}: " in lines[1] and "then removed" in lines[1], f"{options}: {lines}")
        roster = {item["jid"]: item["name"] for item in json.loads(parley(server, "roster", "list", f"romeo@{DOMAIN}", "--json"))}
        expect(roster == {f"juliet@{DOMAIN}": "Jule"}, f"{roster}")


def in_steps(checks):
    """Contacts that are here do not stand in the way of history, whoever added them; a message that is newer than the history does."""
    def written(file, *numbers):
        users = [(name, "".join(result(number, "romeo", "juliet", f"Message {number}") for number in numbers)) for name in ("romeo", "juliet")]
        file.write_text(f"<?xml version='1.0' encoding='UTF-8'?>\n<server-data xmlns='urn:xmpp:pie:0'><host jid='{DOMAIN}'>" + "".join(
            f"<user name='{name}'>{SCRAM}<query xmlns='jabber:iq:roster'><item jid='nurse@{DOMAIN}' subscription='both'/></query>"
            f"<archive xmlns='urn:xmpp:pie:0#mam'>{archive}</archive></user>" for name, archive in users)
            + f"<user name='nurse'>{SCRAM}</user></host></server-data>\n")

    with Server() as server:
        file = pathlib.Path(server.folder, "export.xml")

        def messages(*options, status=0):
            counts = json.loads(parley(server, "import", "xep0227", file, "--json", *options, status=status))["messages"]
            return counts["imported"], counts["present"], counts["failed"]

        with checks.check("in steps: accounts and contacts first, history later, and what the former server wrote since at last"):
            written(file, 1, 2)
            expect(messages("--no-history") == (0, 0, 0), "history came")
            parley(server, "roster", "add", f"romeo@{DOMAIN}", f"juliet@{DOMAIN}", "--name", "Jule")
            expect(messages() == (2, 0, 0), "the history after the contacts")
            written(file, 1, 2, 3, 4)
            expect(messages() == (2, 2, 0), "the newer history")
            expect(messages() == (0, 4, 0), "the same again")
            bodies = [f"Message {number}" for number in (1, 2, 3, 4)]
            is_there(server, "romeo", {f"nurse@{DOMAIN}": "both", f"juliet@{DOMAIN}": "none"}, bodies)
        with checks.check("in steps: history that is older than a message which is here is refused, with both times"):
            written(file, 1, 2, 4, 5, 6)
            expect(messages() == (2, 3, 0), "history that goes on")
            written(file, 1, 2, 3, 3.5, 4, 5, 6)
            report = pathlib.Path(server.folder, "report.txt")
            expect(messages("--report", report, status=1) == (0, 6, 1), "a message between others")
            line, = report.read_text().splitlines()
            expect("2020-09-13T12:26:43" in line and "2020-09-13T12:26:46" in line and "newer messages" in line, line)


def dry(checks):
    """A dry run says what the import says, whatever is here, and leaves nothing."""
    def reported(server, file, *options, status=0):
        report = pathlib.Path(server.folder, "report.txt")
        counts = json.loads(parley(server, "import", "xep0227", file, "--json", "--report", report, *options, status=status))
        return counts, report.read_text().splitlines()

    with Server() as server:
        file = portable(pathlib.Path(server.folder, "export.xml"), 4, 2, 10, 60)
        with checks.check("dry run: where there is no data folder it creates none"):
            trial = reported(server, file, "--dry-run")
            expect(not pathlib.Path(server.data).exists(), "there is a data folder")
            expect(trial == reported(server, file), f"{trial}")
            expect(trial[0]["messages"]["imported"] == 10 and trial[0]["accounts"]["imported"] == 4, f"{trial}")
        with checks.check("dry run: beside a running server it finds what is here, and what comes too late"):
            server.start()
            file.write_text(file.read_text().replace(f"{WORDS}3<", f"{WORDS}other<"))
            before = acts(server)
            trial = reported(server, file, "--dry-run", status=1)
            expect(acts(server) == before, "it is in the audit")
            expect(trial[0]["messages"] == {"imported": 0, "present": 9, "failed": 1}, f"{trial}")
            expect(len(trial[1]) == 1 and "newer messages" in trial[1][0], f"{trial}")
            expect(trial == reported(server, file, status=1), f"{trial}")


def broken_off_dry(checks):
    with Server() as server:
        folder = pathlib.Path(server.folder)
        source = portable(folder / "export.xml", USERS, CONTACTS, MESSAGES, 60)
        for number in (signal.SIGHUP, signal.SIGINT):
            with checks.check(f"dry run: {number.name} in the middle leaves no copy of the database"):
                # It may be ignored where this script runs, which the command would take for nohup.
                inherited = signal.signal(number, signal.SIG_DFL)
                trial = Import(server, "xep0227", source, "--dry-run", TMPDIR=str(folder))
                signal.signal(number, inherited)
                trial.until("messages", 10)
                copy, = folder.glob("parley-copy-*")
                trial.process.send_signal(number)
                output, status = trial.end()
                expect(status == 128 + number, f"{status}: {output}")
                expect(not copy.exists(), f"{copy} is there")


def nothing(checks):
    def refused(server, *arguments):
        done = subprocess.run(
            [str(BINARY), *map(str, arguments), "--config", server.configuration], env=server.environment(), capture_output=True,
            text=True, timeout=PATIENCE)
        expect(done.returncode == 1, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stderr

    with Server() as server:
        with checks.check("nothing to import: a path that does not exist is named with what is expected, and no data folder is created"):
            for kind, expected in [("prosody", "data folder of Prosody"), ("ejabberd", "ejabberdctl dump"), ("xep0227", "XEP-0227")]:
                for options in (["--dry-run"], []):
                    said = refused(server, "import", kind, "/nope", *options)
                    expect("/nope: there is no such file or folder" in said and expected in said, said)
            expect(not pathlib.Path(server.data).exists(), "there is a data folder")
        with checks.check("nothing to import: an empty source fails and says where it was looked for"):
            folder = pathlib.Path(server.folder)
            (folder / "prosody" / "localhost" / "accounts").mkdir(parents=True)
            (folder / "dump.txt").write_text("{tables,[]}.\n")
            (folder / "export.xml").write_text(f"<server-data xmlns='urn:xmpp:pie:0'><host jid='{DOMAIN}'/></server-data>\n")
            for kind, source in [("prosody", folder / "prosody"), ("ejabberd", folder / "dump.txt"), ("xep0227", folder / "export.xml")]:
                for options in (["--dry-run"], []):
                    said = refused(server, "import", kind, source, *options)
                    expect("nothing to import was found in" in said and str(source) in said, said)
            expect(acts(server) == [], "an import is in the audit")
        with checks.check("one of a kind: the report has the singular"):
            source = portable(folder / "one.xml", 1, 0, 0, 0)
            said = parley(server, "import", "xep0227", source)
            expect("1 account imported, 0 already present" in said and "0 messages imported" in said, said)
        with checks.check("standard input: who types in a terminal is told what is read, and how it ends"):
            settings = [f"{name}={value}" for name, value in server.environment().items() if name.startswith("PARLEY_")]
            for command in ("user import", "roster import"):
                terminal = Terminal(
                    server.folder, "env", *settings, "sh", "-c", "\"$@\"; echo status $?; read line", "sh", BINARY, *command.split(), "-",
                    "--config", server.configuration)
                try:
                    terminal.shows("Type the table with the columns", "Control-D")
                    terminal.press("C-d")
                    terminal.shows("status ")
                finally:
                    terminal.close()


def elsewhere(checks):
    with Server() as server, checks.check("another domain: it is said once, with the number of records and the domain that is served"):
        source = portable(pathlib.Path(server.folder, "export.xml"), 4, 2, 10, 60)
        source.write_text(source.read_text().replace(f"<host jid='{DOMAIN}'>", "<host jid='former.example'>").replace(f"@{DOMAIN}", "@former.example"))
        report = pathlib.Path(server.folder, "report.txt")
        for options in (["--dry-run"], []):
            counts = json.loads(parley(server, "import", "xep0227", source, "--json", "--report", report, *options, status=1))
            failed = {kind: counts[kind]["failed"] for kind in KINDS}
            expect(failed == {"accounts": 4, "files": 0, "rooms": 0, "messages": 10, "records": 8}, f"{counts}")
            line, = report.read_text().splitlines()
            for word in ("and 21 more records", "former.example is not a domain of this server", f"is {DOMAIN} (the setting domain)"):
                expect(word in line, f"{word}: {line}")


def removed(checks):
    """Whoever was removed from a room or a contact group is not brought back, nor is a lifted ban or a deleted group."""
    def user(name):
        return f'{{<<"{name}">>,<<"{DOMAIN}">>'

    names = ("romeo", "juliet", "nurse")
    people = [f'{{{user("romeo")},<<>>}},owner}}', f'{{{user("juliet")},<<>>}},member}}', f'{{{user("nurse")},<<>>}},{{outcast,<<"so be it">>}}}}']
    groups = [f'{{sr_group,{user(name)}}},[{{displayed_groups,[<<"{name}">>]}}]}}.' for name in ("friends", "old")]
    members = [f'{{sr_user,{user(name)}}},{user(group)}}}}}.' for name, group in [("romeo", "friends"), ("juliet", "friends"), ("nurse", "old")]]
    lines = ["{tables,[]}.", *(f'{{passwd,{user(name)}}},<<"{PASSWORD}">>}}.' for name in names),
             f'{{muc_room,{{<<"hall">>,<<"{ROOMS}">>}},[{{title,<<"Hall">>}},{{affiliations,[{",".join(people)}]}}]}}.', *groups, *members]
    with Server() as server, checks.check("repeated: who was removed from a room or a contact group stays outside, and a deleted group stays deleted"):
        dump, report = (pathlib.Path(server.folder, name) for name in ("dump.txt", "report.txt"))
        dump.write_text("\n".join(lines) + "\n")

        def taken_again(*options):
            counts = json.loads(parley(server, "import", "ejabberd", dump, "--json", "--report", report, *options))
            return counts["records"]["imported"], counts["records"]["failed"], counts["kept"], report.read_text().splitlines()

        imported, failed, kept, told = taken_again()
        expect((failed, kept, told) == (0, 0, []) and imported >= 4, f"{imported} {failed} {kept} {told}")
        expect(taken_again() == (0, 0, 0, []), "the second import")
        for name in ("juliet", "nurse"):
            parley(server, "dialog", "remove", f"hall@{ROOMS}", f"{name}@{DOMAIN}")
        parley(server, "contact-group", "remove", "friends", f"juliet@{DOMAIN}")
        parley(server, "contact-group", "delete", "old", "--yes")
        for options in (["--dry-run"], []):
            imported, failed, kept, told = taken_again(*options)
            expect((imported, failed, kept) == (0, 0, 4) and len(told) == 4, f"{options}: {imported} {failed} {kept} {told}")
        there = json.loads(parley(server, "dialog", "members", f"hall@{ROOMS}", "--json"))
        expect([each["jid"] for each in there] == [f"romeo@{DOMAIN}"], f"{there}")
        banned = json.loads(parley(server, "dialog", "members", f"hall@{ROOMS}", "--role", "banned", "--json"))
        expect(banned == [], f"{banned}")
        left = json.loads(parley(server, "contact-group", "list", "--json"))
        expect([(each["name"], each["members"]) for each in left] == [("friends", 1)], f"{left}")


def credentials(checks):
    with Server() as server, checks.check("credentials: exported keys are no password, and who was disabled stays so"):
        file = pathlib.Path(server.folder, "export.xml")
        keys = f"scram:{KEY},{KEY},{SALT},4096"
        file.write_text(f"""<?xml version='1.0' encoding='UTF-8'?>
<server-data xmlns='urn:xmpp:pie:0' xmlns:t='tigase:xep-0227:user:0'><host jid='{DOMAIN}'>
<user name='romeo' password='{keys}'/>
<user name='juliet' t:status='disabled'>{SCRAM}</user>
<user name='nurse' password='{{SSHA}}{KEY}'/>
</host></server-data>
""")
        counts = taken(server, ("xep0227", file), [("name='nurse'", file, "{SSHA}")])
        expect(counts["accounts"]["imported"] == 3, f"{counts}")
        export = parley(server, "export", "xep0227")
        romeo = export.split("<user name='romeo'")[1].split("</user>")[0]
        # Keys that were derived from the text would be of all mechanisms.
        expect(romeo.count("<scram-credentials") == 1 and KEY in romeo, romeo)
        states = {user["jid"]: user["state"] for user in json.loads(parley(server, "user", "list", "--json"))}
        expect(states == {f"romeo@{DOMAIN}": "active", f"juliet@{DOMAIN}": "disabled", f"nurse@{DOMAIN}": "active"}, f"{states}")


# MARK: Damaged

def taken(server, source, wrong, *options):
    """Imports what is damaged, and returns the counts. Each line of `wrong` (a piece of its text, the file, words of the reason) is told, and nothing else."""
    report = pathlib.Path(server.folder, "report.txt")

    def reported(*more):
        counts = json.loads(parley(server, "import", *source, *options, *more, "--json", "--report", report, status=1))
        return counts, report.read_text().splitlines()

    trial = reported("--dry-run")
    counts, told = reported()
    expect(trial == (counts, told), f"the dry run said {trial}, and the import {counts} {told}")
    for piece, file, *words in wrong:
        line = next(number for number, text in enumerate(file.read_text().splitlines(), 1) if piece in text)
        found = [each for each in told if str(file) in each and (f", line {line}:" in each or not piece) and all(word in each for word in words)]
        expect(len(found) == 1, f"{file.name}, line {line}, {words}: {told}")
        told.remove(found[0])
    expect(not told, f"more is told: {told}")
    failed = sum(counts[kind]["failed"] for kind in KINDS) + counts["unreadable"]
    expect(failed == len(wrong), f"{counts}")
    again = json.loads(parley(server, "import", *source, *options, "--json", status=1))
    expect(all(again[kind]["imported"] == 0 for kind in KINDS[:4]) and again["messages"]["present"] == counts["messages"]["imported"], f"{again}")
    return counts


def is_there(server, user, contacts, bodies):
    """Whether a user has these contacts and these messages, and nothing of others."""
    roster = {item["jid"]: item["subscription"] for item in json.loads(parley(server, "roster", "list", user, "--json"))}
    expect(roster == contacts, f"{roster}")
    export = parley(server, "export", "xep0227").split(f"<user name='{user}'")[1].split("</user>")[0]
    found = re.findall(r"<body>([^<]*)</body>", export.split("<archive")[1])
    expect(found == bodies, f"{found}")
    return export


def bad_portable(checks):
    with Server() as server, checks.check("damaged XEP-0227: each thing is told by its line and field, and all else is taken"):
        file = pathlib.Path(server.folder, "export.xml")
        good = result(1, "romeo", "juliet", "But soft")
        file.write_text(f"""<?xml version='1.0' encoding='UTF-8'?>
<server-data xmlns='urn:xmpp:pie:0'><host jid='{DOMAIN}'>
<user name='romeo'>{SCRAM}<query xmlns='jabber:iq:roster'>
<item jid='juliet@{DOMAIN}' subscription='both'/>
<item name='without address' subscription='both'/>
<item jid='nurse@{DOMAIN}' subscription='sideways'/>
<item jid='a b@c@d' subscription='both'/>
<item jid='friar@{DOMAIN}' subscription='to'/>
</query>
<query xmlns='jabber:iq:private'>
<prefs xmlns='exodus:prefs'>kept</prefs>
<prefs>without namespace</prefs>
</query>
<strange xmlns='urn:example:strange'/>
<blocklist xmlns='urn:xmpp:blocking'><item jid='paris@{DOMAIN}'/><item jid='@@'/></blocklist>
<archive xmlns='urn:xmpp:pie:0#mam'>
{good}
{result(2, "romeo", "juliet", "no time").replace("stamp='2020", "stamp='yesterday")}
<result xmlns='urn:xmpp:mam:2' id='3'/>
{result(4, "romeo", "juliet", "what light")}
</archive></user>
<user>{SCRAM}</user>
<user name='a b'>{SCRAM}</user>
<user name='juliet'>{SCRAM}<archive xmlns='urn:xmpp:pie:0#mam'>
{good}
</archive></user>
<user name='nurse'>{SCRAM.replace(f"<salt>{SALT}</salt>", "")}</user>
<user name='friar'>{SCRAM.replace(KEY, "AAAA")}</user>
</host></server-data>
""")
        counts = taken(server, ("xep0227", file), [
            ("without address", file, "'jid'"), ("sideways", file, "subscription"), ("a b@c@d", file, "jid"), ("without namespace", file, "namespace"),
            ("urn:example:strange", file, "<strange"), ("@@", file, "jid"), ("yesterday", file, "'stamp'"), ("id='3'", file, "<result/>"),
            ("<user><scram", file, "'name'"), ("<user name='a b'", file, "jid"), ("name='nurse'", file, "<salt/>"), ("name='friar'", file, "scram")])
        expect(counts["messages"]["imported"] == 2 and counts["accounts"]["imported"] == 3, f"{counts}")
        # The friar has no account, so that nothing is shared with whoever registers the name.
        export = is_there(server, "romeo", {f"juliet@{DOMAIN}": "both", f"friar@{DOMAIN}": "none"}, ["But soft", "what light"])
        expect("exodus:prefs" in export and f"value='paris@{DOMAIN}'" in export, export)


def bad_prosody(checks):
    with Server() as server, checks.check("damaged files of Prosody: each thing is told by its file, line and field, and all else is taken"):
        data = pathlib.Path(server.folder, "prosody")
        host = data / "localhost"

        def write(store, name, text):
            path = host / store / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return path

        def item(number, body, time="1600000000"):
            return (f'item({{\n\t["name"] = "message";\n\t["attr"] = {{ ["to"] = "juliet@{DOMAIN}"; ["from"] = "romeo@{DOMAIN}/x"; ["type"] = "chat";'
                    f' ["id"] = "m{number}"; }};\n\t{{ ["name"] = "body"; ["attr"] = {{}}; "{body}"; }};\n\t["key"] = "k{number}"; ["when"] = {time};'
                    f' ["with"] = "juliet@{DOMAIN}";\n}});\n')

        for name in ("romeo", "juliet"):
            write("accounts", f"{name}.dat", f'return {{\n\t["password"] = "{PASSWORD}";\n}};\n')
        torn = write("accounts", "nurse.dat", 'return {\n\t["password"] = "half a\n')
        keys = write("accounts", "friar.dat", 'return {\n\t["iteration_count"] = 4096; ["salt"] = "s"; ["stored_key"] = "zz"; ["server_key"] = "zz";\n};\n')
        roster = write("roster", "romeo.dat", f"""return {{
	["juliet@{DOMAIN}"] = {{ ["subscription"] = "both"; ["groups"] = {{}}; }};
	["nurse@{DOMAIN}"] = {{ ["subscription"] = "sideways"; ["groups"] = {{}}; }};
	["paris@{DOMAIN}"] = "no table";
}};
""")
        card = write("vcard", "romeo.dat", 'return {\n\t["attr"] = {};\n};\n')
        archive = write("archive", "romeo.list", item(1, "But soft") + item(2, "no time", '"then"') + 'item("no element");\n' + item(4, "what light"))
        counts = taken(server, ("prosody", data), [
            ('"half a', torn), ("", keys, "stored_key"), ("", roster, "nurse@", "subscription"), ("", roster, "paris@", "no table"),
            ("", card, "romeo@", "vcard", "no element"), ("", archive, "k2", "time"), ("no element", archive, "no element")])
        expect(counts["messages"]["imported"] == 2 and counts["accounts"]["imported"] == 2, f"{counts}")
        is_there(server, "romeo", {f"juliet@{DOMAIN}": "both"}, ["But soft", "what light"])


def bad_sql(checks):
    with Server() as server, checks.check("damaged SQL of ejabberd: each row is told by its line, table and field, and all others are taken"):
        file = pathlib.Path(server.folder, "dump.sql")
        def said(number, body):
            return f"<message xmlns='jabber:client' from='romeo@{DOMAIN}/x' to='juliet@{DOMAIN}' type='chat' id='m{number}'><body>{body}</body></message>"

        def table(name, columns, *rows):
            return "\n".join([f"COPY public.{name} ({columns}) FROM stdin;", *("\t".join(row) for row in rows), "\\.", "", ""])

        archive = [("romeo", str(time), f"juliet@{DOMAIN}", text, "chat") for time, text in [
            (1_600_000_001_000_000, said(1, "But soft")), ("then", said(2, "no time")), (1_600_000_003_000_000, "<message><torn/>"),
            (1_600_000_004_000_000, said(4, "what light"))]]
        file.write_text("--\n-- PostgreSQL database dump\n--\n\n" + table(
            "users", "username, password, serverkey, salt, iterationcount", *((name, KEY, KEY, SALT, "4096") for name in ("romeo", "juliet")),
            ("nurse", "AAAA", KEY, SALT, "4096"), ("a b", KEY, KEY, SALT, "4096"), ("friar", "too", "few")) + table(
            "archive", 'username, "timestamp", bare_peer, xml, kind', *archive) + table(
            "rosterusers", "username, jid, nick, subscription, ask", ("romeo", f"juliet@{DOMAIN}", "", "B", "N"),
            ("romeo", f"nurse@{DOMAIN}", "", "X", "N"), ("romeo", "c@d@e", "", "B", "N"), ("romeo", "short")) + table(
            "rostergroups", "username, jid, grp", ("romeo", f"juliet@{DOMAIN}", "Loves")) + table(
            "vcard", "username, vcard", ("romeo", "<vCard>"), ("juliet", "<vCard xmlns='vcard-temp'><FN>Juliet</FN></vCard>")))
        counts = taken(server, ("ejabberd", file), [
            ("nurse\tAAAA", file, "users", "scram"), ("a b\t", file, "users", "jid"), ("friar\ttoo", file, "users", "3 fields"),
            ("then\t", file, "archive", "timestamp"), ("<torn/>", file, "archive", "xml"), (f"nurse@{DOMAIN}\t", file, "rosterusers", "subscription"),
            ("c@d@e", file, "rosterusers", "jid"), ("romeo\tshort", file, "rosterusers", "2 fields"), ("<vCard>", file, "vcard")], "--domain", DOMAIN)
        expect(counts["messages"]["imported"] == 2 and counts["accounts"]["imported"] == 2, f"{counts}")
        is_there(server, "romeo", {f"juliet@{DOMAIN}": "both"}, ["But soft", "what light"])


def bad_rooms(checks):
    """What is wrong with a room is told with its line and its name, and all else is taken."""
    def room(name, *options, host=ROOMS, owner="romeo"):
        people = f'{{affiliations,[{{{{<<"{owner}">>,<<"{DOMAIN}">>,<<>>}},owner}}]}}'
        return f'{{muc_room,{{<<"{name}">>,<<"{host}">>}},[{",".join([*options, people])}]}}.'

    def said(name, number, owner="romeo"):
        return (f'{{archive_msg,{{<<"{name}">>,<<"{ROOMS}">>}},<<"{number}">>,{{1600,{number},0}},{{<<"{owner}">>,<<"{DOMAIN}">>,<<>>}},'
                f'{{<<"{owner}">>,<<"{DOMAIN}">>,<<>>}},{{xmlel,<<"message">>,[{{<<"type">>,<<"groupchat">>}}],'
                f'[{{xmlel,<<"body">>,[],[{{xmlcdata,<<"{number}">>}}]}}]}},<<"Romy">>,groupchat}}.')

    lines = [
        "{tables,[]}.", f'{{passwd,{{<<"romeo">>,<<"{DOMAIN}">>}},<<"{PASSWORD}">>}}.',
        room("good"), room("long", f'{{description,<<"{"x" * 5000}">>}}'), room("elsewhere", host="rooms.example"),
        room("nobodys", owner="ghost"), f'{{muc_room,{{<<"odd">>,<<"{ROOMS}">>}},odd}}.', room("torn", "{title,<<"),
        said("good", 10), said("missing", 11), said("good", 12, owner="ghost"), said("long", 13),
        f'{{archive_msg,{{<<"good">>,<<"{ROOMS}">>}},<<"14">>,odd,a,b,c,d,groupchat}}.',
        f'{{sr_group,{{<<"spies">>,<<"{DOMAIN}">>}},[{{displayed_groups,[<<"sales">>]}}]}}.']
    with Server() as server, checks.check("bad rooms: each is told by its line and name, and all else is taken"):
        folder = pathlib.Path(server.folder)
        (folder / "dump.txt").write_text("\n".join(lines) + "\n")
        report = folder / "report.txt"
        counts = json.loads(parley(server, "import", "ejabberd", folder / "dump.txt", "--json", "--report", report, status=1))
        expect((counts["rooms"]["imported"], counts["messages"]["imported"]) == (1, 3), f"{counts}")
        told = report.read_text().splitlines()
        for line, word in [(4, "imported without this"), (5, "rooms.example"), (6, "owner"), (7, "muc_room"), (8, ""), (10, "no such room"),
                           (13, "archive_msg")]:
            expect(any(f"line {line}" in each and word in each for each in told), f"line {line}, {word}: {told}")
        expect(any("spies" in each for each in told), f"{told}")
        said_again = json.loads(parley(server, "import", "ejabberd", folder / "dump.txt", "--json", status=1))
        expect(said_again["messages"] | {"failed": 0} == {"imported": 0, "present": 3, "failed": 0}, f"{said_again}")


def own_export(checks):
    def again(server, file, *options):
        counts = json.loads(parley(server, "import", "xep0227", file, "--json", *options))["messages"]
        return counts["imported"], counts["present"], counts["failed"]

    with Server() as server:
        server.add_users("romeo", "juliet")
        file, own = pathlib.Path(server.folder, "former.xml"), pathlib.Path(server.folder, "own.xml")
        file.write_text(f"""<?xml version='1.0' encoding='UTF-8'?>
<server-data xmlns='urn:xmpp:pie:0'><host jid='{DOMAIN}'><user name='juliet'>{SCRAM}<offline-messages>
<message xmlns='jabber:client' from='romeo@{DOMAIN}/x' to='juliet@{DOMAIN}' type='chat'><body>But soft</body>
<delay xmlns='urn:xmpp:delay' stamp='2020-01-01T00:00:00Z'/></message>
</offline-messages></user></host></server-data>
""")
        server.start()
        with checks.check("own export: an unreceived message without an id is here, in the former file and in this server's own"):
            expect(again(server, file) == (1, 0, 0), "it was not imported")
            parley(server, "export", "xep0227", "--output", own)
            for source in (own, file):
                expect(again(server, source) == (0, 1, 0), f"{source}")
        with checks.check("own export: unreceived messages of an app are here, though newer ones are"):
            romeo = App(server, "romeo")
            dialog = romeo.dialog("juliet")
            for number in range(3):
                romeo.say(dialog, f"what light {number}")
            own.unlink()
            parley(server, "export", "xep0227", "--output", own)
            for options in (["--dry-run"], []):
                expect(again(server, own, *options) == (0, 4, 0), f"{options}")
            count = App(server, "juliet").call("GET", "/v1/dialogs")[1]["items"][0]["me"]["unreadCount"]
            expect(count == 4, f"{count} unread")
        with checks.check("own export: a profile of a name alone is here, and is reported as a vCard once it was changed"):
            named, report = (pathlib.Path(server.folder, name) for name in ("named.csv", "report.txt"))
            named.write_text(f"jid,password,name\nann@{DOMAIN},{PASSWORD},Ann\n")
            parley(server, "user", "import", named)
            own.unlink()
            parley(server, "export", "xep0227", "--output", own)
            for name, kept in (("Ann", []), ("Anna", ["vCard"])):
                App(server, "ann").call("PATCH", "/v1/users/me", {"name": name})
                counts = json.loads(parley(server, "import", "xep0227", own, "--json", "--report", report))
                lines = report.read_text().splitlines()
                expect(counts["records"]["imported"] == 0 and counts["kept"] == len(kept) == len(lines), f"{name}: {counts} {lines}")
                expect(all(f"ann@{DOMAIN}, {kind}: this server has another value" in line for kind, line in zip(kept, lines)), f"{lines}")


def run(checks):
    own_export(checks)
    broken_off(checks)
    large(checks)
    repeated(checks)
    in_steps(checks)
    dry(checks)
    broken_off_dry(checks)
    elsewhere(checks)
    nothing(checks)
    removed(checks)
    credentials(checks)
    bad_portable(checks)
    bad_prosody(checks)
    bad_sql(checks)
    bad_rooms(checks)


if __name__ == "__main__":
    run(Checks())
