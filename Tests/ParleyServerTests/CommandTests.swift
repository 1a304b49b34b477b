import Basics
import Foundation
import ServerFixtures
import Testing

@testable import ParleyServer

/// The program from outside: what it prints, and its exit status.
@Suite struct CommandTests {
  @Test func usersAndRostersWithoutAServer() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      let added = try await Command.run(
        "user", "add", "alice@localhost", "--password-stdin", in: folder, input: "secret words\n")
      #expect(added.status == 0)
      #expect(added.output == "Added alice@localhost.\n")
      #expect(added.errors == "")
      // Whoever chooses a password has the rule of apps.
      for (verb, jid) in [("add", "short@localhost"), ("password", "alice@localhost")] {
        let short = try await Command.run("user", verb, jid, "--password-stdin", in: folder, input: "secret\n")
        #expect(short.status == 2)
        #expect(short.lines == ["parley: A password has at least 8 characters."])
      }
      let bob = try await Command.run("user", "add", "bob", "--generate", "--json", in: folder)
      #expect(bob.status == 0)
      #expect(bob.output.contains("\"jid\" : \"bob@localhost\""))
      #expect(bob.output.contains("\"password\" : \""))

      let linked = try await Command.run("roster", "add", "alice@localhost", "bob@localhost", "--mutual", in: folder)
      #expect(linked.output == "alice@localhost and bob@localhost are contacts.\n")
      let roster = try await Command.run("roster", "list", "bob@localhost", in: folder)
      #expect(roster.output.split(separator: "\n").last?.hasPrefix("alice@localhost") == true)
      let exported = try await Command.run("roster", "export", in: folder)
      #expect(
        exported.output
          == "jid,contact,name,groups\nalice@localhost,bob@localhost,,\nbob@localhost,alice@localhost,,\n")

      let twice = try await Command.run("user", "add", "alice@localhost", "--generate", in: folder)
      #expect(twice.status == 1)
      #expect(
        twice.lines == ["parley: alice@localhost exists already. To see it: parley user show alice@localhost"])
      let health = try await Command.run("health", in: folder)
      #expect(health.status == 1)
      let next = "start it (systemctl start parley, or parley serve), or set data to the folder of the one that runs"
      #expect(
        health.lines == [
          "parley: no server answers at \(folder)/data/admin.sock: no server is running on the data folder \(folder)/data; "
            + next
        ])
      let elsewhere = try await Command.run("health", "--data", "none", in: folder)
      #expect(
        elsewhere.lines == [
          "parley: no server answers at \(folder)/none/admin.sock: there is no data folder \(folder)/none; parley serve or "
            + "parley init makes it, or set data to the one that is meant"
        ])
    }
  }

  /// Each command whose effect or answer is in a running server says that none runs, and does not answer for it.
  @Test func commandsForARunningServerSayThatNoneRuns() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      _ = try await Command.run("user", "add", "alice", "--generate", in: folder)
      let expected =
        "parley: no server is running on the data folder \(folder)/data; start it (systemctl start parley, or parley serve), "
        + "or set data to the folder of the one that runs"
      for arguments in [
        ["announce", "Hear, hear."], ["session", "list"], ["session", "list", "alice"],
        ["session", "show", "00c0ffee00c0ffee"], ["session", "close", "00c0ffee00c0ffee"],
        ["session", "close", "--user", "alice"], ["user", "disconnect", "alice"], ["log", "level"],
        ["log", "level", "debug"], ["reload"], ["certificate", "show"], ["certificate", "renew"],
        ["webhook", "test", "1"], ["federation", "test", "a.example"], ["federation", "close", "a.example"],
        ["federation", "retry", "a.example"], ["sending"],
      ] {
        let (process, output, errors) = try Command.start(arguments, in: folder)
        let told = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1, "\(arguments)")
        #expect(told == expected + "\n", "\(arguments)")
        #expect(printed.isEmpty, "\(arguments)")
      }
    }
  }

  /// Run in another folder than the server, a command must neither succeed nor leave data there.
  @Test func noCommandThatWritesMakesADataFolder() async throws {
    try withScratchFolder { folder in
      try Files.write(Array("jid,password\nbob,secret\n".utf8), to: folder + "/users.csv", mode: 0o600)
      try Files.write(Array("jid,contact\nalice,bob\n".utf8), to: folder + "/roster.csv", mode: 0o600)
      let expected =
        "parley: there is no data folder \(folder)/data; parley serve or parley init makes it, "
        + "or set data to the one that is meant"
      for arguments in [
        ["user", "list"], ["user", "add", "alice", "--generate"], ["user", "import", "users.csv"],
        ["roster", "add", "alice", "bob"], ["roster", "import", "roster.csv"],
        ["dialog", "create", "team", "--owner", "alice"], ["contact-group", "create", "sales"],
        ["key", "add", "backend", "--scope", "*"], ["invite", "create"],
        ["webhook", "add", "https://example.org/hook", "--event", "*"], ["motd", "set", "No duels."],
        ["hold", "add", "alice"], ["federation", "allow", "example.net"], ["federation", "deny", "example.net"],
        ["retention", "run"], ["backup", "copy.db"],
      ] {
        let (process, output, errors) = try Command.start(arguments, in: folder)
        let told = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 1, "\(arguments)")
        #expect(told == expected + "\n", "\(arguments)")
        #expect(printed.isEmpty, "\(arguments)")
      }
      #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
    }
  }

  @Test func dialogsWithoutAServer() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      for name in ["alice", "bob"] { _ = try await Command.run("user", "add", name, "--generate", in: folder) }
      let none = try await Command.run("dialog", "list", in: folder)
      #expect(none.output == "There are no dialogs.\n")
      let made = try await Command.run(
        "dialog", "create", "team", "--owner", "alice", "--name", "The team", "--member", "bob", in: folder)
      #expect(made.status == 0)
      #expect(made.output == "Created team@conference.localhost.\n")
      #expect(made.errors == "")
      let list = try await Command.run("dialog", "list", in: folder)
      let row = try #require(list.output.split(separator: "\n").last)
      #expect(row.hasPrefix("team@conference.localhost  The team  group"))
      let json = try await Command.run("dialog", "show", "team", "--json", in: folder)
      #expect(json.output.contains("\"owners\" : [\n    \"alice@localhost\"\n  ]"))

      let promoted = try await Command.run("dialog", "role", "team", "bob", "admin", in: folder)
      #expect(promoted.output == "bob@localhost is admin in team.\n")
      let members = try await Command.run("dialog", "members", "team", in: folder)
      #expect(members.output.contains("\nbob@localhost    admin "))
      // An owner without a name may be called "Guest 2".
      let help = try await Command.run("dialog", "members", "--help", in: folder)
      let words = help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(words.contains("is called Guest with a number, even if they are no guest"))
      let removed = try await Command.run("dialog", "remove", "team", "bob", in: folder)
      #expect(removed.output == "bob@localhost is not in team any more.\n")

      let unknown = try await Command.run("dialog", "add", "nowhere", "bob", in: folder)
      #expect(unknown.status == 1)
      #expect(unknown.lines == ["parley: There is no dialog nowhere."])
      let nobody = try await Command.run("dialog", "add", "team", "carol", in: folder)
      #expect(nobody.lines == ["parley: There is no user carol@localhost."])
      let wrong = try await Command.run("dialog", "role", "team", "bob", "king", in: folder)
      #expect(wrong.status == 2)
      #expect(wrong.errors.contains("king"))

      let unasked = try await Command.run("dialog", "delete", "team", in: folder)
      #expect(unasked.status == 2)
      #expect(
        unasked.lines == ["parley: Delete team for everybody? --yes is required when standard input is not a terminal"])
      let deleted = try await Command.run("dialog", "delete", "team", "--yes", in: folder)
      #expect(deleted.output == "Deleted team@conference.localhost.\n")
      #expect(try await Command.run("dialog", "list", in: folder).output == "There are no dialogs.\n")
    }
  }

  @Test func theMessageOfTheDayWithoutAServer() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      _ = try await Command.run("user", "add", "alice", "--generate", in: folder)
      let none = try await Command.run("motd", "show", in: folder)
      #expect(none.output == "There is no message of the day of localhost.\n")
      let set = try await Command.run("motd", "set", "No duels.", in: folder)
      #expect(set.output == "Set the message of the day of localhost.\n")
      #expect(try await Command.run("motd", "show", in: folder).output == "No duels.\n")
      let edited = try await Command.run("motd", "edit", "No duels at all.", "--json", in: folder)
      #expect(edited.output.contains("\"text\" : \"No duels at all.\""))
      let empty = try await Command.run("motd", "set", " ", in: folder)
      #expect(empty.status == 1)
      #expect(empty.lines == ["parley: An announcement needs a text."])
      let foreign = try await Command.run("motd", "set", "x", "--domain", "nowhere.example", in: folder)
      #expect(foreign.lines == ["parley: nowhere.example is not served here."])
      #expect(
        try await Command.run("motd", "delete", in: folder).output == "Deleted the message of the day of localhost.\n")
      #expect(try await Command.run("motd", "show", in: folder).output == none.output)
    }
  }

  @Test func aBackupIsWholeNewAndItsOwnersAlone() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      _ = try await Command.run("user", "add", "alice@localhost", "--generate", in: folder)
      let made = try await Command.run("backup", "copy.db", in: folder)
      #expect(made.status == 0)
      #expect(made.output.hasPrefix("\(folder)/copy.db: ") && made.output.hasSuffix(" bytes.\n"))
      #expect(made.errors == "")
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/copy.db")
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      #expect(!Files.exists(folder + "/copy.db.part"))

      let again = try await Command.run("backup", "copy.db", in: folder)
      #expect(again.status == 1)
      #expect(again.lines == ["parley: \(folder)/copy.db is there already; name another one, or remove it."])
      let nowhere = try await Command.run("backup", "no/such/copy.db", in: folder)
      let user = SystemUser.current
      #expect(
        nowhere.lines == [
          "parley: \(folder)/no/such/copy.db cannot be made: there is no such file or folder. It is written as "
            + "\(user.name); create the folder: sudo install -d -o \(user.account) -m 0700 \(folder)/no/such"
        ])

      // A backup restored in the place of another database has the copied data.
      try FileManager.default.createDirectory(atPath: folder + "/other", withIntermediateDirectories: true)
      try FileManager.default.moveItem(atPath: folder + "/copy.db", toPath: folder + "/other/parley.db")
      let users = try await Command.run("user", "list", "--data", folder + "/other", in: folder)
      #expect(users.output.contains("alice@localhost"))
    }
  }

  /// Nothing that is there is replaced, and what broke off leaves no part that looks like an export.
  @Test func anExportIsWholeAndNew() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      _ = try await Command.run("user", "add", "alice@localhost", "--generate", in: folder)
      let wrong = try await Command.run(
        "export", "xep0227", "--domain", "none.example", "--output", "all.xml", in: folder)
      #expect(wrong.status == 1 && !Files.exists(folder + "/all.xml"))
      let made = try await Command.run("export", "xep0227", "--output", "all.xml", in: folder)
      #expect(made.status == 0 && made.lines == ["1 user exported."])
      let again = try await Command.run("export", "xep0227", "--output", "all.xml", in: folder)
      #expect(again.status == 1)
      #expect(again.lines == ["parley: all.xml exists already; name another file, or remove it"])
      #expect(try Files.read(folder + "/all.xml", bytesMax: 1 << 20).isEmpty == false)
      // A shell would create the file by its umask, for everybody to read.
      for words in [["export", "--help"], ["help", "export"], ["export", "xep0227", "--help"]] {
        let (process, output, _) = try Command.start(words, in: folder)
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text.contains("export xep0227 --output everybody.xml") && !text.contains("> everybody.xml"), "\(words)")
      }
    }
  }

  @Test func anImportFromAnotherServerReportsShortPasswords() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      let users = [("alice", "short"), ("bob", "long enough")].map { "<user name='\($0)' password='\($1)'/>" }.joined()
      let export = "<server-data xmlns='urn:xmpp:pie:0'><host jid='localhost'>\(users)</host></server-data>"
      try Files.write(Array(export.utf8), to: folder + "/export.xml", mode: 0o600)
      let trial = try await Command.run("import", "xep0227", "export.xml", "--json", "--dry-run", in: folder)
      let done = try await Command.run("import", "xep0227", "export.xml", "--json", in: folder)
      for outcome in [trial, done] {
        #expect(outcome.status == 0 && outcome.output.contains("\"shortPasswords\" : 1"), "\(outcome.output)")
        let warning = "warning: 1 of the imported passwords is shorter "
        #expect(outcome.lines.contains { $0.hasPrefix(warning) }, "\(outcome.lines)")
      }
      let again = try await Command.run("import", "xep0227", "export.xml", in: folder)
      #expect(again.status == 0 && !again.lines.contains { $0.hasPrefix("warning") }, "\(again.lines)")
    }
  }

  @Test func anImportThatCannotBeReadSaysWhatItHasDone() async throws {
    try await withScratchFolder { folder in
      // Without a database a dry run is refused as the import is.
      let early = try await Command.run("user", "import", "users.csv", in: folder)
      let earlyTrial = try await Command.run("user", "import", "users.csv", "--dry-run", in: folder)
      #expect(early.status != 0 && earlyTrial.status == early.status && earlyTrial.lines == early.lines)
      _ = try await Command.run("init", "--no-demo", in: folder)
      let torn = try await Command.run(
        "user", "import", "-", in: folder, input: "jid,password\nann,a long one\nben,\"b\n")
      #expect(torn.status == 1)
      #expect(torn.lines == ["parley: -, line 3: a quote that is never closed; nothing was imported"])
      let header = try await Command.run("user", "import", "-", in: folder, input: "jid,nmae\n")
      #expect(
        header.lines == [
          "parley: -, line 1: there is no column \"nmae\"; the first line names columns: jid and any of password, name, "
            + "externalId, email; nothing was imported"
        ])
      // Columns that most lines leave out, and a dry run, of which nothing stays.
      let table = "jid,password,name,externalId,email\nann,a long password,Ann\n"
      let trial = try await Command.run("user", "import", "-", "--dry-run", in: folder, input: table)
      #expect(trial.status == 0 && trial.output == "1 user imported\n")
      #expect(trial.lines == ["A dry run: nothing was changed. The import would have this report:"])
      let done = try await Command.run("user", "import", "-", in: folder, input: table)
      #expect(done.status == 0 && done.output == "1 user imported\n" && done.errors == "")
    }
  }

  @Test func importsOfUsersAndContacts() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      try Files.write(
        Array("jid,password,name\nalice@localhost,\"a,\"\"b\",Alice\nbob@localhost,b,\nshort\nx y@localhost,b,\n".utf8),
        to: folder + "/users.csv", mode: 0o600)
      let users = try await Command.run("user", "import", "users.csv", in: folder)
      #expect(users.status == 1)
      #expect(users.output == "2 users imported, 2 failed\n")
      #expect(
        users.lines == [
          "users.csv: line 4: A user must have a password, or an externalId or email to sign in by.",
          "users.csv: line 5: x y@localhost is not an address: the localpart holds U+20, which is not allowed there.",
          "warning: 2 of the imported passwords are shorter than apps and parley user add allow. They are accepted, "
            + "because their users may use them in other clients.",
        ])
      let again = try await Command.run(
        "user", "import", "-", "--skip-existing", "--json", in: folder, input: "jid,password\nbob,x\n")
      #expect(again.status == 0)
      #expect(again.output == "{\n  \"failed\" : 0,\n  \"imported\" : 0,\n  \"skipped\" : 1\n}\n")
      // The password of a user who exists is not judged.
      #expect(again.errors == "")
      let keys = try await Command.run(
        "user", "import", "-", "--skip-existing", in: folder,
        input: "jid,password\nbob,{SSHA}kD67x7o6BW8b4dJnovX208NI\n")
      #expect(keys.status == 0 && keys.errors == "")
      let contacts = try await Command.run(
        "roster", "import", "-", "--mutual", in: folder,
        input: "jid,contact,name,groups\nalice@localhost,bob,Bob,A; B\n")
      #expect(contacts.output == "1 contact imported\n")
      let empty = try await Command.run("user", "import", "-", in: folder, input: "jid,password\n")
      #expect(empty.status == 1)
      #expect(empty.output == "0 users imported\n")
      #expect(empty.errors.contains("there is nothing to import in the standard input"))
      let missing = try await Command.run("roster", "import", "missing.csv", in: folder)
      #expect(missing.status == 1)
      #expect(
        missing.lines == [
          "parley: missing.csv cannot be read: there is no such file or folder; a CSV file with the columns jid, contact, "
            + "name, groups is expected"
        ])
      let exported = try await Command.run("roster", "export", "alice", in: folder)
      #expect(exported.output == "jid,contact,name,groups\nalice@localhost,bob@localhost,Bob,A;B\n")
    }
  }

  @Test func wrongUsageIsTwo() async throws {
    try await withScratchFolder { folder in
      for arguments in [
        ["nonsense"], ["user", "add"], ["serve", "--set", "nothing"],
        ["user", "add", "a", "--password-stdin", "--generate"],
      ] {
        let (process, _, _) = try Command.start(arguments, in: folder)
        process.waitUntilExit()
        #expect(process.terminationStatus == 2, "\(arguments)")
      }
      let unasked = try await Command.run("user", "add", "alice@localhost", in: folder)
      #expect(unasked.status == 2)
      #expect(
        unasked.lines == ["parley: --password-stdin or --generate is required when standard input is not a terminal"])
      #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
    }
  }

  @Test(arguments: [
    (["usr"], "parley: Unexpected argument 'usr'; did you mean user? See parley --help."),
    (["usr", "list"], "parley: Unexpected argument 'usr'; did you mean user? See parley --help."),
    (["user", "ad", "x"], "parley: Unexpected argument 'ad'; did you mean add? See parley user --help."),
    (["key", "nonsense"], "parley: Unexpected argument 'nonsense'. See parley key --help."),
    (["user", "add"], "parley: Missing expected argument '<jid>'. See parley user add --help."),
    (
      ["user", "list", "--domian", "a.example"],
      "parley: Unknown option '--domian'. Did you mean '--domain'? See parley user list --help."
    ),
    (
      ["user", "add", "a", "--password-stdin", "--generate"],
      "parley: --password-stdin and --generate exclude each other. See parley user add --help."
    ),
    (
      ["backup", "--list"],
      "parley: a path is expected; or --s3, if backup.s3 or uploads.s3 names a bucket. See parley backup --help."
    ),
    (["backup", "copy.db", "--s3"], "parley: a path and --s3 exclude each other. See parley backup --help."),
    (
      ["restore", "--list"],
      "parley: the path of a backup is expected (parley backup --list FOLDER lists those in a folder); or --s3, if "
        + "backup.s3 or uploads.s3 names a bucket. See parley restore --help."
    ),
  ])
  func anErrorOfUsageIsOneLine(_ arguments: [String], line: String) async throws {
    try withScratchFolder { folder in
      let (process, output, errors) = try Command.start(arguments, in: folder)
      process.waitUntilExit()
      #expect(process.terminationStatus == 2)
      #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
      let text = errors.fileHandleForReading.readDataToEndOfFile()
      #expect(String(decoding: text, as: UTF8.self) == line + "\n")
    }
  }

  @Test func wrongConfigurationIsTwoAndToldAtOnce() async throws {
    try await withScratchFolder { folder in
      try Files.write(Array("xmpp:\n  prot: 1\n".utf8), to: folder + "/parley.yaml", mode: 0o600)
      for command in ["check", "serve"] {
        let outcome = try await Command.run(command, in: folder, environment: ["PARLEY_LOG_LEVEL": "loud"])
        #expect(outcome.status == 2)
        #expect(
          outcome.lines == [
            "parley: xmpp.prot (parley.yaml:2): there is no such key; did you mean xmpp.port?",
            "parley: log.level = loud (PARLEY_LOG_LEVEL): one of trace, debug, info, notice, warning, error, critical is expected",
          ])
      }
      let certificate = try await Command.run(
        "serve", "--config", "/dev/null", "--set", "tls.certificate=missing.pem", "--set", "tls.key=missing.key",
        in: folder)
      #expect(certificate.status == 2)
      #expect(
        certificate.lines == [
          "parley: the certificate \(folder)/missing.pem cannot be read: there is no such file or folder"
        ])
    }
  }

  @Test func warningsOfACheckAreLabelledAndChangeNoStatus() async throws {
    try await withScratchFolder { folder in
      let place = folder + "/parley.yaml/backups"
      try Files.write(
        Array("backup: {every: 1d, folder: \(place)}\n".utf8), to: folder + "/parley.yaml", mode: 0o600)
      let outcome = try await Command.run("check", in: folder)
      #expect(outcome.status == 0)
      let lines = outcome.output.split(separator: "\n")
      #expect(lines.first?.hasPrefix("The configuration is good, with ") == true)
      #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("warning: ") })
      #expect(lines.contains { $0.hasPrefix("warning: backup.folder: ") && $0.contains(" cannot write to \(place): ") })
    }
  }

  /// What is wrong in the settings hides nothing that is wrong in the files that they name.
  @Test func aCheckReportsErrorsOfValuesAndOfFilesAtOnce() async throws {
    try await withScratchFolder { folder in
      let yaml = "push: {apns: {key: none.p8, topics: a.b, team_id: TEAM123456}, fcm: {account: none.json}}\n"
      try Files.write(Array(yaml.utf8), to: folder + "/parley.yaml", mode: 0o600)
      let outcome = try await Command.run("check", in: folder)
      #expect(outcome.status == 2)
      for text in ["push.apns.key_id is not set: ", "push.apns.key: ", "push.fcm.account: "] {
        #expect(outcome.lines.contains { $0.contains(text) }, "\(text): \(outcome.lines)")
      }
    }
  }

  @Test func aListOfLinksSaysThatFederationIsOff() async throws {
    try await withScratchFolder { folder in
      _ = try await Command.run("init", "--no-demo", in: folder)
      let off = try await Command.run("federation", "list", in: folder)
      #expect(off.status == 0 && off.output.contains("federation is off. Set federation.enabled: true"))
      let isOn = try await Command.run("federation", "list", "--set", "federation.enabled=true", in: folder)
      #expect(isOn.output == "There are no links to other servers.\n")
    }
  }

  @Test func aSecretIsNoArgument() async throws {
    try await withScratchFolder { folder in
      let outcome = try await Command.run("serve", "--set", "turn.secret=prospero", in: folder)
      #expect(outcome.status == 2)
      #expect(outcome.lines.count == 1)
      #expect(outcome.lines[0].hasPrefix("parley: turn.secret (--set): a secret must not be on a command line"))
      #expect(!outcome.lines[0].contains("prospero"))
    }
  }

  @Test func theEffectiveValuesAndTheirOrigins() async throws {
    try await withScratchFolder { folder in
      let outcome = try await Command.run(
        "check", "--print", "--set", "threads=3", in: folder, environment: ["PARLEY_XMPP_PORT": "15222"])
      #expect(outcome.status == 0)
      let rows = outcome.output.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
      #expect(rows.contains(["xmpp.port", "15222", "PARLEY_XMPP_PORT"]))
      #expect(rows.contains(["threads", "3", "--set"]))
      #expect(rows.contains(["https.port", "8443", "default"]))
    }
  }

  @Test func helpHasExamplesEverywhere() async throws {
    let commands = [
      [], ["serve"], ["init"], ["check"], ["health"], ["user"], ["user", "add"], ["user", "list"], ["user", "show"],
      ["user", "password"], ["user", "disable"], ["user", "enable"], ["user", "delete"], ["user", "import"], ["roster"],
      ["roster", "list"], ["roster", "add"], ["roster", "remove"], ["roster", "import"], ["roster", "export"],
      ["dialog"], ["dialog", "list"], ["dialog", "show"], ["dialog", "create"], ["dialog", "members"],
      ["dialog", "add"], ["dialog", "role"], ["dialog", "remove"], ["dialog", "delete"],
    ]
    try await withScratchFolder { folder in
      for command in commands {
        let (process, output, _) = try Command.start(command + ["--help"], in: folder)
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(text.contains("Example"), "\(command)")
        #expect(text.contains("  parley \(command.joined(separator: " "))"), "\(command)")
      }
      // Commands of this machine only do not show the options of those that act on a server elsewhere.
      for (command, isShown) in [("export", false), ("import", false), ("user list", true)] {
        let words = command.split(separator: " ").map(String.init)
        let (process, output, _) = try Command.start(words + (isShown ? [] : ["xep0227"]) + ["--help"], in: folder)
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text.contains("--config") && text.contains("--server") == isShown, "\(command)")
      }
      let completion = try await Command.run("--generate-completion-script", "bash", in: folder)
      #expect(completion.status == 0)
      #expect(completion.output.contains("password-stdin"))
    }
  }

  @Test func initPreparesOnce() async throws {
    try await withScratchFolder { folder in
      let first = try await Command.run("init", in: folder)
      #expect(first.status == 0)
      #expect(first.output.contains("juliet@localhost"))
      let second = try await Command.run("init", in: folder)
      #expect(second.status == 0)
      #expect(second.output == "The data folder \(folder)/data was prepared before.\n")
    }
  }

  @Test func anotherFileInTheDatabasesPlaceIsOneLine() async throws {
    try await withScratchFolder { folder in
      try Files.makeFolder(folder + "/data", mode: 0o700)
      try Files.write(
        Array("this is no database, but long enough to be one".utf8), to: folder + "/data/parley.db", mode: 0o600)
      let outcome = try await Command.run("user", "list", in: folder)
      #expect(outcome.status == 1)
      #expect(outcome.lines.count == 1)
      #expect(outcome.lines[0].hasPrefix("parley: "))
      #expect(outcome.lines[0].contains("parley.db"))
    }
  }
}
