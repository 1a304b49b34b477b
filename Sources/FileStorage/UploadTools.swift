package import Dialogs

extension BlobTools {
  /// The programs that look at files.
  ///
  /// - Parameters:
  ///   - thumbnails: whether small pictures are made of pictures, and avatars of larger ones.
  ///   - scan: what scans; nil: nothing.
  ///   - folder: where pictures in memory are written for a program to read.
  package init(thumbnails: Bool, scan: ScanOptions?, folder: String) {
    self.init()
    if thumbnails, let pictures = VipsPictures(folder: folder) { self.pictures = pictures }
    guard let scan else { return }
    isScanNeeded = scan.isNeeded
    switch scan.scanner {
    case .clamd(let address): scanner = ClamdScanner(address: address, time: scan.time)
    case .command(let arguments): scanner = CommandScanner(arguments: arguments, time: scan.time)
    }
  }

  /// What thumbnails need and this machine has not; nil: nothing.
  package static var missingProgram: String? {
    ChildProgram.find(VipsPictures.name) == nil ? "\(VipsPictures.name) is not installed (libvips-tools)" : nil
  }
}
