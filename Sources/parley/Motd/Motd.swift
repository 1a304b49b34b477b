import ArgumentParser

struct Motd: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The message of the day: shown once to each user, now or at their next login.",
    discussion: """
      Examples:
        parley motd set "We move to a new machine on Friday."
        parley motd edit "We move to a new machine on Saturday."
        parley motd show
        parley motd delete
      """,
    subcommands: [MotdSet.self, MotdEdit.self, MotdShow.self, MotdDelete.self])
}
