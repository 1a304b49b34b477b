extension Parley {
  /// Brings the index of what was said up to date; a search finds what was committed before. Between the pieces others
  /// are served.
  public func indexMessages() async throws(Problem) {
    while try await work(keepingCaches: true, { try $0.indexMessages(limit: Limits.indexedAtOnce) }) {}
  }
}
