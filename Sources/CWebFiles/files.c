#include "CWebFiles.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

/*
 * Every file that browsers are served, from `clients/` of the repository. `#embed` (C23) takes a name that no macro can
 * make, so each file has three lines here, and one in the list below; a client check compares the list with the folders.
 */
static const uint8_t admin_admin_css[] = {
#embed "../../clients/admin/admin.css"
};
static const uint8_t admin_admin_js[] = {
#embed "../../clients/admin/admin.js"
};
static const uint8_t admin_api_js[] = {
#embed "../../clients/admin/api.js"
};
static const uint8_t admin_elements_js[] = {
#embed "../../clients/admin/elements.js"
};
static const uint8_t admin_index_html[] = {
#embed "../../clients/admin/index.html"
};
static const uint8_t admin_sections_js[] = {
#embed "../../clients/admin/sections.js"
};
static const uint8_t admin_signin_js[] = {
#embed "../../clients/admin/signin.js"
};
static const uint8_t js_calls_js[] = {
#embed "../../clients/js/calls.js"
};
static const uint8_t js_connection_js[] = {
#embed "../../clients/js/connection.js"
};
static const uint8_t js_dialogs_js[] = {
#embed "../../clients/js/dialogs.js"
};
static const uint8_t js_errors_js[] = {
#embed "../../clients/js/errors.js"
};
static const uint8_t js_following_js[] = {
#embed "../../clients/js/following.js"
};
static const uint8_t js_operations_js[] = {
#embed "../../clients/js/operations.js"
};
static const uint8_t js_outbox_js[] = {
#embed "../../clients/js/outbox.js"
};
static const uint8_t js_parley_js[] = {
#embed "../../clients/js/parley.js"
};
static const uint8_t js_people_js[] = {
#embed "../../clients/js/people.js"
};
static const uint8_t js_proof_js[] = {
#embed "../../clients/js/proof.js"
};
static const uint8_t js_requests_js[] = {
#embed "../../clients/js/requests.js"
};
static const uint8_t js_storage_js[] = {
#embed "../../clients/js/storage.js"
};
static const uint8_t js_store_js[] = {
#embed "../../clients/js/store.js"
};
static const uint8_t js_tabs_js[] = {
#embed "../../clients/js/tabs.js"
};
static const uint8_t js_uploads_js[] = {
#embed "../../clients/js/uploads.js"
};
static const uint8_t js_view_js[] = {
#embed "../../clients/js/view.js"
};
static const uint8_t web_account_identities_js[] = {
#embed "../../clients/web/account/identities.js"
};
static const uint8_t web_account_security_js[] = {
#embed "../../clients/web/account/security.js"
};
static const uint8_t web_account_settings_js[] = {
#embed "../../clients/web/account/settings.js"
};
static const uint8_t web_app_js[] = {
#embed "../../clients/web/app.js"
};
static const uint8_t web_bubble_js[] = {
#embed "../../clients/web/bubble.js"
};
static const uint8_t web_calls_js[] = {
#embed "../../clients/web/calls.js"
};
static const uint8_t web_composer_js[] = {
#embed "../../clients/web/composer.js"
};
static const uint8_t web_dialog_js[] = {
#embed "../../clients/web/dialog.js"
};
static const uint8_t web_dom_js[] = {
#embed "../../clients/web/dom.js"
};
static const uint8_t web_drafts_js[] = {
#embed "../../clients/web/drafts.js"
};
static const uint8_t web_files_js[] = {
#embed "../../clients/web/files.js"
};
static const uint8_t web_history_js[] = {
#embed "../../clients/web/history.js"
};
static const uint8_t web_i18n_js[] = {
#embed "../../clients/web/i18n.js"
};
static const uint8_t web_icon_192_png[] = {
#embed "../../clients/web/icon-192.png"
};
static const uint8_t web_icon_512_png[] = {
#embed "../../clients/web/icon-512.png"
};
static const uint8_t web_icon_maskable_png[] = {
#embed "../../clients/web/icon-maskable.png"
};
static const uint8_t web_icon_svg[] = {
#embed "../../clients/web/icon.svg"
};
static const uint8_t web_icons_js[] = {
#embed "../../clients/web/icons.js"
};
static const uint8_t web_index_html[] = {
#embed "../../clients/web/index.html"
};
static const uint8_t web_info_js[] = {
#embed "../../clients/web/info.js"
};
static const uint8_t web_invite_js[] = {
#embed "../../clients/web/invite.js"
};
static const uint8_t web_list_js[] = {
#embed "../../clients/web/list.js"
};
static const uint8_t web_lookalikes_js[] = {
#embed "../../clients/web/lookalikes.js"
};
static const uint8_t web_manifest_webmanifest[] = {
#embed "../../clients/web/manifest.webmanifest"
};
static const uint8_t web_messageactions_js[] = {
#embed "../../clients/web/messageactions.js"
};
static const uint8_t web_nearby_js[] = {
#embed "../../clients/web/nearby.js"
};
static const uint8_t web_newchat_js[] = {
#embed "../../clients/web/newchat.js"
};
static const uint8_t web_notifications_js[] = {
#embed "../../clients/web/notifications.js"
};
static const uint8_t web_people_js[] = {
#embed "../../clients/web/people.js"
};
static const uint8_t web_preferences_js[] = {
#embed "../../clients/web/preferences.js"
};
static const uint8_t web_provider_js[] = {
#embed "../../clients/web/provider.js"
};
static const uint8_t web_qr_js[] = {
#embed "../../clients/web/qr.js"
};
static const uint8_t web_share_js[] = {
#embed "../../clients/web/share.js"
};
static const uint8_t web_signin_js[] = {
#embed "../../clients/web/signin.js"
};
static const uint8_t web_stars_js[] = {
#embed "../../clients/web/stars.js"
};
static const uint8_t web_strings_ar_js[] = {
#embed "../../clients/web/strings/ar.js"
};
static const uint8_t web_strings_en_js[] = {
#embed "../../clients/web/strings/en.js"
};
static const uint8_t web_styles_base_css[] = {
#embed "../../clients/web/styles/base.css"
};
static const uint8_t web_styles_layout_css[] = {
#embed "../../clients/web/styles/layout.css"
};
static const uint8_t web_styles_messages_css[] = {
#embed "../../clients/web/styles/messages.css"
};
static const uint8_t web_summary_js[] = {
#embed "../../clients/web/summary.js"
};
static const uint8_t web_sw_js[] = {
#embed "../../clients/web/sw.js"
};
static const uint8_t web_terms_js[] = {
#embed "../../clients/web/terms.js"
};
static const uint8_t web_text_js[] = {
#embed "../../clients/web/text.js"
};
static const uint8_t web_tone_js[] = {
#embed "../../clients/web/tone.js"
};
static const uint8_t web_ui_js[] = {
#embed "../../clients/web/ui.js"
};
static const uint8_t web_voice_js[] = {
#embed "../../clients/web/voice.js"
};

