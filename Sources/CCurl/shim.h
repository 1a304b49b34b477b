// libcurl, with its variadic functions made plain: Swift imports none of those.
#include <curl/curl.h>

static inline CURLcode parley_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

// The string is copied (all but CURLOPT_POSTFIELDS, which nobody sets by this).
static inline CURLcode parley_curl_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

// Does not wait for the end of a name lookup that nobody wants any more (libcurl 7.87 and newer).
static inline void parley_curl_set_quick_exit(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
}

typedef size_t (*parley_curl_write)(char *bytes, size_t size, size_t count, void *context);
typedef size_t (*parley_curl_read)(char *bytes, size_t size, size_t count, void *context);
typedef curl_socket_t (*parley_curl_open)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

// CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION
static inline CURLcode parley_curl_set_write(CURL *easy, CURLoption option, parley_curl_write value) {
  return curl_easy_setopt(easy, option, value);
}

// CURLOPT_READFUNCTION
static inline CURLcode parley_curl_set_read(CURL *easy, CURLoption option, parley_curl_read value) {
  return curl_easy_setopt(easy, option, value);
}

// CURLOPT_OPENSOCKETFUNCTION
static inline CURLcode parley_curl_set_open(CURL *easy, CURLoption option, parley_curl_open value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode parley_curl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode parley_curl_get_pointer(CURL *easy, CURLINFO info, void *value) {
  return curl_easy_getinfo(easy, info, (void **)value);
}

static inline CURLMcode parley_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

// Of a CURLMSG_DONE.
static inline CURLcode parley_curl_result(CURLMsg *message) { return message->data.result; }
