import StoreConformance
import Testing

@Suite struct ConformanceTests {
  @Test(arguments: StoreConformance.cases)
  func conforms(_ example: StoreConformance.Case) throws {
    let folder = try Folder()
    try example.run { try folder.open() }
  }
}
