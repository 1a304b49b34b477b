import Administration
import ArgumentParser
import Basics
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

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp("Sets a key of the configuration that is no secret.", valueName: "key=value"))
  var values: [String] = []

  /// Returns the variables of the configuration.
  func variables() -> [String: String] {
    Settings.variables(ProcessInfo.processInfo.environment, SettingsArguments(file: config))
      .filter { !RemoteOptions.variables.contains($0.key) }
  }

  /// - Parameters:
  ///   - variables: Those of the configuration; nil for those of now.
  ///   - isOfServer: Whether this process is the server.
  ///   - check: Returns what else is wrong where the settings have errors, so that all is reported at once.
  func settings(
    _ variables: [String: String]? = nil, isOfServer: Bool = false, also check: (Settings) -> [String] = { _ in [] }
  ) throws -> Settings {
    var arguments = SettingsArguments(file: config)
    arguments.isOfServer = isOfServer
    if let data { arguments.values.append(("data", data, "--data")) }
    for value in values {
      guard let equals = value.firstIndex(of: "=") else {
        throw ValidationError("--set \(value): key=value is expected, as --set xmpp.port=5222")
      }
      arguments.values.append((String(value[..<equals]), String(value[value.index(after: equals)...]), "--set"))
    }
    return try Settings.load(arguments, environment: variables ?? self.variables(), also: check)
  }

  /// Whether the data of this machine is meant.
  var isGiven: Bool { config != nil || data != nil || !values.isEmpty }
}

/// The options that perform a command on a remote server (docs/decisions/0041). The root command has them, too, so
/// that they may stand before the command's name.
struct RemoteOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "The URL of a remote server, as https://chat.example.org (default: PARLEY_SERVER, or this machine's server).",
      valueName: "url"))
  var server: String?

  @Option(
    name: .long,
    help: ArgumentHelp("A file with an app key of that server (default: the key in PARLEY_KEY).", valueName: "file"),
    completion: .file())
  var keyFile: String?

  @Option(
    name: .customLong("ca"),
    help: ArgumentHelp(
      "A PEM file of authorities to trust besides the system's (default: PARLEY_CA).", valueName: "file"),
    completion: .file(extensions: ["pem", "crt"]))
  var authorities: String?

  private static let serverVariable = "PARLEY_SERVER"
  private static let keyVariable = "PARLEY_KEY"
  private static let authoritiesVariable = "PARLEY_CA"
  /// The variables of commands, which are no keys of the configuration.
  static let variables: Set = [serverVariable, keyVariable, authoritiesVariable]

  private static func variable(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns a connection to the remote server; nil for this machine. Options take precedence over variables.
  func connection(_ local: ConfigurationOptions) throws -> AdminConnection? {
    if server == nil, local.isGiven {
      guard keyFile == nil, authorities == nil else { throw ValidationError("--key-file and --ca require --server") }
      return nil
    }
    guard let url = server ?? Self.variable(Self.serverVariable) else {
      guard keyFile == nil, authorities == nil else {
        throw ValidationError("--key-file and --ca require --server (or PARLEY_SERVER)")
      }
      return nil
    }
    if local.isGiven { throw ValidationError("--config, --data and --set cannot be combined with --server") }
    guard let key = try keyFile.map({ try RemoteClient.key(in: $0) }) ?? Self.variable(Self.keyVariable) else {
      throw StartupError("\(url) requires an app key: --key-file FILE, or PARLEY_KEY", .usage)
    }
    return try AdminConnection.remote(
      url, key: key, keySource: keyFile ?? Self.keyVariable,
      authorities: authorities ?? Self.variable(Self.authoritiesVariable))
  }

  /// Returns the running server, on this machine or remote.
  func running(_ local: ConfigurationOptions) async throws -> AdminConnection {
    if let elsewhere = try connection(local) { return elsewhere }
    return try await AdminConnection.running(local.settings())
  }

  /// Throws if a remote server is given.
  func refuse(_ local: ConfigurationOptions) throws {
    if server != nil || !local.isGiven && Self.variable(Self.serverVariable) != nil {
      throw StartupError(
        "this command works only on the server's own machine (command-local): run it there, without "
          + (server == nil ? Self.serverVariable : "--server"), .usage)
    }
  }
}

/// The options of a command of this machine only.
struct LocalOptions: ParsableArguments {
  @OptionGroup var configuration: ConfigurationOptions
  @OptionGroup(visibility: .hidden) var remote: RemoteOptions

  func settings(
    _ variables: [String: String]? = nil, isOfServer: Bool = false, also check: (Settings) -> [String] = { _ in [] }
  ) throws -> Settings {
    try remote.refuse(configuration)
    return try configuration.settings(variables, isOfServer: isOfServer, also: check)
  }
}

