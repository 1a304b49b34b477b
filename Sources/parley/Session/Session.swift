import ArgumentParser

struct Session: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Sessions: who is online, with which client, and since when.",
    discussion: """
      Example:
        parley session list
      """,
    subcommands: [SessionList.self, SessionShow.self, SessionClose.self])
}
