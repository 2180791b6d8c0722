r"""The preset `secrets`: keys, tokens and passwords that are known by their form.

Each format is stated by the vendor's page beside it. What can be told from the candidate alone is told: a
checksum where the format has one, and else that it is no placeholder (`ghp_xxxx…`, `AKIA…EXAMPLE`,
`sk-1234567890…`). A secret without a form of its own (32 hexadecimal digits behind `api_key =`) is not
found, and neither is what is meant to be public, such as Stripe's `pk_live_…`.

As with the other tables, hold-back is exact, every repeat is bounded, and patterns begin with `START`. Those
that go on with some literal character stand together, so that where none of these stands nothing is tried.
At each place that is tried the engine resets every repeat of the whole table, so they are few: mostly one a
pattern, and what else is known of a form is asked of the candidate.
"""

from collections.abc import Callable
from typing import Final

from guardrails.text.pattern import Pattern
from processors._patterns._common import START
from processors._patterns._secret_checks import (
    classic_token_length,
    credentials_length,
    discord_token_length,
    grafana_token_length,
    if_mixed,
    jwt_length,
    key_block_length,
    unless_placeholder,
)

_END: Final = r"(?![A-Za-z0-9])"
_URL_SAFE: Final = r"[A-Za-z0-9_\-]"


def _key(label: str, form: str, verify: Callable[[str], int] = unless_placeholder) -> Pattern:
    return Pattern(label, f"{START}(?:{form})", f"secrets.{label.lower()}", verify=verify)


# --- Private keys: RFC 7468, RFC 4716 (four dashes), RFC 9580 (PGP). A block may stand in JSON or code, with
# `\n` for its line breaks, be quoted, or have spaces for them. Between header and end only what is in such a
# block may stand, so that a text that merely names `-----BEGIN PRIVATE KEY-----` is not held. A block without
# an end is found as far as it goes: its first line needs 16 characters of base64, and every further one;
# a shorter last line belongs to it before the end line or at the end of the text. No text is both gap and
# base64, or two halves of it would be tried in every way: a `+` joins strings only before a space or escape.
_BREAK: Final = r"(?:\r\n|\n|\\{1,2}r\\{1,2}n|\\{1,2}n)"
_GAP: Final = (
    r"(?:[ \t\r\n>\"',#|*\-]|\\{1,2}(?:[nrt]|u000[aAdD9])|\\(?=[\r\n])"
    r"|<[bB][rR] ?/?>|[\"'] ?\+(?=[\s\\])){1,48}"
)
_BASE64: Final = r"(?:[A-Za-z0-9+/=]|\\/)"
_LINES: Final = rf"(?:{_GAP}{_BASE64}{{16,8192}}){{1,1024}}"
_NAME: Final = r"(?:Proc-Type|DEK-Info|Version|Comment|Subject|Hash|Charset|MessageID)"
_KEY_BLOCK: Final = (
    r"---(?:--|-|- )BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK-|-| )----"
    rf"(?:{_BREAK}{_NAME}: [^\r\n\\]{{0,120}}){{0,6}}{_LINES}"
    # The last line and a checksum of PGP's, then the end.
    rf"(?:(?:{_GAP}{_BASE64}{{1,15}}){{0,2}}{_GAP}(?:\+|)----(?:-| )END [A-Z0-9 ]{{11,40}}(?:-| )----"
    rf"|{_BREAK}{_BASE64}{{1,15}}$|)"
)
# https://tartarus.org/~simon/putty-snapshots/htmldoc/AppendixC.html#ppk
_PUTTY_KEY: Final = (
    rf"Private-Lines: [0-9]{{1,3}}{_LINES}(?:{_BREAK}{_BASE64}{{1,15}}(?={_BREAK}Private-MAC: |$)|)"
)

