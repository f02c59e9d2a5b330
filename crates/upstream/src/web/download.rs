//! Files of any length, straight to the disk. Redirects may leave the origin, as those of releases do, but never go
//! from TLS to plain HTTP; every piece has to come within the usual patience.

use std::path::Path;

use http::Method;
use http::header::{ACCEPT, HeaderValue, LOCATION, USER_AGENT};
use tokio::io::AsyncWriteExt;
use toolgrove_wire::Pieces;
use url::Url;

use super::answer::reason;
use super::fetch::{Fetch, PATIENCE, Unfetched, request};
use super::{Inflow, dial};

/// Shops, mirrors and storages: more than the documents of one origin need.
const REDIRECTS: usize = 6;

impl Fetch {
    /// Writes what is at `url` to the new file `to`. More than `limit` bytes are refused.
    pub async fn download(&self, url: &Url, to: &Path, limit: u64) -> Result<(), Unfetched> {
        let mut url = url.clone();
        for _ in 0..REDIRECTS {
            let response = self.open(&url).await?;
            let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
            let next = location.filter(|_| response.status().is_redirection());
            match next.map(|it| url.join(it)) {
                Some(Ok(next)) if url.scheme() == "https" && next.scheme() != "https" => {
                    return Err(Unfetched(format!("`{url}` leads to `{next}`, which is not secure")));
                }
                Some(Ok(next)) => url = next,
                _ if response.status().is_success() => return write(&url, response, to, limit).await,
                _ => {
                    let (status, reason) = (response.status().as_u16(), reason(&response));
                    return Err(Unfetched(format!("`{url}`: HTTP {status} {reason}")));
                }
            }
        }
        Err(Unfetched(format!("`{url}` redirects in circles")))
    }

    async fn open(&self, url: &Url) -> Result<http::Response<Inflow>, Unfetched> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unfetched(format!("`{url}` is not an http or https address")));
        }
        self.hosts.check(url.host_str().unwrap_or_default()).map_err(|it| Unfetched(it.to_string()))?;
        let mut request = request(Method::GET, url, bytes::Bytes::new())?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("*/*"));
        request.headers_mut().insert(USER_AGENT, self.agent.clone());
        let lines = self.dial.lines(url).map_err(Unfetched)?;
        let sent = tokio::time::timeout(PATIENCE, lines.send(request.map(Pieces::from))).await;
        let place = url.origin().ascii_serialization();
        sent.map_err(|_| slow(&place))?.map_err(|it| Unfetched(format!("`{place}`: {}", dial::cause(&it))))
    }
}

async fn write(url: &Url, response: http::Response<Inflow>, to: &Path, limit: u64) -> Result<(), Unfetched> {
    let place = url.origin().ascii_serialization();
    let failed = |it: std::io::Error| Unfetched(format!("cannot write `{}`: {it}", to.display()));
    let mut file = tokio::fs::File::create(to).await.map_err(failed)?;
    let (mut body, mut length) = (response.into_body(), 0_u64);
    while let Some(piece) = tokio::time::timeout(PATIENCE, body.piece()).await.map_err(|_| slow(&place))? {
        let piece = piece.map_err(|it| Unfetched(format!("`{place}`: the answer broke off: {it}")))?;
        length += piece.len() as u64;
        if length > limit {
            return Err(Unfetched(format!("`{url}` is larger than {} MiB", limit >> 20)));
        }
        file.write_all(&piece).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)
}

fn slow(place: &str) -> Unfetched {
    Unfetched(format!("`{place}` did not answer within {} s", PATIENCE.as_secs()))
}
