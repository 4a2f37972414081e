//! Amazon S3 and what speaks its protocol.

use super::{
    address::StoreAddress,
    connect::Connector,
    stores::{ValueSource, bad_configuration, build_error, retries},
};
use object_store::{
    ClientConfigKey,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey as Key, S3CopyIfNotExists},
};
use std::collections::BTreeMap;
use volley_error::Result;

/// Variables that the builder uses as they are, for credentials that are fetched.
const FETCHED: [(&str, Key); 7] = [
    ("AWS_WEB_IDENTITY_TOKEN_FILE", Key::WebIdentityTokenFile),
    ("AWS_ROLE_ARN", Key::RoleArn),
    ("AWS_ROLE_SESSION_NAME", Key::RoleSessionName),
    ("AWS_ENDPOINT_URL_STS", Key::StsEndpoint),
    ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", Key::ContainerCredentialsRelativeUri),
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", Key::ContainerCredentialsFullUri),
    ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", Key::ContainerAuthorizationTokenFile),
];

/// The client of a bucket.
///
/// Without credentials in the secret, the environment or a profile, requests are anonymous.
///
/// # Errors
///
/// Invalid query: a value that cannot be used.
pub(super) fn s3_store(
    address: &StoreAddress,
    source: &ValueSource<'_>,
    connector: Connector,
) -> Result<AmazonS3> {
    let profile = match source.is_complete() && source.secret("profile").is_none() {
        true => BTreeMap::new(),
        false => source.environment.aws_profile(source.secret("profile").as_deref()),
    };
    let of_profile = |it: &str| profile.get(it).cloned();
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&address.container)
        .with_disable_bulk_delete(true)
        .with_copy_if_not_exists(S3CopyIfNotExists::Multipart)
        .with_config(Key::Client(ClientConfigKey::AllowHttp), "true")
        .with_retry(retries())
        .with_http_connector(connector);
    let region = source.value("region", &["AWS_REGION", "AWS_DEFAULT_REGION"]);
    let region = region.or_else(|| of_profile("region"));
    if let Some(region) = &region {
        builder = builder.with_region(region);
    }
    let endpoint = source
        .value("endpoint", &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"])
        .or_else(|| of_profile("endpoint_url"));
    let endpoint = endpoint.map(|it| with_scheme(it, source)).transpose()?;
    let style = source.secret("url_style").or_else(|| of_profile("s3.addressing_style"));
    let is_path_style = match style.as_deref().map(str::to_ascii_lowercase).as_deref() {
        Some("path") => true,
        Some("vhost" | "virtual") => false,
        None | Some("auto" | "") => endpoint.is_some() || address.container.contains('.'),
        Some(_) => {
            let error = bad_configuration(address, "url_style is neither 'path' nor 'vhost'");
            return Err(error);
        }
    };
    builder = builder.with_virtual_hosted_style_request(!is_path_style);
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(bucket_endpoint(&endpoint, address, is_path_style));
    }
    if let Some(key) = source.secret("kms_key_id") {
        builder = builder.with_sse_kms_encryption(key);
    }
    if source.secret("requester_pays").is_some_and(|it| it.eq_ignore_ascii_case("true")) {
        builder = builder.with_request_payer(true);
    }
    let builder = with_credentials(builder, address, source, &profile)?;
    builder.build().map_err(|it| build_error(address, &it))
}

fn with_credentials(
    mut builder: AmazonS3Builder,
    address: &StoreAddress,
    source: &ValueSource<'_>,
    profile: &BTreeMap<String, String>,
) -> Result<AmazonS3Builder> {
    // An access key, its secret and its token are from one source.
    let of_secret = ["key_id", "secret", "session_token"].map(|it| source.secret(it));
    let of_variables = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]
        .map(|it| source.variable(&[it]));
    let of_profile = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"]
        .map(|it| profile.get(it).cloned());
    for [key, secret, token] in [of_secret, of_variables, of_profile] {
        match (key, secret) {
            (Some(key), Some(secret)) => {
                builder = builder.with_access_key_id(key).with_secret_access_key(secret);
                return Ok(match token {
                    Some(token) => builder.with_token(token),
                    None => builder,
                });
            }
            (None, None) => {}
            _ => {
                let what = "there is an access key without its secret, or a secret alone";
                return Err(bad_configuration(address, what));
            }
        }
    }
    let mut is_fetched = source.may_ask_machine();
    for (variable, key) in FETCHED {
        if let Some(value) = source.variable(&[variable]) {
            is_fetched = true;
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder.with_skip_signature(!is_fetched))
}

/// An endpoint as a URL: secrets may have it without a scheme.
fn with_scheme(endpoint: String, source: &ValueSource<'_>) -> Result<String> {
    if endpoint.contains("://") {
        return Ok(endpoint);
    }
    let uses_ssl = source.secret("use_ssl").is_none_or(|it| !it.eq_ignore_ascii_case("false"));
    Ok(format!("{}://{endpoint}", if uses_ssl { "https" } else { "http" }))
}

/// In a virtual hosted style the bucket is the first part of the host.
fn bucket_endpoint(endpoint: &str, address: &StoreAddress, is_path_style: bool) -> String {
    match endpoint.split_once("://") {
        Some((scheme, host)) if !is_path_style => {
            format!("{scheme}://{}.{host}", address.container)
        }
        _ => endpoint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Secret, SecretKind, SecretProvider,
        cloud::{address::Address, connect, environment::CloudEnvironment, throttle::Throttle},
    };
    use std::sync::Arc;

    fn shown(secret: &[(&str, &str)], variables: &[(&str, &str)]) -> Result<String> {
        let owned = |it: &[(&str, &str)]| -> Vec<(String, String)> {
            it.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let values = owned(secret).into_iter().collect();
        let made = Secret::new("s", SecretKind::S3, SecretProvider::Config, &[], values)?;
        let environment = CloudEnvironment::new(owned(variables));
        let source = ValueSource {
            secret: (!secret.is_empty()).then_some(&made),
            environment: &environment,
        };
        let address = Address::parse("s3://bucket/x").unwrap().store;
        let connector = Connector {
            client: connect::client()?,
            throttle: Arc::new(Throttle::new()),
            headers: Default::default(),
        };
        Ok(format!("{:?}", s3_store(&address, &source, connector)?))
    }

    #[test]
    fn values_are_those_of_the_secret_or_the_environment() {
        let variables = [
            ("AWS_ACCESS_KEY_ID", "k"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_REGION", "eu-1"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
        ];
        let store = shown(&[], &variables).unwrap();
        assert!(store.contains("\"http://127.0.0.1:9/bucket\"") && store.contains("eu-1"));
        assert!(store.contains("skip_signature: false"), "{store}");
        let store = shown(&[("region", "us-2")], &variables).unwrap();
        assert!(store.contains("\"https://bucket.s3.us-2.amazonaws.com\""), "{store}");
        assert!(store.contains("skip_signature: true"));
        let secret =
            [("endpoint", "h:1"), ("use_ssl", "false"), ("url_style", "vhost"), ("secret", "s")];
        assert!(shown(&secret, &[]).is_err());
        let store = shown(&secret[..3], &[]).unwrap();
        assert!(store.contains("\"http://bucket.h:1\""), "{store}");
        assert!(shown(&[("url_style", "other")], &[]).is_err());
    }
}
