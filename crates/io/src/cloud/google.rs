//! Google Cloud Storage.

use super::{
    address::StoreAddress,
    connect::Connector,
    stores::{ValueSource, build_error, retries},
};
use object_store::{
    ClientConfigKey, ObjectStore,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey as Key},
};
use std::{path::Path, sync::Arc};
use volley_error::Result;

/// Where the protocol of S3 is spoken, which the keys that are called HMAC keys are for.
const S3_ENDPOINT: &str = "https://storage.googleapis.com";

/// The client of a bucket. Without credentials requests are anonymous.
///
/// # Errors
///
/// Invalid query: a value that cannot be used.
pub(super) fn google_store(
    address: &StoreAddress,
    source: &ValueSource<'_>,
    connector: Connector,
) -> Result<Arc<dyn ObjectStore>> {
    if let (Some(key), Some(secret)) = (source.secret("key_id"), source.secret("secret")) {
        let store = AmazonS3Builder::new()
            .with_bucket_name(&address.container)
            .with_endpoint(source.secret("endpoint").unwrap_or_else(|| S3_ENDPOINT.to_owned()))
            .with_region("auto")
            .with_access_key_id(key)
            .with_secret_access_key(secret)
            .with_disable_bulk_delete(true)
            .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp), "true")
            .with_retry(retries())
            .with_http_connector(connector)
            .build();
        return Ok(Arc::new(store.map_err(|it| build_error(address, &it))?));
    }
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name(&address.container)
        .with_config(Key::Client(ClientConfigKey::AllowHttp), "true")
        .with_retry(retries())
        .with_http_connector(connector);
    if let Some(endpoint) = source.value("endpoint", &["STORAGE_EMULATOR_HOST"]) {
        builder = builder.with_config(Key::BaseUrl, endpoint);
    }
    let key = source.value("service_account_key", &["GOOGLE_SERVICE_ACCOUNT_KEY"]);
    let file = source.variable(&["GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"]);
    builder = if let Some(token) = source.secret("bearer_token") {
        builder.with_config(Key::BearerToken, token)
    } else if let Some(key) = key {
        builder.with_service_account_key(key)
    } else if let Some(file) = file {
        builder.with_service_account_path(file)
    } else if let Some(file) = application_credentials(source) {
        builder.with_application_credentials(file)
    } else {
        builder.with_config(Key::SkipSignature, (!source.may_ask_machine()).to_string())
    };
    Ok(Arc::new(builder.build().map_err(|it| build_error(address, &it))?))
}

/// The file that the cloud's own tools write on login.
fn application_credentials(source: &ValueSource<'_>) -> Option<String> {
    if source.is_complete() {
        return None;
    }
    let named = source.variable(&["GOOGLE_APPLICATION_CREDENTIALS"]);
    let usual = ".config/gcloud/application_default_credentials.json";
    let usual = || source.environment.home_file(usual).filter(|it| Path::new(it).exists());
    named.or_else(usual)
}
