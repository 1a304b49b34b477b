import Administration
import ArgumentParser
import ParleyServer

struct DialogShow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows a dialog: what it is called, who owns it, who may find it.",
    discussion: """
      Examples:
        parley dialog show team@conference.localhost
        parley dialog show team --json
      """)

  @Argument(help: "The dialog.") var dialog: String
  @OptionGroup var output: OutputOptions
  @OptionGroup var options: ConfigurationOptions

  func run() async throws {
    try await options.withAdministration { administration, _ in
      let shown = try await administration.call(ShowDialog.self, ShowDialog.Input(dialog: dialog))
      var table = TextTable("Dialog", shown.dialog.jid)
      table.add(["id", shown.dialog.id])
      table.add(["external id", shown.externalId ?? ""])
      table.add(["name", shown.dialog.name ?? ""])
      table.add(["about", shown.about ?? ""])
      table.add(["topic", shown.topic ?? ""])
      table.add(["type", shown.dialog.type + (shown.dialog.listed ? ", anybody finds it" : ", hidden")])
      table.add(["new members read", shown.history == "all" ? "everything" : "what comes after they joined"])
      if shown.slowModeSeconds > 0 { table.add(["slow mode", "\(shown.slowModeSeconds) s"]) }
      table.add(["created", shown.dialog.createdAt])
      table.add(["messages", String(shown.messages)])
      table.add(["members", String(shown.dialog.members)])
      for owner in shown.owners { table.add(["owner", owner]) }
      for admin in shown.admins { table.add(["admin", admin]) }
      try output.print(shown, String(table.text().dropLast()))
    }
  }
}