# --- JSON Web Tokens: RFC 7515 (compact serialisation, three parts), RFC 7516 (encrypted, five).
# One begins behind no dash, which may be within one: or else a text full of `-eyJ` is read from each of them.
# Behind a low line (`token_eyJ`) its header has none.
_JWT_BODY: Final = (
    rf"\.{_URL_SAFE}{{0,8192}}\.{_URL_SAFE}{{0,1400}}"
    rf"(?:\.{_URL_SAFE}{{1,4096}}\.{_URL_SAFE}{{8,64}}|)"
)
_JWT: Final = rf"eyJ{_URL_SAFE}{{8,1024}}{_JWT_BODY}"

_WITH_ANY_BEGINNING: Final = (
    # https://core.telegram.org/bots/api#authorizing-your-bot
    _key("TELEGRAM_BOT_TOKEN", rf"(?:bot|)[0-9]{{8,10}}:AA{_URL_SAFE}{{33}}{_END}"),
    # https://learn.microsoft.com/azure/storage/common/storage-account-keys-manage: 64 bytes in base64, of
    # which new ones have a signature, as Cosmos DB's have;
    # https://learn.microsoft.com/azure/service-bus-messaging/service-bus-sas: 32 bytes
    _key(
        "AZURE_KEY",
        r"(?<=AccountKey=|AccessKey=)[A-Za-z0-9+/]{43,86}=(?:=|)"
        r"|(?<![+/])[A-Za-z0-9+/]{76}(?:\+ASt|ACDb)[A-Za-z0-9+/]{6}==",
    ),
    # https://learn.microsoft.com/purview/sit-defn-azure-ad-client-secret
    _key(
        "AZURE_CLIENT_SECRET",
        rf"[A-Za-z0-9_~.\-][A-Za-z0-9_~.\-][A-Za-z0-9_~.\-][0-9]Q~[A-Za-z0-9_~.\-]{{31,34}}{_END}",
    ),
    # https://learn.microsoft.com/azure/devops/release-notes/2024/general/sprint-241-update
    _key("AZURE_DEVOPS_TOKEN", rf"[A-Za-z0-9]{{76}}AZDO[A-Za-z0-9][A-Za-z0-9][A-Za-z0-9][A-Za-z0-9]{_END}"),
    # https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
    _key("TERRAFORM_TOKEN", rf"[A-Za-z0-9]{{14}}\.atlasv1\.{_URL_SAFE}{{60,70}}"),
    # https://mailchimp.com/developer/marketing/guides/quick-start: the data centre stands behind the key
    _key("MAILCHIMP_KEY", rf"[0-9a-f]{{32}}-us(?:[1-9][0-9]|[1-9]){_END}"),
    # RFC 3986 (3.2.1): from the scheme up to the last `@` before the path, so that the host stays visible
    _key(
        "URL_CREDENTIALS",
        r"[A-Za-z][A-Za-z0-9+]{1,24}://[A-Za-z0-9._~%!$&'()*+,;=\-]{0,64}:[!#-.0-;=@-\[\]^_a-~]{1,256}@"
        r"(?=[A-Za-z0-9\[${_])",
        credentials_length,
    ),
)

