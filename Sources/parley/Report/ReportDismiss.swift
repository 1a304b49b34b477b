import Administration
import ArgumentParser

struct ReportDismiss: AdminCommand {
  typealias Operation = DismissReport
  static let configuration = CommandConfiguration(
    commandName: "dismiss",
    abstract: "Deletes a report and what it quotes.",
    discussion: """
      Example:
        parley report dismiss 4
      """)

  @Argument(help: "The report's number, as in the list.") var id: Int64
  @OptionGroup var options: CommandOptions

  func input(in context: CommandContext) -> Operation.Input { .init(id: id) }

  func text(_ output: Operation.Output) -> String { "Dismissed report \(id)." }
}
