import ArgumentParser

struct Roster: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Contacts of users: list, add, remove, import, export.",
    discussion: """
      Clients that are connected are notified at once. A name without @ belongs to the first domain.

      Examples:
        parley roster list alice@localhost
        parley roster add alice@localhost bob@localhost --mutual
        parley roster export > rosters.csv
      """,
    subcommands: [RosterList.self, RosterAdd.self, RosterRemove.self, RosterImport.self, RosterExport.self])
}
