// libxml2 as the test oracle of the scanner: push parsing with SAX2 events.
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/SAX2.h>
#include <libxml/xmlerror.h>
