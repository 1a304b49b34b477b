extension Parley {
  /// Updates the full-text index; a search finds only indexed messages. Other writes run between the pieces.
  public func indexMessages() async throws(Problem) {
    while try await work(keepingCaches: true, { try $0.indexMessages(limit: Limits.indexedAtOnce) }) {}
  }
}
