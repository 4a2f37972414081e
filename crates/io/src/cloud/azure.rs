//! Azure Blob Storage and Data Lake Storage.

use super::{
    address::StoreAddress,
    connect::Connector,
    stores::{ValueSource, bad_configuration, build_error, retries},
};
use object_store::{
    ClientConfigKey,
    azure::{AzureConfigKey as Key, MicrosoftAzure, MicrosoftAzureBuilder},
};
use volley_error::{Error, Result};

/// Parameters of secrets and variables that the builder uses as they are.
const VALUES: [(&str, &[&str], Key); 6] = [
    ("account_key", &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"], Key::AccessKey),
    ("sas_token", &["AZURE_STORAGE_SAS_TOKEN"], Key::SasKey),
    ("tenant_id", &["AZURE_TENANT_ID"], Key::AuthorityId),
    ("client_id", &["AZURE_CLIENT_ID"], Key::ClientId),
    ("client_secret", &["AZURE_CLIENT_SECRET"], Key::ClientSecret),
    ("", &["AZURE_FEDERATED_TOKEN_FILE"], Key::FederatedTokenFile),
];

/// Entries of connection strings.
const ENTRIES: [(&str, Key); 4] = [
    ("AccountName", Key::AccountName),
    ("AccountKey", Key::AccessKey),
    ("SharedAccessSignature", Key::SasKey),
    ("BlobEndpoint", Key::Endpoint),
];

/// The client of a container. Without credentials requests are anonymous.
///
/// # Errors
///
/// Invalid query: no account is known, a value that cannot be used.
pub(super) fn azure_store(
    address: &StoreAddress,
    source: &ValueSource<'_>,
    connector: Connector,
) -> Result<MicrosoftAzure> {
    let mut builder = MicrosoftAzureBuilder::new()
        .with_container_name(&address.container)
        .with_config(Key::Client(ClientConfigKey::AllowHttp), "true")
        .with_retry(retries())
        .with_http_connector(connector);
    let mut has_credentials = false;
    let connection = source.value("connection_string", &["AZURE_STORAGE_CONNECTION_STRING"]);
    if let Some(text) = connection {
        for entry in text.split(';') {
            let Some((name, value)) = entry.split_once('=') else { continue };
            let Some((_, key)) = ENTRIES.iter().find(|it| it.0 == name.trim()) else { continue };
            has_credentials |= matches!(key, Key::AccessKey | Key::SasKey);
            builder = builder.with_config(*key, value);
        }
    }
    let account = source
        .value("account_name", &["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"])
        .or_else(|| address.account_host.as_ref()?.split('.').next().map(str::to_owned));
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = source.value("endpoint", &["AZURE_STORAGE_ENDPOINT"]) {
        builder = builder.with_config(Key::Endpoint, endpoint);
    }
    for (parameter, variables, key) in VALUES {
        if let Some(value) = source.value(parameter, variables) {
            has_credentials = true;
            builder = builder.with_config(key, value);
        }
    }
    if builder.get_config_value(&Key::AccountName).is_none() {
        return Err(without_account(address));
    }
    if !has_credentials && !source.may_ask_machine() {
        builder = builder.with_config(Key::SkipSignature, "true");
    }
    builder.build().map_err(|it| build_error(address, &it))
}

fn without_account(address: &StoreAddress) -> Error {
    bad_configuration(address, "no account is known").hint(
        "name it in the location, az://ACCOUNT.blob.core.windows.net/CONTAINER/PATH, in a secret \
         or in AZURE_STORAGE_ACCOUNT",
    )
}
