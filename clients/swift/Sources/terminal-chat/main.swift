// A chat with one person in a terminal. Run it:
// CHAT_URL=http://127.0.0.1:8080 CHAT_USER=juliet CHAT_PASSWORD=... swift run terminal-chat romeo
import Foundation
import ParleyClient

let environment = ProcessInfo.processInfo.environment
let address = environment["CHAT_URL"] ?? "http://127.0.0.1:8080"
guard CommandLine.arguments.count == 2, let url = URL(string: address) else {
  print("usage: terminal-chat USER")
  exit(64)
}
let me = environment["CHAT_USER"] ?? "juliet"
let file = URL(fileURLWithPath: environment["CHAT_FILE"] ?? "\(me).store")

/// What is typed, line by line; the end of the input ends it.
func lines() -> AsyncStream<String> {
  let (stream, continuation) = AsyncStream<String>.makeStream()
  Thread.detachNewThread {
    while let line = readLine() { continuation.yield(line) }
    continuation.finish()
  }
  return stream
}

func show(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

do {
  // The login, the place in the log and what is not sent yet are in the file: at the second start nobody types a password.
  let parley = try Parley(url: url, storage: FileStorage(file), client: "terminal-chat")
  if try await !parley.open() {
    try await parley.signIn(.password(username: me, password: environment["CHAT_PASSWORD"] ?? ""))
  }
  let talk = try await parley.openPrivate(CommandLine.arguments[1])
  let view = try await parley.view(talk.id, limit: 20)
  // Every message once, and one's own again at each step: sending, sent, delivered, read.
  let showing = Task {
    var shown: [String: String] = [:]
    for await messages in await view.changes() {
      for message in messages {
        let status = message.status.map { " [\($0.rawValue)]" } ?? ""
        let line = "\(message.senderId): \(message.content.text)\(status)"
        if shown.updateValue(line, forKey: message.key) != line { show(line) }
      }
      try? await view.markRead()
    }
  }
  let events = await parley.events()
  let telling = Task {
    for await case .connection(let state, let error) in events { show("-- \(state) \(error?.code ?? "")") }
  }
  try await parley.connect()
  for await line in lines() where !line.isEmpty { try await view.send(line) }
  try await parley.sent()
  showing.cancel()
  telling.cancel()
  await parley.close()
} catch {
  show("\(error)")
  exit(1)
}
