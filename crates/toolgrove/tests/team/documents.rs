//! A site with a certificate of its own, where clients publish what they say of themselves.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

#[derive(Clone)]
struct Page {
    status: &'static str,
    headers: String,
    body: String,
    visits: usize,
}

pub(crate) struct Site {
    /// `https://localhost:<port>`.
    pub(crate) url: String,
    /// The certificate that whoever comes here must trust.
    pub(crate) certificate: PathBuf,
    pages: Arc<Mutex<HashMap<String, Page>>>,
    _dir: TempDir,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let certificate = dir.path().join("site.pem");
        std::fs::write(&certificate, cert.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let ring = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let pages: Arc<Mutex<HashMap<String, Page>>> = Arc::default();
        let (acceptor, shown) = (TlsAcceptor::from(Arc::new(config)), pages.clone());
        toolgrove_core::task::spawn("site", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, shown) = (acceptor.clone(), shown.clone());
                toolgrove_core::task::spawn("visit", async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        let Ok(byte) = stream.read_u8().await else { return };
                        head.push(byte);
                    }
                    let path = String::from_utf8_lossy(&head).split(' ').nth(1).unwrap_or("/").to_owned();
                    let page = shown.lock().unwrap().get_mut(&path).map(|it| {
                        it.visits += 1;
                        it.clone()
                    });
                    let Page { status, headers, body, .. } = page.unwrap_or_else(|| Page {
                        status: "404 Not Found",
                        headers: String::new(),
                        body: String::new(),
                        visits: 0,
                    });
                    let length = body.len();
                    let answer = format!(
                        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                    );
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { url, certificate, pages, _dir: dir }
    }

    /// Puts something at a path and gives its address.
    pub(crate) fn put(
        &self,
        path: &str,
        status: &'static str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> String {
        let headers: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let headers = headers.concat();
        let page = Page { status, headers, body: body.to_owned(), visits: 0 };
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        format!("{}{path}", self.url)
    }

    /// How often somebody came to a path.
    pub(crate) fn visits(&self, path: &str) -> usize {
        self.pages.lock().unwrap().get(path).map_or(0, |it| it.visits)
    }
}
