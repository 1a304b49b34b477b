import ArgumentParser
import ParleyServer

struct Check: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Checks the configuration without starting anything.",
    discussion: """
      Every mistake is told in one go, with its key, its value and where it was written. Certificates are read, too.

      Examples:
        parley check
        parley check --config /etc/parley/parley.yaml --print
        PARLEY_XMPP_PORT=15222 parley check --print --json
      """)

  @OptionGroup var options: ConfigurationOptions
  @OptionGroup var output: OutputOptions
  @Flag(name: .customLong("print"), help: "Prints the value of every key and where it comes from; secrets are masked.")
  var prints = false

  func run() async throws {
    let settings = try options.settings()
    let wrong = Certificates.check(settings)
    guard wrong.isEmpty else { throw Refusal(lines: wrong, .usage) }
    if prints {
      var table = TextTable("Key", "Value", "From")
      for entry in settings.effective { table.add([entry.key, entry.value, entry.origin]) }
      try output.print(settings.effective, String(table.text().dropLast()))
    } else {
      try output.print(
        ["file": settings.file],
        "The configuration is good" + (settings.file.map { " (\($0))." } ?? " (no file; environment and defaults)."))
    }
  }
}
