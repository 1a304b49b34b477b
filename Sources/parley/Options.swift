import Administration
import ArgumentParser
import FoundationEssentials
import ParleyServer
import ServerConfiguration

/// The options of every command that determine the configuration.
struct ConfigurationOptions: ParsableArguments {
  @Option(
    name: .long, help: "The configuration file; else ./parley.yaml or /etc/parley/parley.yaml if there is one.",
    completion: .file(extensions: ["yaml", "yml"]))
  var config: String?

  @Option(name: .long, help: "The data folder.", completion: .directory)
  var data: String?

  @Option(name: .customLong("set"), help: ArgumentHelp("Sets a key of the configuration.", valueName: "key=value"))
  var values: [String] = []

  func settings() throws -> Settings {
    var arguments = SettingsArguments(file: config)
    if let data { arguments.values.append(("data", data, "--data")) }
    for value in values {
      guard let equals = value.firstIndex(of: "=") else {
        throw ValidationError("--set \(value): key=value is expected, as --set xmpp.port=5222")
      }
      arguments.values.append((String(value[..<equals]), String(value[value.index(after: equals)...]), "--set"))
    }
    return try Settings.load(arguments, environment: ProcessInfo.processInfo.environment)
  }
}

/// The options for output to programs.
struct OutputOptions: ParsableArguments {
  @Flag(name: .long, help: "Writes JSON.")
  var json = false

  /// Prints `value` as JSON or `text`.
  func print(_ value: some Encodable, _ text: @autoclosure () -> String) throws {
    Terminal.print(json ? String(decoding: try AdminJSON.encode(value, pretty: true), as: UTF8.self) : text())
  }
}

/// The options of every command that works on the data.
struct CommandOptions: ParsableArguments {
  @OptionGroup var output: OutputOptions
  @OptionGroup var configuration: ConfigurationOptions

  /// Calls `body` with access to the data.
  ///
  /// - Parameter creating: Whether a missing data folder is created; otherwise it is an error.
  func withData(creating: Bool = false, _ body: (CommandContext) async throws -> Void) async throws {
    let settings = try configuration.settings()
    let administration = try await AdminConnection.open(settings, creating: creating)
    do {
      try await body(CommandContext(settings: settings, administration: administration))
    } catch {
      await administration.close()
      throw error
    }
    await administration.close()
  }
}

/// The data that a command works on.
struct CommandContext {
  let settings: Settings
  let administration: AdminConnection

  func call<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: Operation.Input
  ) async throws -> Operation.Output {
    try await administration.call(operation, input)
  }

  /// Returns an address; a text without an @ is a localpart of the first domain.
  func address(_ text: String) -> String { address(text, in: nil) }

  /// Returns an address; a text without an @ is a localpart of the domain, or of the first.
  func address(_ text: String, in domain: String?) -> String {
    text.contains("@") ? text : "\(text)@\(domain ?? settings.domains[0].name)"
  }
}

/// The source of a password. It is never an argument, since other users of the machine see those.
struct PasswordOptions: ParsableArguments {
  @Flag(name: .customLong("password-stdin"), help: "Reads the password from the first line of standard input.")
  var fromInput = false

  @Flag(name: .long, help: "Makes a random password and prints it.")
  var generate = false

  func validate() throws {
    if fromInput, generate { throw ValidationError("--password-stdin and --generate exclude each other") }
  }

  /// Returns the password, and whether it was generated and has to be shown.
  func password(for user: String) throws -> (text: String, isGenerated: Bool) {
    if generate { return (Passwords.make(), true) }
    if fromInput {
      guard let line = Terminal.readLine(), !line.isEmpty else {
        throw StartupError("there is no password on standard input", .usage)
      }
      return (line, false)
    }
    guard Terminal.inputIsTerminal else {
      throw StartupError("--password-stdin or --generate is needed where nobody can be asked", .usage)
    }
    guard let first = Terminal.readSecret("Password for \(user) (empty: make one): ") else {
      throw StartupError("no password was given")
    }
    if first.isEmpty { return (Passwords.make(), true) }
    guard Terminal.readSecret("Again: ") == first else { throw StartupError("the two passwords differ") }
    return (first, false)
  }
}

/// The common part of both imports.
enum Import {
  static func run(_ noun: String, path: String, skipsExisting: Bool = false) -> ImportRun {
    let draws = Terminal.errorIsTerminal
    return ImportRun(
      noun, path: path, skipsExisting: skipsExisting, show: draws ? { Terminal.replaceLine($0) } : nil,
      tell: { text in
        if draws { Terminal.replaceLine("") }
        Terminal.note("\(path): \(text)")
      })
  }

  static func finish(_ run: ImportRun, _ output: OutputOptions) throws {
    if Terminal.errorIsTerminal { Terminal.note("") }
    try output.print(run.report, run.summary)
    if run.failed > 0 { throw ExitCode(1) }
  }
}
