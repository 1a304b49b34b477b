import Glibc

/// A cell of the earth's surface, about a kilometre long and wide: the only stored location of a user.
public struct GridCell: Hashable, Sendable {
  /// The row from the south pole, 0 to `Grid.rows` - 1.
  public let row: Int
  /// The column from the 180th meridian eastward, 0 to `Grid.columns(row)` - 1.
  public let column: Int
  public init(row: Int, column: Int) {
    self.row = row
    self.column = column
  }
}

/// The grid that locations are snapped to. Its cells are fixed: queries from a hundred places reveal a user's cell, and
/// never more.
public enum Grid {
  /// The number of rows, each a hundredth of a degree of latitude: 1,112 m.
  static let rows = 18_000
  /// Kilometres; the earth's mean radius.
  static let earthRadius = 6_371.0

  /// Returns the cell of a coordinate; `nil` if it is invalid.
  public static func cell(latitude: Double, longitude: Double) -> GridCell? {
    guard latitude.isFinite, longitude.isFinite, abs(latitude) <= 90, abs(longitude) <= 180 else { return nil }
    let row = min(rows - 1, Int((latitude + 90) * Double(rows) / 180))
    let count = columns(row)
    return GridCell(row: row, column: min(count - 1, Int((longitude + 180) / 360 * Double(count))))
  }

  /// Returns the number of columns that makes a cell about as wide as it is long: fewer towards the poles.
  static func columns(_ row: Int) -> Int {
    max(1, Int((2 * Double(rows) * cos(radians(latitude(row)))).rounded()))
  }

  private static func latitude(_ row: Int) -> Double { (Double(row) + 0.5) * 180 / Double(rows) - 90 }
  private static func longitude(_ cell: GridCell) -> Double {
    (Double(cell.column) + 0.5) * 360 / Double(columns(cell.row)) - 180
  }
  private static func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }

  /// Returns the whole kilometres between the centres of two cells, rounded up, at least 1.
  public static func kilometres(_ a: GridCell, _ b: GridCell) -> Int {
    let (first, second) = (radians(latitude(a.row)), radians(latitude(b.row)))
    let across = sin(radians(longitude(a) - longitude(b)) / 2)
    let along = sin((first - second) / 2)
    // The haversine, bounded by one against rounding.
    let half = min(1, along * along + cos(first) * cos(second) * across * across)
    return max(1, Int((2 * earthRadius * asin(half.squareRoot())).rounded(.up)))
  }

  /// Returns the cells whose centres may be within so many kilometres, one row at a time, nearest rows first; two
  /// ranges where they cross the 180th meridian.
  package static func around(_ cell: GridCell, kilometres: Int) -> [(row: Int, columns: ClosedRange<Int>)] {
    let degrees = Double(kilometres) / (earthRadius * .pi / 180)
    let reach = Int((degrees * Double(rows) / 180).rounded(.up))
    // The extent of a circle east and west of its centre, at any of its latitudes; everything around a pole.
    let (latitude, radius) = (radians(Self.latitude(cell.row)), radians(degrees))
    let reachesPole = abs(latitude) + radius >= .pi / 2
    let wide = reachesPole ? 180 : asin(sin(radius) / cos(latitude)) * 180 / .pi
    var ranges: [(row: Int, columns: ClosedRange<Int>)] = []
    for step in 0...reach {
      for row in step == 0 ? [cell.row] : [cell.row - step, cell.row + step] where (0..<rows).contains(row) {
        let count = columns(row)
        let width = (wide / 360 * Double(count)).rounded(.up) + 1
        guard width * 2 + 1 < Double(count) else {
          ranges.append((row, 0...(count - 1)))
          continue
        }
        let middle = min(count - 1, Int((longitude(cell) + 180) / 360 * Double(count)))
        let (low, high) = (middle - Int(width), middle + Int(width))
        if low < 0 {
          ranges.append((row, (count + low)...(count - 1)))
          ranges.append((row, 0...high))
        } else if high >= count {
          ranges.append((row, low...(count - 1)))
          ranges.append((row, 0...(high - count)))
        } else {
          ranges.append((row, low...high))
        }
      }
    }
    return ranges
  }
}