#define ENTRY(path, bytes) {path, bytes, sizeof bytes}

static const parley_web_file files[] = {
    ENTRY("admin/admin.css", admin_admin_css),
    ENTRY("admin/admin.js", admin_admin_js),
    ENTRY("admin/api.js", admin_api_js),
    ENTRY("admin/elements.js", admin_elements_js),
    ENTRY("admin/index.html", admin_index_html),
    ENTRY("admin/sections.js", admin_sections_js),
    ENTRY("admin/signin.js", admin_signin_js),
    ENTRY("js/calls.js", js_calls_js),
    ENTRY("js/connection.js", js_connection_js),
    ENTRY("js/dialogs.js", js_dialogs_js),
    ENTRY("js/errors.js", js_errors_js),
    ENTRY("js/following.js", js_following_js),
    ENTRY("js/operations.js", js_operations_js),
    ENTRY("js/outbox.js", js_outbox_js),
    ENTRY("js/parley.js", js_parley_js),
    ENTRY("js/people.js", js_people_js),
    ENTRY("js/proof.js", js_proof_js),
    ENTRY("js/requests.js", js_requests_js),
    ENTRY("js/storage.js", js_storage_js),
    ENTRY("js/store.js", js_store_js),
    ENTRY("js/tabs.js", js_tabs_js),
    ENTRY("js/uploads.js", js_uploads_js),
    ENTRY("js/view.js", js_view_js),
    ENTRY("web/account/identities.js", web_account_identities_js),
    ENTRY("web/account/security.js", web_account_security_js),
    ENTRY("web/account/settings.js", web_account_settings_js),
    ENTRY("web/app.js", web_app_js),
    ENTRY("web/bubble.js", web_bubble_js),
    ENTRY("web/calls.js", web_calls_js),
    ENTRY("web/composer.js", web_composer_js),
    ENTRY("web/dialog.js", web_dialog_js),
    ENTRY("web/dom.js", web_dom_js),
    ENTRY("web/drafts.js", web_drafts_js),
    ENTRY("web/files.js", web_files_js),
    ENTRY("web/history.js", web_history_js),
    ENTRY("web/i18n.js", web_i18n_js),
    ENTRY("web/icon-192.png", web_icon_192_png),
    ENTRY("web/icon-512.png", web_icon_512_png),
    ENTRY("web/icon-maskable.png", web_icon_maskable_png),
    ENTRY("web/icon.svg", web_icon_svg),
    ENTRY("web/icons.js", web_icons_js),
    ENTRY("web/index.html", web_index_html),
    ENTRY("web/info.js", web_info_js),
    ENTRY("web/invite.js", web_invite_js),
    ENTRY("web/list.js", web_list_js),
    ENTRY("web/lookalikes.js", web_lookalikes_js),
    ENTRY("web/manifest.webmanifest", web_manifest_webmanifest),
    ENTRY("web/messageactions.js", web_messageactions_js),
    ENTRY("web/nearby.js", web_nearby_js),
    ENTRY("web/newchat.js", web_newchat_js),
    ENTRY("web/notifications.js", web_notifications_js),
    ENTRY("web/people.js", web_people_js),
    ENTRY("web/preferences.js", web_preferences_js),
    ENTRY("web/provider.js", web_provider_js),
    ENTRY("web/qr.js", web_qr_js),
    ENTRY("web/share.js", web_share_js),
    ENTRY("web/signin.js", web_signin_js),
    ENTRY("web/stars.js", web_stars_js),
    ENTRY("web/strings/ar.js", web_strings_ar_js),
    ENTRY("web/strings/en.js", web_strings_en_js),
    ENTRY("web/styles/base.css", web_styles_base_css),
    ENTRY("web/styles/layout.css", web_styles_layout_css),
    ENTRY("web/styles/messages.css", web_styles_messages_css),
    ENTRY("web/summary.js", web_summary_js),
    ENTRY("web/sw.js", web_sw_js),
    ENTRY("web/terms.js", web_terms_js),
    ENTRY("web/text.js", web_text_js),
    ENTRY("web/tone.js", web_tone_js),
    ENTRY("web/ui.js", web_ui_js),
    ENTRY("web/voice.js", web_voice_js),
};

const parley_web_file *parley_web_file_list(void) { return files; }
const size_t parley_web_file_count = sizeof files / sizeof *files;
