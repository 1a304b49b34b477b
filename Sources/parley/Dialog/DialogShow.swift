import Administration
import ArgumentParser

struct DialogShow: AdminCommand {
  typealias Operation = ShowDialog
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Shows a dialog: its name, its owners, who may find it.",
    discussion: """
      Examples:
        parley dialog show team@conference.localhost
        parley dialog show team --json
      """)

  @Argument(help: "The dialog.") var dialog: String
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(dialog: dialog) }

  func text(_ shown: Operation.Output) -> String {
    var table = TextTable("Dialog", shown.dialog.jid)
    table.add(["id", shown.dialog.id])
    table.add(["external id", shown.externalId ?? ""])
    if let id = shown.userExternalId { table.add(["its creator's id", "\(id), by \(shown.creator ?? "")"]) }
    table.add(["name", shown.dialog.name ?? ""])
    table.add(["about", shown.about ?? ""])
    table.add(["topic", shown.topic ?? ""])
    table.add(["type", shown.dialog.type + (shown.dialog.listed ? ", listed in searches" : ", hidden")])
    table.add(["new members read", shown.history == "all" ? "everything" : "messages since they joined"])
    if shown.slowModeSeconds > 0 { table.add(["slow mode", "\(shown.slowModeSeconds) s"]) }
    table.add(["created", shown.dialog.createdAt])
    table.add(["messages", String(shown.messages)])
    table.add(["members", String(shown.dialog.members)])
    for owner in shown.owners { table.add(["owner", owner]) }
    for admin in shown.admins { table.add(["admin", admin]) }
    return table.text()
  }
}
