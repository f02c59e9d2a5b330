//! A site with a certificate of its own: a registry, a GitHub, a shop of archives.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use zip::write::SimpleFileOptions;

type Pages = Arc<Mutex<HashMap<String, (String, Vec<u8>)>>>;

pub(crate) struct Site {
    /// `https://localhost:<port>`
    pub(crate) url: String,
    folder: TempDir,
    pages: Pages,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) fn start() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("ca.pem"), cert.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let ring = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let (pages, asked): (Pages, Arc<Mutex<Vec<String>>>) = Default::default();
        let (shown, kept) = (pages.clone(), asked.clone());
        std::thread::spawn(move || serve(listener, acceptor, shown, kept));
        Self { url, folder, pages, asked }
    }

    pub(crate) fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The lines of `toolgrove.toml` that lead here.
    pub(crate) fn sources(&self) -> String {
        format!(
            "[sources]\nregistry = \"{0}\"\ngithub = \"{0}/api\"\nca_file = \"{1}\"\n",
            self.url,
            self.ca_file().display()
        )
    }

    pub(crate) fn put(&self, path: &str, body: impl Into<Vec<u8>>) {
        self.pages.lock().unwrap().insert(path.into(), ("200 OK".into(), body.into()));
    }

    pub(crate) fn redirect(&self, path: &str, to: &str) {
        let status = format!("302 Found\r\nlocation: {to}");
        self.pages.lock().unwrap().insert(path.into(), (status, Vec::new()));
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    listener: std::net::TcpListener,
    acceptor: TlsAcceptor,
    pages: Pages,
    asked: Arc<Mutex<Vec<String>>>,
) {
    listener.set_nonblocking(true).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { break };
                head.push(byte);
            }
            let path = String::from_utf8_lossy(&head).split(' ').nth(1).unwrap_or("/").to_owned();
            asked.lock().unwrap().push(path.clone());
            let page = pages.lock().unwrap().get(&path).cloned();
            let (status, body) = page.unwrap_or(("404 Not Found".into(), b"{}".to_vec()));
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(&body).await;
            let _ = stream.shutdown().await;
        }
    });
}

/// An archive of these files.
pub(crate) fn zip(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
