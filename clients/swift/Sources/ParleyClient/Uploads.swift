public import Foundation

extension Parley {
  /// Uploads a file: in parts, if it is large. A part whose answer is lost is continued where the server has it. Returns the attachment,
  /// whose id can be sent. Cancelling the task cancels the upload.
  ///
  /// - Parameters:
  ///   - file: Bytes, or a file that is read part by part.
  ///   - purpose: `message` or `profile`.
  ///   - onProgress: Is told how many bytes the server has, and of how many.
  public func upload(
    _ file: FileInput, purpose: String? = nil, onProgress: (@Sendable (_ done: Int, _ total: Int) -> Void)? = nil
  ) async throws -> Attachment {
    try await opened()
    let size = try read { try file.size() }
    return try await upload(file, slot: nil, purpose: purpose) { _ in
    } onProgress: {
      onProgress?($0, size)
    }
  }

  private func read<T>(_ work: () throws -> T) throws -> T {
    do { return try work() } catch { throw ParleyError("file-unreadable", "\(error)") }
  }

  /// Uploads a file part by part (the IETF's draft on resumable uploads). The slot, which `onSlot` is given, continues an earlier upload.
  func upload(
    _ file: FileInput, slot given: Attachment?, purpose: String?, onSlot: (Attachment) async throws -> Void,
    onProgress: (Int) -> Void
  ) async throws -> Attachment {
    let size = try read { try file.size() }
    var slot: Attachment
    if let given { slot = given } else { slot = try await newSlot(file, size, purpose, onSlot) }
    var isResumed = given != nil
    var isKnown = given == nil
    var offset = 0
    var attempts = 0
    let part = min(Limits.partMax, max(Limits.partMin, (size + 39) / 40))
    while true {
      guard let address = slot.uploadUrl.flatMap({ fileUrl($0) }) else {
        throw ParleyError("answer-malformed", "No uploadUrl.")
      }
      if Task.isCancelled {
        Task { _ = try? await once("DELETE", address) }
        throw ParleyError.aborted
      }
      do {
        if !isKnown {
          let answer = try await once("HEAD", address)
          offset = answer.headers["upload-offset"].flatMap { Int($0) } ?? 0
          isKnown = true
          if answer.headers["upload-complete"] == "?1" { break }
        }
        onProgress(offset)
        let end = min(size, offset + part)
        let bytes = try read { try file.read(offset..<end) }
        guard bytes.count == end - offset else { throw ParleyError("file-unreadable", "The file has become shorter.") }
        _ = try await once(
          "PATCH", address,
          headers: [
            ("Content-Type", "application/partial-upload"), ("Upload-Offset", String(offset)),
            ("Upload-Complete", end == size ? "?1" : "?0"),
          ], body: bytes)
        attempts = 0
        offset = end
        if end == size { break }
      } catch let error as ParleyError {
        if error.code == "aborted" { continue }
        if isResumed, error.code == "upload-unknown" || error.code == "upload-late" {
          // The slot from before a restart has expired.
          slot = try await newSlot(file, size, purpose, onSlot)
          (isResumed, isKnown, offset) = (false, true, 0)
          continue
        }
        let isElsewhere = error.code == "upload-offset-mismatch"
        attempts += 1
        guard isElsewhere || error.isTemporary, attempts < Limits.partAttempts else { throw error }
        isKnown = false
        if !isElsewhere { await pause(error.retryAfter.map { .milliseconds(Int($0 * 1000)) } ?? Self.delay(attempts)) }
      }
    }
    onProgress(size)
    (slot.uploadUrl, slot.uploadUntil) = (nil, nil)
    return slot
  }

  private func newSlot(
    _ file: FileInput, _ size: Int, _ purpose: String?, _ onSlot: (Attachment) async throws -> Void
  ) async throws -> Attachment {
    let slot: Attachment = try await ask(
      "POST", "/attachments",
      body: .object(
        JSONObject([
          ("name", .string(file.name)), ("mediaType", .string(file.mediaType)), ("size", .integer(size)),
          ("width", JSONValue(file.width)), ("height", JSONValue(file.height)),
          ("durationMs", JSONValue(file.durationMs)),
          ("purpose", JSONValue(purpose)), ("resumable", true),
        ])))
    try await onSlot(slot)
    return slot
  }

  public func attachment(_ id: String) async throws -> Attachment { try await ask("GET", path("attachments", id)) }
  public func storageUse() async throws -> StorageUse { try await ask("GET", "/users/me/storage") }

  /// The address at which this client reads a file: on a development server without a trusted certificate that of the plain port.
  public nonisolated func fileUrl(_ address: String) -> URL? {
    guard let place = URL(string: address, relativeTo: url)?.absoluteURL,
      var parts = URLComponents(url: place, resolvingAgainstBaseURL: false)
    else { return nil }
    if url.scheme == "http", parts.path.hasPrefix("/uploads/") {
      (parts.scheme, parts.host, parts.port) = (url.scheme, url.host, url.port)
    }
    return parts.url
  }
}
