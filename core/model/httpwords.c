#include "core/model/httpwords.h"

#include "core/base/base.h"

const char *const httpwords_api[] = {
	/* interfaces and their versions */
	"api apis rest graphql rpc grpc soap odata jsonrpc xmlrpc ws wss websocket sockjs socket io "
	"stream streams sse events event gateway proxy public private internal external admin "
	"management manage manager beta alpha stable latest current legacy common shared core app "
	"apps web mobile site service services server servers client clients backend frontend",
	/* people and access, as resources */
	"user users me self account accounts profile profiles member members membership memberships "
	"customer customers contact contacts person persons people employee employees staff team "
	"teams group groups org orgs organization organizations organisation organisations tenant "
	"tenants workspace workspaces company companies partner partners vendor vendors supplier "
	"suppliers merchant merchants seller sellers buyer buyers subscriber subscribers guest guests "
	"visitor visitors role roles permission permissions scope scopes policy policies invite "
	"invites invitation invitations friend friends follower followers following avatar avatars",
	"login logout signin signout signup register registration auth authenticate authentication "
	"authorize authorization oauth oauth2 oidc openid connect sso saml token tokens refresh revoke "
	"introspect userinfo session sessions password passwords reset forgot verify verification "
	"confirm confirmation activate deactivate activation mfa otp captcha csrf key keys "
	"certs certificate certificates jwks secret secrets credential credentials callback",
	/* trade */
	"order orders item items line lines cart carts basket baskets checkout payment payments pay "
	"refund refunds charge charges invoice invoices billing transaction transactions "
	"transfer transfers payout payouts balance balances wallet wallets card cards bank banks "
	"product products catalog catalogs catalogue category categories brand brands variant "
	"variants sku skus stock stocks inventory warehouse warehouses price prices pricing discount "
	"discounts coupon coupons voucher vouchers promotion promotions offer offers deal deals quote "
	"quotes subscription subscriptions plan plans tax taxes shipping shipment shipments delivery "
	"deliveries tracking return returns review reviews rating ratings wishlist wishlists favorite "
	"favorites favourites recommendation recommendations related similar purchase purchases sale "
	"sales store stores shop shops booking bookings reservation reservations trip trips ticket "
	"tickets seat seats room rooms hotel hotels flight flights ride rides driver drivers vehicle "
	"vehicles",
	/* content and work */
	"article articles post posts page pages blog blogs news comment comments reply replies thread "
	"threads topic topics forum forums message messages inbox outbox mail mails email emails sms "
	"notification notifications alert alerts feed feeds timeline story stories like likes vote "
	"votes poll polls survey surveys form forms question questions answer answers tag tags label "
	"labels note notes document documents doc docs file files folder folders attachment "
	"attachments image images img photo photos picture pictures video videos audio media asset "
	"assets album albums playlist playlists song songs track tracks artist artists book books "
	"course courses lesson lessons project projects task tasks issue issues board boards sprint "
	"sprints milestone milestones list lists card calendar calendars meeting meetings schedule "
	"schedules shift shifts job jobs application applications candidate candidates template "
	"templates theme themes widget widgets menu menus dashboard dashboards report reports chart "
	"charts map maps location locations place places address addresses city cities country "
	"countries region regions zone zones area areas currency currencies language languages locale "
	"locales translation translations time date dates year month week day today",
	/* code and machines */
	"repo repos repository repositories branch branches commit commits pull pulls merge merges "
	"release releases build builds pipeline pipelines deployment deployments deploy environment "
	"environments env namespace namespaces pod pods node nodes cluster clusters container "
	"containers registry volume volumes network networks instance instances machine machines host "
	"hosts device devices sensor sensors endpoint endpoints webhook webhooks hook hooks "
	"integration integrations connector connectors plugin plugins extension extensions module "
	"modules package packages library libraries function functions lambda workflow workflows run "
	"runs step steps trigger triggers queue queues worker workers cache caches bucket buckets "
	"object objects blob blobs table tables row rows column columns record records index indexes "
	"indices schema schemas collection collections database databases dataset datasets view views "
	"type types field fields attribute attributes property properties entity entities resource "
	"resources model models version versions revision revisions snapshot snapshots backup backups "
	"history log logs audit audits metric metrics trace traces span spans series query queries "
	"search find lookup filter filters sort suggest suggestions suggest autocomplete complete "
	"completions chat embeddings scroll bulk batch batches count counts sum stats statistics "
	"analytics insights usage summary summaries overview detail details info information meta "
	"metadata config configs configuration configurations setting settings preference preferences "
	"option options feature features flag flags experiment experiments rule rules limit limits "
	"quota quotas",
	/* what is done */
	"create new add insert update edit modify patch put get set fetch read write save delete "
	"remove destroy archive unarchive restore undo copy clone move rename import imports export "
	"exports upload uploads download downloads preview print render convert validate check test "
	"tests ping echo status state states health healthz healthcheck ready readyz readiness live "
	"livez liveness alive startup up heartbeat version info debug start stop pause resume cancel "
	"retry restart execute process submit approve reject accept decline assign unassign enable "
	"disable open close lock unlock publish unpublish share subscribe unsubscribe follow unfollow "
	"join leave send receive sync connect disconnect attach detach link unlink bind unbind "
	"increment decrement calculate estimate generate transform compare match by for of to from in "
	"with and or on at all any none first last next previous prev top recent popular trending "
	"active inactive pending completed failed open closed available default mine own id ids uuid "
	"name names slug value values data content contents body text title key code codes number "
	"numbers size sizes random",
	/* what servers have by themselves */
	"index home about help support faq terms privacy legal imprint static public dist build "
	"assets css js fonts font icons icon favicon robots sitemap manifest humans crossdomain "
	"browserconfig apple touch service worker sw bundle main vendor runtime chunk polyfills styles "
	"style scripts script swagger openapi redoc actuator prometheus metrics cgi bin php wp content "
	"includes json ajax xmlrpc server nginx stub well known error errors maintenance "
	"pgbench items fast slow sleep hello world example examples demo sample hot cold",
};
const size_t httpwords_api_count = LENGTH(httpwords_api);

