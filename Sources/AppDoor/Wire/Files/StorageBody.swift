import JSON

/// The caller's use of file storage.
struct StorageBody: Hashable, Sendable, JSONObjectWritable {
  /// The bytes of all files, and their maximum.
  var bytes: Int64
  var bytesMax: Int64
  /// The number of files, and its maximum.
  var files: Int
  var filesMax: Int
  /// The bytes requested within the last 24 hours, and their maximum.
  var dayBytes: Int64
  var dayBytesMax: Int64
  /// The most bytes of one file.
  var fileBytesMax: Int64
  /// The open slots.
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
