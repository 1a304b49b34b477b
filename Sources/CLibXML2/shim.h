// libxml2: push parsing with SAX2 events, of imported files and as the test oracle of the scanner.
#include <libxml/xmlversion.h>
// The system's ICU, which encoding.h would include for members at the end of a struct that is only used by pointers here, has
// the names of the ICU in Swift's Foundation: a module that imports both does not compile.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/SAX2.h>
#include <libxml/xmlerror.h>
