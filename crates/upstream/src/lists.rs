//! Everything a server offers: its lists, page by page, and what it says about itself.

use std::collections::HashSet;
use std::time::Duration;

use futures::future::join_all;
use toolgrove_core::Error;
use toolgrove_core::call::{Discovery, Listing};
use toolgrove_core::event::ListKind;
use toolgrove_core::instance::Era;
use toolgrove_wire::{Edit, Raw};

use crate::annotated;
use crate::era::DISCOVER;
use crate::failure::Failure;
use crate::link::Link;

const MOST_PAGES: usize = 1000;
const FRESH: Duration = Duration::from_secs(2);

/// One list, all its pages. A page without the member is empty; a cursor that comes again is the end.
pub(crate) async fn list(link: &Link, kind: ListKind) -> Result<Listing, Failure> {
    let (mut items, mut holds_ms) = (Vec::new(), None::<u64>);
    let mut cursors = HashSet::new();
    let mut params = Raw::empty_object();
    for _ in 0..MOST_PAGES {
        let page = link.fetch(kind.method(), &params).await?;
        let (mut cursor, mut page_holds_ms) = (None, 0);
        for member in page.members() {
            match &*member.key() {
                "ttlMs" if link.session.era == Era::Modern => {
                    page_holds_ms = member.value().u64().unwrap_or_default();
                }
                "nextCursor" => cursor = Some(member.value()).filter(Raw::is_string),
                key if key == kind.member() => {
                    items.extend(member.value().items().filter_map(|it| annotated::admit(link, kind, it)));
                }
                _ => {}
            }
        }
        holds_ms = Some(holds_ms.map_or(page_holds_ms, |it| it.min(page_holds_ms)));
        let Some(cursor) = cursor.filter(|it| cursors.insert(it.as_str().to_owned())) else { break };
        params = Edit::of(&Raw::empty_object()).set("cursor", cursor).done();
    }
    Ok(Listing { items, holds: Duration::from_millis(holds_ms.unwrap_or_default()) })
}

/// What the server says about itself, and the lists it declares. Tools are always tried.
pub(crate) async fn discover(link: &Link, now_ms: i64) -> Result<Discovery, Failure> {
    let session = match link.session.era {
        Era::Legacy => link.session.clone(),
        // Opened for this very question.
        Era::Modern if link.session.introduced && link.age() < FRESH => link.session.clone(),
        Era::Modern => {
            let result = link.fetch(DISCOVER, &Raw::empty_object()).await?;
            link.session.clone().discovered(&result)
        }
    };
    link.start_feed(&session.capabilities);
    let kinds = ListKind::ALL
        .into_iter()
        .filter(|it| *it == ListKind::Tools || session.capabilities.get(it.capability()).is_some());
    let lists = join_all(kinds.map(|kind| async move { (kind, list(link, kind).await) })).await;
    let (mut kept, mut tools_hold) = (Vec::with_capacity(lists.len()), Duration::ZERO);
    for (kind, result) in lists {
        match result {
            // These say something about the link, not about the list.
            Err(failure @ (Failure::Untaken(_) | Failure::OtherEra(_) | Failure::Lost(_))) => {
                return Err(failure);
            }
            Err(failure) if matches!(failure.error(), Error::NeedsReauth { .. }) => return Err(failure),
            Ok(listing) => {
                if kind == ListKind::Tools {
                    tools_hold = listing.holds;
                }
                kept.push((kind, Ok(listing.items)));
            }
            Err(failure) => kept.push((kind, Err(failure.into_error()))),
        }
    }
    Ok(Discovery {
        verdict: session.verdict(now_ms),
        server_info: session.server_info,
        capabilities: session.capabilities,
        instructions: session.instructions,
        lists: kept,
        tools_hold,
    })
}