/// The options for output to programs.
struct OutputOptions: ParsableArguments {
  @Flag(name: .long, help: "Writes JSON.")
  var json = false

  /// Prints `value` as JSON or `text`.
  func print(_ value: some Encodable, _ text: @autoclosure () -> String) throws {
    guard json else { return Terminal.print(text()) }
    Terminal.print(Line.safe(json: String(decoding: try AdminJSON.encode(value, pretty: true), as: UTF8.self)))
  }
}

/// The options of every command that works on the data.
struct CommandOptions: DataOptions {
  @OptionGroup var output: OutputOptions
  @OptionGroup var configuration: ConfigurationOptions
  @OptionGroup(title: "Options for a remote server") var remote: RemoteOptions
}

/// The options of a command that works on the data of this machine only.
struct LocalDataOptions: DataOptions {
  @OptionGroup var output: OutputOptions
  @OptionGroup var configuration: ConfigurationOptions
  @OptionGroup(visibility: .hidden) var remote: RemoteOptions
}

protocol DataOptions: ParsableArguments {
  var configuration: ConfigurationOptions { get }
  var remote: RemoteOptions { get }
}

extension DataOptions {
  /// Calls `body` with access to the data.
  ///
  /// - Parameters:
  ///   - creating: Whether a missing database is created; otherwise it is an error.
  ///   - copying: What ends the copying if `body` works on a copy of this machine's database, or on an empty one if there is
  ///     none, of which nothing stays; nil if it works on the database itself.
  func withData(
    creating: Bool = false, copying: Cancellation? = nil, _ body: (CommandContext) async throws -> Void
  ) async throws {
    let settings: Settings?
    let administration: AdminConnection
    if let copying {
      try remote.refuse(configuration)
      let local = try configuration.settings()
      (settings, administration) = (local, try AdminConnection.copy(of: local, creating: creating, until: copying))
    } else if let elsewhere = try remote.connection(configuration) {
      (settings, administration) = (nil, elsewhere)
    } else {
      let local = try configuration.settings()
      (settings, administration) = (local, try await AdminConnection.open(local, creating: creating))
    }
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
  /// The configuration of this machine; nil for a remote server.
  let settings: Settings?
  let administration: AdminConnection

  func call<Operation: AdminOperation>(
    _ operation: Operation.Type, _ input: Operation.Input
  ) async throws -> Operation.Output {
    try await administration.call(operation, input)
  }

  /// Returns an address; a text without an @ is a localpart of the first domain. A remote server takes it for one of
  /// the key's domain.
  func address(_ text: String) -> String { address(text, in: nil) }

  /// Returns an address; a text without an @ is a localpart of the domain, if one is named.
  func address(_ text: String, in domain: String?) -> String {
    guard !text.contains("@"), let domain = domain ?? settings?.domains[0].name else { return text }
    return "\(text)@\(domain)"
  }
}

/// The source of a password. It is never an argument, since other users of the machine see those.
struct PasswordOptions: ParsableArguments {
  @Flag(
    name: .customLong("password-stdin"),
    help: "Reads the password from the first line of standard input; on a terminal it is typed without echo.")
  var fromInput = false

  @Flag(name: .long, help: "Generates a random password and prints it.")
  var generate = false

  func validate() throws {
    if fromInput, generate { throw ValidationError("--password-stdin and --generate exclude each other") }
  }

  /// Returns the password, and whether it was generated and has to be shown.
  func password(for user: String) throws -> (text: String, isGenerated: Bool) {
    if generate { return (Passwords.make(), true) }
    if fromInput, !Terminal.inputIsTerminal {
      guard let line = Terminal.readLine(), !line.isEmpty else {
        throw StartupError("there is no password on standard input", .usage)
      }
      try Self.check(line)
      return (line, false)
    }
    guard Terminal.inputIsTerminal else {
      throw StartupError("--password-stdin or --generate is required when standard input is not a terminal", .usage)
    }
    guard let first = Terminal.readSecret("Password for \(user) (empty: generate one): ") else {
      throw StartupError("no password was given")
    }
    if first.isEmpty { return (Passwords.make(), true) }
    try Self.check(first)
    guard Terminal.readSecret("Again: ") == first else { throw StartupError("the two passwords differ") }
    return (first, false)
  }

  private static func check(_ password: String) throws {
    if let flaw = Passwords.flaw(of: password) { throw StartupError(flaw, .usage) }
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

  static func finish(_ run: ImportRun, path: String, _ output: OutputOptions) throws {
    if Terminal.errorIsTerminal { Terminal.note("") }
    try output.print(run.report, run.summary)
    if run.isEmpty {
      let place = path == "-" ? "the standard input" : path
      throw StartupError("there is nothing to import in \(place): it has only the line of column names")
    }
    if run.failed > 0 { throw ExitCode(1) }
  }
}
