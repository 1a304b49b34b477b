import Foundation

extension Parley {
  /// Puts a message into the outbox, and returns it when it is stored there, as it is shown until the server has it. It is sent in order
  /// within its dialog, again and again until there is an answer, also after a restart.
  @discardableResult public func send(_ dialogId: String, _ message: NewMessage) async throws -> LocalMessage {
    try await opened()
    guard !isClosed else { throw ParleyError.closed }
    guard session != nil else { throw ParleyError.signedOut }
    let clientId = message.clientId ?? UUID().uuidString.lowercased()
    let entry = try outboxState.add(
      message.body(clientId: clientId), clientId: clientId, to: dialogId, files: message.files, at: Date())
    tellChanged(entry)
    do { try await store(entry) } catch {
      if let entry = outboxState.remove(clientId) { gone(entry, nil) }
      throw error
    }
    guard let stored = outboxState.stored(clientId) else { return shown(entry) }
    tellChanged(stored)
    drain(dialogId)
    return shown(stored)
  }

  @discardableResult public func send(_ dialogId: String, _ text: String) async throws -> LocalMessage {
    try await send(dialogId, NewMessage(text: text))
  }

  /// The same, and waits for the answer of the server. Throws if the message is refused; it is then no longer in the outbox. If the client
  /// is closed or the login ends before the answer, it throws `closed` or the reason, and the message stays in the outbox.
  @discardableResult public func sendNow(_ dialogId: String, _ message: NewMessage) async throws -> Message {
    try await opened()
    var message = message
    let clientId = message.clientId ?? UUID().uuidString.lowercased()
    message.clientId = clientId
    guard outboxState[clientId] == nil, answers[clientId] == nil else {
      throw ParleyError("client-id-reused", "A message with this clientId waits already.")
    }
    let given = message
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          answers[clientId] = continuation
          Task {
            do { try await send(dialogId, given) } catch {
              answers.removeValue(forKey: clientId)?.resume(throwing: error)
            }
          }
        }
      } onCancel: {
        Task { try? await self.discard(clientId) }
      }
    } catch {
      if !isClosed, session != nil { try? await discard(clientId) }
      throw error
    }
  }

  @discardableResult public func sendNow(_ dialogId: String, _ text: String) async throws -> Message {
    try await sendNow(dialogId, NewMessage(text: text))
  }

  /// Sends a failed message once more.
  public func retry(_ clientId: String) async throws {
    try await opened()
    guard let entry = outboxState.retry(clientId) else { return }
    tellChanged(entry)
    try await store(entry)
    drain(entry.dialogId)
  }

  /// Removes a message from the outbox, and cancels its upload. Whether it had been sent already cannot be known while it is being sent.
  public func discard(_ clientId: String) async throws {
    try await opened()
    guard let entry = outboxState.remove(clientId) else { return }
    gone(entry, nil)
    try await forget(entry)
  }

  /// Waits until the outbox has nothing left to send; failed messages are left. Throws if the client is closed or the login ends before.
  public func sent() async throws {
    try await opened()
    guard !outboxState.isEmpty else { return }
    guard !isClosed else { throw ParleyError.closed }
    guard session != nil else { throw ParleyError.signedOut }
    try await withCheckedThrowingContinuation { drained.append($0) }
  }

  /// Nobody waits any more for what is in the outbox, where it stays.
  func endWaiting(_ error: ParleyError) {
    for answer in answers.values { answer.resume(throwing: error) }
    for waiter in drained { waiter.resume(throwing: error) }
    (answers, drained) = ([:], [])
  }

  func tellIfDrained() {
    guard outboxState.isEmpty else { return }
    for waiter in drained { waiter.resume() }
    drained = []
  }

  func shown(_ entry: Outbox.Entry) -> LocalMessage {
    LocalMessage(
      entry, isStoring: outboxState.isStoring(entry.clientId), senderId: userId ?? "",
      progress: progress[entry.clientId])
  }

  private func store(_ entry: Outbox.Entry) async throws {
    guard entry.isStorable else { return }
    try await write([StorageChange("outbox", entry.key, JSON.encode(entry))])
  }

  private func forget(_ entry: Outbox.Entry) async throws {
    try await write([StorageChange("outbox", entry.key, nil)])
  }

  private func tellChanged(_ entry: Outbox.Entry) {
    emit(.outbox(shown(entry)))
    tellViews(of: entry.dialogId)
  }

  /// An entry has been removed: the server has it as this message, or it was discarded.
  func gone(_ entry: Outbox.Entry, _ message: Message?) {
    progress[entry.clientId] = nil
    uploading.removeValue(forKey: entry.clientId)?.cancel()
    emit(.sent(clientId: entry.clientId, dialogId: entry.dialogId, message: message))
    tellViews(of: entry.dialogId)
    let answer = answers.removeValue(forKey: entry.clientId)
    if let message {
      answer?.resume(returning: message)
    } else {
      answer?.resume(throwing: ParleyError("aborted", "The message was discarded."))
    }
    tellIfDrained()
  }

  /// The server has the message: by the answer or by the event, whichever comes first.
  func settle(_ clientId: String, _ message: Message) {
    guard let entry = outboxState.remove(clientId) else { return }
    gone(entry, message)
    Task { do { try await forget(entry) } catch { failed(error) } }
  }

  func drainAll() { for dialogId in Set(outboxState.entries.map(\.dialogId)) { drain(dialogId) } }

  private func drain(_ dialogId: String) {
    guard sending[dialogId] == nil, !isClosed, session != nil, outboxState.next(in: dialogId) != nil else { return }
    sending[dialogId] = Task {
      await deliverAll(dialogId)
      sending[dialogId] = nil
      drain(dialogId)
    }
  }

  private func deliverAll(_ dialogId: String) async {
    var attempts = 0
    while !isClosed, session != nil, let entry = outboxState.next(in: dialogId) {
      do {
        let message = try await deliver(entry)
        attempts = 0
        // The event may have told it already.
        store.add(message)
        addToViews(message)
        settle(entry.clientId, message)
        storeChanged()
      } catch {
        let error = ParleyError.of(error)
        guard outboxState[entry.clientId] != nil else { continue }
        if isClosed || error.code == "signed-out" || error.code == "closed" { return }
        if error.isTemporary {
          await pause(error.retryAfter.map { .milliseconds(Int($0 * 1000)) } ?? Self.delay(attempts))
          attempts += 1
          continue
        }
        await refused(entry.clientId, error)
      }
    }
  }

  private func refused(_ clientId: String, _ error: ParleyError) async {
    progress[clientId] = nil
    guard let entry = outboxState.fail(clientId, error) else { return }
    tellChanged(entry)
    do { try await store(entry) } catch { failed(error) }
    answers.removeValue(forKey: clientId)?.resume(throwing: error)
    tellIfDrained()
  }

  private func deliver(_ entry: Outbox.Entry) async throws -> Message {
    var entry = entry
    if entry.files != nil {
      let given = entry
      let task = Task { try await uploadFiles(given) }
      uploading[entry.clientId] = task
      defer { uploading[entry.clientId] = nil }
      try await task.value
      guard let uploaded = outboxState[entry.clientId] else { throw ParleyError.aborted }
      entry = uploaded
      var content = entry.body["content"]?.object ?? [:]
      content["attachments"] = .array((entry.files ?? []).compactMap { JSONValue($0.id) })
      entry.body["content"] = .object(content)
    }
    var body = entry.body
    guard state == .online else {
      return try await ask("POST", path("dialogs", entry.dialogId, "messages"), body: .object(body))
    }
    body["dialogId"] = .string(entry.dialogId)
    let data = try await command("message.send", body)
    do { return try JSON.decode(Reply<Message>.self, from: data).data } catch {
      throw ParleyError("answer-malformed", "\(error)")
    }
  }

  private func uploadFiles(_ entry: Outbox.Entry) async throws {
    let sizes = try (entry.files ?? []).map { try $0.input.size() }
    let total = max(1, sizes.reduce(0, +))
    var before = 0
    for (index, size) in sizes.enumerated() {
      guard let file = outboxState[entry.clientId]?.files?[index] else { throw ParleyError.aborted }
      if file.id == nil {
        let done = before
        let attachment = try await upload(file.input, slot: file.slot, purpose: nil) { slot in
          try await self.change(entry.clientId, index) { $0.slot = slot }
        } onProgress: { sent in
          self.progress(Double(done + sent) / Double(total), of: entry.clientId)
        }
        try await change(entry.clientId, index) { $0.id = attachment.id }
      }
      before += size
    }
  }

  private func change(_ clientId: String, _ index: Int, _ change: (inout Outbox.Upload) -> Void) async throws {
    guard var entry = outboxState[clientId], entry.files?.indices.contains(index) == true else {
      throw ParleyError.aborted
    }
    change(&entry.files![index])
    guard outboxState.change(entry) else { return }
    try await store(entry)
  }

  private func progress(_ part: Double, of clientId: String) {
    guard let entry = outboxState[clientId] else { return }
    progress[clientId] = min(1, part)
    tellChanged(entry)
  }
}
