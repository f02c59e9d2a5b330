//! The page on which a person allows or denies. What a client says of itself is shown as its own word; where it is
//! known by and where the answer goes are facts, and stand beside it.

use std::collections::HashSet;

use maud::{Markup, html};
use toolgrove_store::{InstanceRow, PersonRow};
use uuid::Uuid;

use super::document;
use super::redirect::Destination;
use super::request::Asked;
use super::resource::Resource;
use super::scope::Scope;
use crate::plain::{Forms, Page, problem};

/// Which instances a client may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All the person has and will have.
    All,
    These(HashSet<Uuid>),
}

/// What a person is to decide on.
pub(crate) struct Offer<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) person: &'a PersonRow,
    pub(crate) instances: &'a [InstanceRow],
    /// What was chosen last time.
    pub(crate) before: &'a Choice,
    /// What was wrong with what was chosen just now.
    pub(crate) wrong: Option<&'a str>,
}

impl Offer<'_> {
    /// The page. `query` is the client's request, `token` the form token of the session.
    pub(crate) fn page(&self, query: &str, token: &str) -> Page {
        let client = &self.asked.client;
        let missing = match &self.asked.resource {
            Resource::One(slug) if self.instance(slug).is_none() => {
                Some(format!("you have no instance called `{slug}`, so there is nothing to allow"))
            }
            _ => None,
        };
        let body = html! {
            p { strong { (client.name) } " asks to use Toolgrove for you." }
            dl {
                dt { "Known by" }
                dd { (self.identity()) }
                dt { "The answer goes to" }
                dd { (self.destination()) }
                dt { "You are" }
                dd { (self.person.email.as_deref().unwrap_or(&self.person.name)) }
            }
            @if let Some(text) = self.caution() { p.caution { (text) } }
            @if let Some(text) = self.wrong { (problem(text)) }
            @if let Some(text) = &missing { (problem(text)) }
            form method="post" action="/oauth/authorize" {
                input type="hidden" name="token" value=(token);
                input type="hidden" name="request" value=(query);
                @if missing.is_none() {
                    h2 { "It will be able to" }
                    ul { @for scope in self.asked.scopes.iter() { li { (meaning(scope)) } } }
                    (self.choices())
                    button name="decision" value="allow" { "Allow" }
                }
                button.second name="decision" value="deny" { "Deny" }
            }
        };
        Page { forms: Forms::Onward, ..Page::new("Allow this client?", body) }
    }

    fn instance(&self, slug: &str) -> Option<&InstanceRow> {
        self.instances.iter().find(|it| it.slug.eq_ignore_ascii_case(slug))
    }

    /// How we know the client, which is not the same as its name.
    fn identity(&self) -> Markup {
        let id = &self.asked.client.id;
        if let Some(host) = document::address(id).as_ref().and_then(|it| it.host_str()) {
            html! { strong { (host) } " (its description is at " code { (id) } ")" }
        } else {
            html! { "nothing but its own word: it registered itself under this name" }
        }
    }

    fn destination(&self) -> Markup {
        let redirect = &self.asked.back.redirect;
        let place = redirect.place();
        match redirect.destination() {
            Destination::Site => html! { strong { (place) } },
            Destination::Loopback => html! { "a program on this computer (" code { (place) } ")" },
            Destination::App => html! { "an app on this computer (" code { (place) } ")" },
        }
    }

    fn caution(&self) -> Option<&'static str> {
        match self.asked.back.redirect.destination() {
            Destination::Site => None,
            Destination::Loopback | Destination::App => Some(
                "Any program on this computer can ask under this name. Allow it only if you have just started to \
                 connect it yourself.",
            ),
        }
    }

    fn choices(&self) -> Markup {
        if let Resource::One(slug) = &self.asked.resource {
            let name = self.instance(slug).map_or(slug, |it| &it.slug);
            return html! { p { "Only with your instance " code { (name) } "." } };
        }
        let chosen = |id: &Uuid| matches!(self.before, Choice::These(grants) if grants.contains(id));
        let is_all = *self.before == Choice::All;
        html! {
            fieldset {
                legend { "With" }
                label.choice {
                    input type="radio" name="which" value="all" checked[is_all];
                    " all my instances, also those I add later"
                }
                @if !self.instances.is_empty() {
                    label.choice {
                        input type="radio" name="which" value="these" checked[!is_all];
                        " only these:"
                    }
                    ul.choices {
                        @for it in self.instances {
                            li {
                                label.choice {
                                    input type="checkbox" name="instance" value=(it.id) checked[chosen(&it.id)];
                                    " " code { (it.slug) } " " (it.name)
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn meaning(scope: Scope) -> &'static str {
    match scope {
        Scope::Mcp => "list and call tools, and read resources and prompts",
        Scope::Api => {
            "use the hub's API as a member: see calls, add, change and remove your servers and instances"
        }
    }
}
