"""How each ad-hoc command is executed (XEP-0050): by all fields of its forms, all their options and all its actions."""
from lib.apps import App
from lib.forms import Form
from lib.harness import PASSWORD, expect, until
from lib.offers import ADMIN, COMMANDS, INFO, all_offered, find, used

OWN = "urn:parley:account:0#"


def chosen(value):
    """Of a list whose options are alike: the one with this in its value."""
    return lambda field: [option for option in field.options if value in option][:1]


def flows(fixture):
    """How each command is executed, in the order in which one needs the other: the forms of its stages as they are filled in. All of them
    together choose every option."""
    guest, other = f"{fixture.new('guest')}@localhost", fixture.new("guest")
    limits = [[{"max_items": limit}] for limit in ("25", "50", "75", "100", "150", "200", "none")]
    administration = {
        "add-user": [[{"accountjid": guest, "password": PASSWORD, "password-verify": PASSWORD, "given_name": "A", "surname": "Guest"}]],
        "disable-user": [[{"accountjids": [guest]}]], "get-disabled-users-num": [[]], "get-disabled-users-list": limits,
        "reenable-user": [[{"accountjids": [guest]}]], "end-user-session": [[{"accountjids": [guest]}]],
        "change-user-password": [[{"accountjid": guest, "password": PASSWORD}]], "get-user-roster": [[{"accountjid": "juliet@localhost"}]],
        "get-user-lastlogin": [[{"accountjids": [guest, "juliet@localhost"]}]], "user-stats": [[{"accountjid": "juliet@localhost"}]],
        "delete-user": [[{"accountjids": [guest]}]],
        "get-registered-users-num": [[]], "get-online-users-num": [[]], "get-active-users-num": [[]], "get-idle-users-num": [[]],
        "get-registered-users-list": limits, "get-online-users-list": limits, "get-active-users": limits, "get-idle-users": limits,
        "announce": [[{"announcement": ["The Prince", "has spoken."]}]], "set-motd": [[{"motd": ["Good morrow."]}]], "edit-motd": [[{"motd": ["Good night."]}]],
        "delete-motd": [[]], "federation": [[]],
        "federation-domain": [[{"domain": "dead.invalid", "action": action, "note": "A remark"}]
                              for action in ("allow", "deny", "show", "test", "close", "retry", "drop", "forget")],
    }
    return {f"{ADMIN}#{name}": runs for name, runs in administration.items()} | {
        "urn:xmpp:invite#invite": [[]],
        "urn:xmpp:invite#create-account": [[{"username": name, "roster-subscription": value}] for name, value in ((other, "1"), ("", "0"))],
        "ping": [[]], OWN + "sessions": [[{"sessions": chosen("login-lost")}, {}]],
        OWN + "app-passwords": [[{"name": "One"}], [{"do": "make"}, {"name": "Two"}], [{"do": "revoke"}, {"passwords": chosen("")}]],
        OWN + "message-age": [[{"chat": "romeo@localhost", "days": days}] for days in ("30", "")],
        OWN + "change-password": [[{"password": PASSWORD, "password-verify": PASSWORD}]],
        OWN + "export": [[], [{"do": "show"}], [{"do": "make"}]],
    }


def commands(fixture, by):
    """XEP-0050: each command that is listed, its forms field by field, each option of each field, and each action."""
    table = flows(fixture)
    offered = [node for _, node in fixture.items("localhost", COMMANDS, by)]

    def execute(node, action="execute", session="", form=""):
        session = session and f" sessionid='{session}'"
        return find(fixture.set(f"<command xmlns='{COMMANDS}' node='{node}' action='{action}'{session}>{form}</command>", "localhost", by), f"{{{COMMANDS}}}command")

    def run(node, stages, options):
        answer, before = execute(node), {}
        for number, stage in enumerate(stages):
            expect(answer.get("status") == "executing", f"{stage}: {answer.get('status')} {''.join(answer.itertext())}")
            session, form, values = answer.get("sessionid"), Form(answer), {}
            expect(set(form.fields) == set(stage), f"it asks for {sorted(form.fields)}, and not for {sorted(stage)}")
            for name, value in stage.items():
                field = form.fields[name]
                values[name] = value(field) if callable(value) else value
                expect(values[name] != [], f"{name} offers {field.options}")
                if not callable(value):
                    options.setdefault(name, set(field.offers)).discard(value if isinstance(value, str) else None)
            actions = find(answer, f"{{{COMMANDS}}}actions")
            steps = {child.tag.partition("}")[2] for child in actions}
            expect(steps <= {"next", "prev", "complete"} and actions.get("execute") in steps, f"{steps}")
            if "prev" in steps:
                back = execute(node, "prev", session)
                expect(set(Form(back).fields) == set(stages[number - 1]), "another stage is before this one")
                answer = execute(node, "next", session, Form(back).filled(**before))
                expect(set(Form(answer).fields) == set(stage), "another stage is behind that one")
            answer = execute(node, actions.get("execute"), session, form.filled(**values))
            before = values
        wrong = [note.text for note in answer.iter(f"{{{COMMANDS}}}note") if note.get("type") == "error"]
        expect(answer.get("status") == "completed" and not wrong, f"{stages}: {answer.get('status')} {wrong}")

    def use(node, runs):
        identity = find(fixture.info("localhost", node, by), f".//{{{INFO}}}identity")
        expect(identity.get("type") == "command-node", "another identity")
        options = {}
        phone = App(fixture.server, by.name, "lost")
        for stages in runs:
            run(node, stages, options)
            if node == OWN + "export":
                until("an archive", lambda: {each["status"] for each in phone.call("GET", "/v1/users/me/exports")[1]["items"]} == {"done"})
        left = {name: values for name, values in options.items() if values}
        expect(not left, f"nobody chooses {left}")
        begun = execute(node)
        if begun.get("status") == "executing":
            expect(execute(node, "cancel", begun.get("sessionid")).get("status") == "canceled", "it is not canceled")

    used("commands", offered, table, use)
    # Users have no commands of administrators, who have all.
    all_offered("commands", offered, table if by is fixture.romeo else [node for node in table if not node.startswith(ADMIN) and "create-account" not in node])