_WITH_PREFIX: Final = (
    _key("PRIVATE_KEY", _KEY_BLOCK, key_block_length),
    _key("PRIVATE_KEY", _PUTTY_KEY, key_block_length),
    _key(
        "JWT",
        rf"(?:(?<![_\-])eyJ{_URL_SAFE}{{8,1024}}|(?<=_)eyJ[A-Za-z0-9]{{8,1024}}){_JWT_BODY}",
        jwt_length,
    ),
    # --- Clouds and hosts.
    # https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
    _key("AWS_ACCESS_KEY", rf"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_END}"),
    # https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html: base64 of `BedrockAPIKey-` and of
    # `bedrock.amazonaws.com/`
    _key(
        "AWS_BEDROCK_KEY",
        r"(?:ABSKQmVkcm9ja0FQSUtleS|bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t)[A-Za-z0-9+/=]{40,2000}",
    ),
    # https://ai.google.dev/gemini-api/docs/api-key, https://cloud.google.com/docs/authentication/api-keys
    _key("GOOGLE_API_KEY", rf"AIza{_URL_SAFE}{{35}}{_END}|AQ\.Ab{_URL_SAFE}{{40,80}}"),
    # https://developers.google.com/identity/protocols/oauth2
    _key("GOOGLE_OAUTH_SECRET", rf"GOCSPX-{_URL_SAFE}{{28}}{_END}"),
    _key("GOOGLE_OAUTH_TOKEN", rf"(?:ya29\.|1//0){_URL_SAFE}{{40,2048}}"),
    # https://help.aliyun.com/document_detail/53045.html
    _key("ALIBABA_ACCESS_KEY", rf"LTAI[A-Za-z0-9]{{12,20}}{_END}", if_mixed),
    # https://www.tencentcloud.com/document/product/598/32675
    _key("TENCENT_SECRET_ID", rf"AKID[A-Za-z0-9]{{32}}{_END}"),
    # https://docs.digitalocean.com/reference/api/create-personal-access-token
    _key("DIGITALOCEAN_TOKEN", rf"do[opr]_v1_[0-9a-f]{{64}}{_END}"),
    # https://developers.cloudflare.com/fundamentals/api/get-started/token-formats,
    # https://developers.cloudflare.com/ssl/origin-configuration/origin-ca
    _key("CLOUDFLARE_TOKEN", rf"cf(?:k|ut|at)_{_URL_SAFE}{{40,60}}|v1\.0-[0-9a-f\-]{{171}}{_END}"),
    # https://devcenter.heroku.com/articles/authentication
    _key("HEROKU_KEY", rf"HRKU-AA{_URL_SAFE}{{58}}{_END}"),
    # https://vercel.com/docs/rest-api#authentication
    _key("VERCEL_TOKEN", rf"vc[acikpr]_[A-Za-z0-9]{{24,80}}{_END}", if_mixed),
    # https://docs.netlify.com/api/get-started
    _key("NETLIFY_TOKEN", rf"nf[bcopu]_[A-Za-z0-9]{{36}}{_END}"),
    # https://fly.io/docs/security/tokens
    _key("FLY_TOKEN", rf"fo1_{_URL_SAFE}{{43}}{_END}|fm(?:1a|1r|2)_[A-Za-z0-9+/=]{{100,2000}}"),
    # https://docs.databricks.com/dev-tools/auth/pat.html
    _key("DATABRICKS_TOKEN", rf"dapi[0-9a-f]{{32}}(?:-[0-9]|){_END}"),
    # https://supabase.com/docs/guides/api/api-keys
    _key("SUPABASE_KEY", rf"(?:sbp|sb_secret)_{_URL_SAFE}{{31,64}}", if_mixed),
    # https://planetscale.com/docs/api/reference/service-tokens
    _key("PLANETSCALE_TOKEN", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.\-]{32,64}"),
    # https://tailscale.com/kb/1277/key-prefixes
    _key("TAILSCALE_KEY", rf"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9\-]{{30,100}}{_END}", if_mixed),
    # --- Code: hosts, packages, builds.
    # https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats,
    # https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github;
    # since 2026 an installation's token is a JWT behind a number
    _key(
        "GITHUB_TOKEN",
        rf"(?:gh[opsru]_|github_pat_)[A-Za-z0-9_]{{36,255}}{_END}|ghs_[0-9]{{1,20}}_{_JWT}",
        classic_token_length,
    ),
    # https://docs.gitlab.com/security/tokens/#token-prefixes; a routable one has parts behind dots
    _key(
        "GITLAB_TOKEN",
        r"(?:gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-|GR1348941)"
        r"[A-Za-z0-9_\-]{20,300}(?:\.[0-9a-z]{2,9}){0,2}",
    ),
    # https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account,
    # https://support.atlassian.com/bitbucket-cloud/docs/app-passwords
    _key("ATLASSIAN_TOKEN", rf"AT(?:ATT|CTT|STT)3[A-Za-z0-9_=\-]{{60,300}}|ATBB[A-Za-z0-9]{{32}}{_END}"),
    # https://docs.npmjs.com/about-access-tokens
    _key("NPM_TOKEN", rf"npm_[A-Za-z0-9]{{36}}{_END}", classic_token_length),
    # https://pypi.org/help/#apitoken: a macaroon of pypi.org or test.pypi.org
    _key("PYPI_TOKEN", rf"pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZw){_URL_SAFE}{{50,1000}}"),
    # https://guides.rubygems.org/api-key-scopes
    _key("RUBYGEMS_KEY", rf"rubygems_[0-9a-f]{{48}}{_END}"),
    # https://doc.rust-lang.org/cargo/reference/registries.html
    _key("CRATES_IO_TOKEN", rf"cio[A-Za-z0-9]{{32}}{_END}", if_mixed),
    # https://learn.microsoft.com/nuget/nuget-org/publish-a-package
    _key("NUGET_KEY", rf"oy2[a-z0-9]{{43}}{_END}", if_mixed),
    # https://docs.docker.com/security/access-tokens
    _key("DOCKER_TOKEN", rf"dckr_[op]at_{_URL_SAFE}{{27,32}}{_END}"),
    # https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens
    _key("ARTIFACTORY_KEY", rf"(?:AKCp|cmVmdGtu)[A-Za-z0-9]{{56,69}}{_END}"),
    # https://circleci.com/docs/managing-api-tokens
    _key("CIRCLECI_TOKEN", rf"CCIP(?:AT|RJ)_[A-Za-z0-9]{{22}}_[0-9a-f]{{40}}{_END}"),
    # https://buildkite.com/docs/apis/managing-api-tokens
    _key("BUILDKITE_TOKEN", rf"bk[cu]a_[0-9a-f]{{40}}{_END}"),
    # https://docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens
    _key("SONAR_TOKEN", rf"sq[apu]_[0-9a-f]{{40}}{_END}"),
    # https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token
    _key("SOURCEGRAPH_TOKEN", rf"sgp_(?:local_|)[0-9a-f_]{{40,57}}{_END}"),
    # https://learning.postman.com/docs/developer/postman-api/authentication
    _key("POSTMAN_KEY", rf"PMAK-[0-9a-f\-]{{59}}{_END}"),
    # https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens
    _key("PULUMI_TOKEN", rf"pul-[0-9a-f]{{40}}{_END}"),
    # https://docs.prefect.io/v3/manage/cloud/manage-users/api-keys
    _key("PREFECT_KEY", rf"pn[bu]_[0-9a-z]{{36}}{_END}"),
    # --- Model providers.
    # https://platform.openai.com/docs/api-reference/authentication
    _key("OPENAI_KEY", rf"sk-(?:proj|svcacct|admin|None)-{_URL_SAFE}{{40,200}}"),
    # https://docs.claude.com/en/api/overview
    _key("ANTHROPIC_KEY", rf"sk-ant-{_URL_SAFE}{{80,130}}"),
    # https://openrouter.ai/docs/api-reference/authentication
    _key("OPENROUTER_KEY", rf"sk-or-v1-[0-9a-f]{{64}}{_END}"),
    # https://langfuse.com/docs/api
    _key("LANGFUSE_KEY", rf"sk-lf-[0-9a-f\-]{{36}}{_END}"),
    # OpenAI's of the old form, with `T3BlbkFJ` in the middle, and those of services with its interface:
    # https://api-docs.deepseek.com, https://platform.moonshot.ai/docs,
    # https://help.aliyun.com/zh/model-studio/get-api-key, https://docs.litellm.ai/docs/proxy/virtual_keys
    _key("MODEL_API_KEY", rf"sk-[A-Za-z0-9]{{32,64}}{_END}", if_mixed),
    # https://huggingface.co/docs/hub/security-tokens
    _key("HUGGINGFACE_TOKEN", rf"(?:hf_|api_org_)[A-Za-z]{{34}}{_END}"),
    # https://console.groq.com/docs/quickstart
    _key("GROQ_KEY", rf"gsk_[A-Za-z0-9]{{52}}{_END}"),
    # https://docs.x.ai/docs/tutorial
    _key("XAI_KEY", rf"xai-[A-Za-z0-9]{{80}}{_END}"),
    # https://docs.perplexity.ai/getting-started/quickstart
    _key("PERPLEXITY_KEY", rf"pplx-[A-Za-z0-9]{{48}}{_END}"),
    # https://replicate.com/docs/topics/security/api-tokens
    _key("REPLICATE_TOKEN", rf"r8_[A-Za-z0-9]{{37}}{_END}"),
    # https://inference-docs.cerebras.ai/quickstart
    _key("CEREBRAS_KEY", rf"csk-[0-9a-z]{{48}}{_END}"),
    # https://docs.nvidia.com/nim/large-language-models/latest/getting-started.html
    _key("NVIDIA_KEY", rf"nvapi-{_URL_SAFE}{{60,70}}"),
    # https://docs.pinecone.io/guides/projects/manage-api-keys
    _key("PINECONE_KEY", rf"pcsk_[A-Za-z0-9_]{{55,80}}{_END}"),
    # https://elevenlabs.io/docs/api-reference/authentication
    _key("ELEVENLABS_KEY", rf"sk_[0-9a-f]{{48}}{_END}"),
    # https://docs.tavily.com/documentation/api-reference/introduction
    _key("TAVILY_KEY", rf"tvly-(?:dev-|prod-|)[A-Za-z0-9]{{32}}{_END}"),
    # https://docs.langchain.com/langsmith/create-account-api-key
    _key("LANGSMITH_KEY", rf"lsv2_(?:pt|sk)_[0-9a-f_]{{43}}{_END}"),
    # --- Chat.
    # https://api.slack.com/concepts/token-types
    _key(
        "SLACK_TOKEN",
        rf"(?:xox[abceoprs]-|xoxe\.xox[bp]-|xapp-)(?:[A-Z0-9]{{1,16}}-){{1,3}}[A-Za-z0-9]{{12,250}}{_END}",
    ),
    # https://api.slack.com/messaging/webhooks
    _key(
        "SLACK_WEBHOOK",
        rf"https://hooks\.slack(?:-gov|)\.com/(?:services|workflows|triggers)/[A-Z][A-Za-z0-9/]{{30,100}}{_END}",
    ),
    # https://discord.com/developers/docs/resources/webhook
    _key(
        "DISCORD_WEBHOOK",
        r"https://(?:ptb\.|canary\.|)discord(?:app|)\.com/api/(?:v[0-9]/|v[0-9][0-9]/|)webhooks/"
        r"[0-9A-Za-z_/\-]{78,101}",
    ),
    # https://discord.com/developers/docs/reference#authentication: account, time, signature
    _key(
        "DISCORD_BOT_TOKEN",
        rf"(?:M|N|O)[A-Za-z0-9]{{22,27}}\.{_URL_SAFE}{{6}}\.{_URL_SAFE}{{27,40}}",
        discord_token_length,
    ),
    # --- Payment and shops.
    # https://docs.stripe.com/keys; Paystack's have the same form
    _key("STRIPE_KEY", rf"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{16,247}}{_END}"),
    # https://docs.stripe.com/webhooks, https://www.standardwebhooks.com
    _key("WEBHOOK_SECRET", r"whsec_[A-Za-z0-9+/=]{32,92}"),
    # https://developer.squareup.com/docs/build-basics/access-tokens
    _key("SQUARE_TOKEN", rf"sq0(?:atp|csp)-{_URL_SAFE}{{22,43}}{_END}"),
    # https://docs.easypost.com/docs/authentication
    _key("EASYPOST_KEY", rf"EZ[AT]K[A-Za-z0-9]{{54}}{_END}"),
    # https://shopify.dev/changelog/length-of-the-shopify-access-token-is-increasing
    _key("SHOPIFY_TOKEN", rf"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}{_END}"),
    # --- Mail and telephony.
    # https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
    _key("SENDGRID_KEY", rf"SG\.{_URL_SAFE}{{22}}\.{_URL_SAFE}{{43}}{_END}"),
    # https://www.twilio.com/docs/iam/api-keys
    _key("TWILIO_KEY", rf"SK[0-9a-f]{{32}}{_END}"),
    # https://documentation.mailgun.com/docs/mailgun/user-manual/api-key-mgmt
    _key("MAILGUN_KEY", rf"key-[0-9a-f]{{32}}{_END}"),
    # https://developers.brevo.com/docs/getting-started
    _key("BREVO_KEY", rf"x(?:key|smtp)sib-[0-9a-f]{{64}}-[A-Za-z0-9]{{16}}{_END}"),
    # https://resend.com/docs/api-reference/introduction
    _key("RESEND_KEY", rf"re_[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{24}}{_END}"),
    # --- Where secrets are kept.
    # https://developer.hashicorp.com/vault/docs/concepts/tokens
    _key("VAULT_TOKEN", rf"hv[bsr]\.{_URL_SAFE}{{24,400}}"),
    # https://docs.doppler.com/reference/auth-token-formats
    _key(
        "DOPPLER_TOKEN",
        rf"dp\.(?:audit|ct|pt|sa|said|scim|scrt|st)\.(?:[a-z0-9_\-]{{2,35}}\.|)[A-Za-z0-9]{{40,44}}{_END}",
        if_mixed,
    ),
    # https://developer.1password.com/docs/service-accounts/security,
    # https://support.1password.com/secret-key-security
    _key("ONEPASSWORD_SECRET", rf"ops_eyJ[A-Za-z0-9+/=_\-]{{200,2000}}|A3-[A-Z0-9\-]{{36,37}}{_END}"),
    # https://github.com/C2SP/C2SP/blob/main/age.md
    _key("AGE_KEY", rf"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{{58}}{_END}"),
    # --- Monitoring and work.
    # https://grafana.com/docs/grafana/latest/administration/service-accounts
    _key("GRAFANA_TOKEN", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,400}", grafana_token_length),
    # https://docs.sentry.io/account/auth-tokens
    _key("SENTRY_TOKEN", r"sntr(?:yi_|ya_|yu_|ys_eyJ)[A-Za-z0-9+/=_]{64,600}"),
    # https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys
    _key("NEW_RELIC_KEY", rf"NR(?:AK|II)-{_URL_SAFE}{{27,32}}{_END}"),
    # https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients
    _key("DYNATRACE_TOKEN", rf"dt0[a-z][0-9][0-9]\.[A-Z2-7.]{{73,89}}{_END}"),
    # https://posthog.com/docs/api
    _key("POSTHOG_KEY", rf"phx_[A-Za-z0-9]{{35,60}}{_END}"),
    # https://linear.app/developers
    _key("LINEAR_KEY", rf"lin_(?:api|oauth)_[A-Za-z0-9]{{40,64}}{_END}"),
    # https://developers.notion.com/docs/authorization
    _key("NOTION_TOKEN", rf"(?:ntn|secret)_[A-Za-z0-9]{{43,46}}{_END}", if_mixed),
    # https://www.figma.com/developers/api#access-tokens
    _key("FIGMA_TOKEN", rf"fig[dour]_{_URL_SAFE}{{40,60}}"),
    # https://airtable.com/developers/web/guides/personal-access-tokens
    _key("AIRTABLE_TOKEN", rf"pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_END}"),
    # https://developers.hubspot.com/docs/guides/apps/private-apps/overview
    _key("HUBSPOT_TOKEN", rf"pat-(?:na|eu|ap)[0-9]-[0-9a-f\-]{{36}}{_END}"),
    # https://www.dropbox.com/developers/documentation/http/documentation
    _key("DROPBOX_TOKEN", rf"sl\.(?:B|u\.){_URL_SAFE}{{120,2000}}"),
)

# The order decides between patterns that start at the same place; those that start alike stand together.
SECRETS: Final[tuple[Pattern, ...]] = (*_WITH_ANY_BEGINNING, *_WITH_PREFIX)
