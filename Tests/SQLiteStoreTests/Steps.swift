import CSQLite
import Dialogs
import Testing

@testable import SQLiteStore

private final class Steps {
  var count = 0
}

/// Returns the hundreds of steps of the engine that `body` takes.
func steps(_ writer: any StoreWriter, _ body: () throws -> Void) throws -> Int {
  let handle = try #require((writer as? Writer)?.connection.handle)
  let steps = Steps()
  sqlite3_progress_handler(
    handle, 100,
    { context in
      if let context { Unmanaged<Steps>.fromOpaque(context).takeUnretainedValue().count += 1 }
      return 0
    }, Unmanaged.passUnretained(steps).toOpaque())
  defer { sqlite3_progress_handler(handle, 0, nil, nil) }
  try body()
  return withExtendedLifetime(steps) { steps.count }
}
