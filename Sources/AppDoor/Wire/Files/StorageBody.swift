import JSON

/// How much of what a user may keep here is used.
struct StorageBody: Hashable, Sendable, JSONObjectWritable {
  /// Bytes of all files, and how many may be.
  var bytes: Int64
  var bytesMax: Int64
  /// Files, and how many may be.
  var files: Int
  var filesMax: Int
  /// Bytes that were asked for within the last 24 hours, and how many may be.
  var dayBytes: Int64
  var dayBytesMax: Int64
  /// Bytes of one file.
  var fileBytesMax: Int64
  /// Slots that wait for their bytes.
  var slots: Int

  func writeMembers(to writer: inout JSONWriter) {
    writer.member("bytes", bytes)
    writer.member("bytesMax", bytesMax)
    writer.member("files", files)
    writer.member("filesMax", filesMax)
    writer.member("dayBytes", dayBytes)
    writer.member("dayBytesMax", dayBytesMax)
    writer.member("fileBytesMax", fileBytesMax)
    writer.member("slots", slots)
  }
}