const char *const httpwords_types[] = {
	"html htm xhtml php asp aspx jsp do action cgi js mjs cjs ts map css scss less json jsonl xml "
	"yaml yml txt md csv tsv pdf rtf doc docx xls xlsx ppt pptx odt ods png jpg jpeg gif webp avif "
	"svg ico bmp tif tiff heic woff woff2 ttf otf eot mp3 mp4 m4a m4s m4v webm ogg ogv oga wav "
	"flac avi mov mkv ts m3u8 mpd vtt srt zip gz tgz bz2 xz zst tar 7z rar jar war whl deb rpm "
	"apk ipa dmg exe msi iso bin wasm proto rss atom ics vcf webmanifest appcache parquet avro "
	"pbf mvt glb gltf",
};
const size_t httpwords_types_count = LENGTH(httpwords_types);

const char *const httpwords_header[] = {
	/* media types (RFC 6838) and what they are made of */
	"application audio font image message model multipart text video json xml html xhtml xhr "
	"javascript ecmascript x www form urlencoded data mixed alternative related byteranges "
	"octet stream plain css csv calendar markdown event ndjson jsonl jsonlines seq ld hal vnd "
	"problem patch merge api graphql response cbor msgpack protobuf proto grpc web soap wsdl atom "
	"rss svg png jpeg jpg gif webp avif apng bmp icon tiff signed exchange pdf zip gzip tar "
	"mpeg mp4 ogg webm wav woff woff2 ttf otf wasm yaml toml sql manifest geo topo openmetrics "
	"prometheus telemetry ms excel word powerpoint openxmlformats officedocument collection siren "
	"github amazon google fetch shockwave flash xslt rdf turtle delta zstd",
	/* parameters, codings, directives */
	"q charset utf us ascii iso windows boundary level version profile odata metadata minimal full "
	"none streaming true false deflate br compress identity chunked trailers trailer keep alive "
	"close upgrade http2 settings te websocket h2c h2 http tls timeout max age no cache store "
	"transform must revalidate proxy only if cached s maxage private public stale while error "
	"immutable min fresh bytes continue expect xmlhttprequest cors navigate same origin site cross "
	"include omit empty document script style worker iframe object embed track report track u i "
	"respond async wait return minimal representation handling strict lenient depth infinity w "
	"get head post put delete options trace connect accept content type length language encoding "
	"authorization requested with modified since none match range csrf header origin x grpc "
	"permessage client window bits server context takeover",
};
const size_t httpwords_header_count = LENGTH(httpwords_header);

const char *const httpwords_agent[] = {
	"mozilla applewebkit khtml like gecko chrome chromium crios headlesschrome safari mobile "
	"version firefox fxios edg edge edga edgios opr opera presto trident msie compatible samsungbrowser ucbrowser "
	"yabrowser vivaldi brave duckduckgo webview wv build bot crawler spider googlebot bingbot "
	"applebot yandexbot baiduspider facebookexternalhit twitterbot slackbot linkedinbot "
	"macintosh intel mac os x ppc windows nt win win64 wow64 x64 x86 i686 i386 amd64 arm arm64 "
	"aarch64 linux ubuntu debian fedora android iphone ipad ipod cpu cros xbsd freebsd openbsd u "
	"darwin cfnetwork ios tablet touch rv en us not a brand google microsoft",
	"curl libcurl wget httpie apachebench ab wrk wrk2 hey vegeta k6 locust jmeter gatling siege "
	"h2load nghttp nghttp2 httperf goreplay gor postmanruntime insomnia http go client python "
	"requests urllib urllib3 aiohttp httpx java okhttp apache httpclient jersey jetty netty reactor "
	"spring resttemplate webclient feign ruby faraday httparty rest excon perl libwww lwp php guzzlehttp "
	"guzzle symfony node nodejs fetch undici axios got superagent deno bun dart dio rust reqwest "
	"hyper ureq dotnet net httpclient powershell grpc c core cpp objc swift kotlin kube probe "
	"prometheus elb healthchecker googlehc uptimerobot pingdom datadog newrelic envoy nginx "
	"haproxy traefik varnish amazon cloudfront aws sdk boto3 botocore gsutil gcloud stripe "
	"openssl gnutls libressl boringssl zlib brotli libidn2 libpsl libssh2 ssl",
};
const size_t httpwords_agent_count = LENGTH(httpwords_agent);

/* The registry of RFC 9110, section 16.1, and two of proxies. */
const char *const httpwords_methods[] = {
	"GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH PRI ACL BASELINE-CONTROL BIND CHECKIN "
	"CHECKOUT COPY LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE "
	"MOVE ORDERPATCH PROPFIND PROPPATCH QUERY REBIND REPORT SEARCH UNBIND UNCHECKOUT UNLINK UNLOCK "
	"UPDATE UPDATEREDIRECTREF VERSION-CONTROL PURGE BAN",
};
const size_t httpwords_methods_count = LENGTH(httpwords_methods);
