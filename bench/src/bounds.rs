//! What is promised, and whether the run shows it. Ratios of one run, so that the machine cancels out.

use serde::Serialize;

use crate::buds::Buds;
use crate::calls::{LARGE, MIDDLE, Measured, SMALL, name};
use crate::lists::Lists;
use crate::load::{Round, Work};
use crate::memory::Memory;
use crate::speech::Era;
use crate::stand::Server;

#[derive(Serialize)]
pub(crate) struct Bound {
    pub(crate) what: String,
    pub(crate) measured: f64,
    pub(crate) at: At,
    pub(crate) bound: f64,
    pub(crate) unit: &'static str,
    pub(crate) holds: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum At {
    Least,
    Most,
}

/// What one process answers when it is driven directly, in a second.
#[derive(Serialize, Default)]
pub(crate) struct Direct {
    pub(crate) echo_stdio: f64,
    pub(crate) hub_over_echo: f64,
    /// The same through a process that only copies: the limit.
    pub(crate) relay_over_echo: f64,
    pub(crate) ts_stdio: Option<f64>,
    pub(crate) hub_over_ts: Option<f64>,
    pub(crate) relay_over_ts: Option<f64>,
    pub(crate) ts_list_1000: Option<f64>,
}

pub(crate) struct Found<'a> {
    pub(crate) calls: &'a [Measured],
    pub(crate) lists: &'a Lists,
    pub(crate) memory: &'a Memory,
    pub(crate) direct: &'a Direct,
    pub(crate) buds: &'a Buds,
}

impl Found<'_> {
    fn cell(&self, era: Era, sessions: usize, bytes: usize) -> Option<&Measured> {
        let server = if era == Era::Legacy { Server::Legacy } else { Server::Modern };
        let name = name(era, server, sessions, Work::Call { bytes });
        self.calls.iter().find(|it| it.cell == name)
    }

    fn hub(&self, era: Era, sessions: usize, bytes: usize) -> Option<&Round> {
        self.cell(era, sessions, bytes)?.of("toolgrove")
    }

    fn list(&self, tools: usize) -> Option<&Round> {
        self.lists.lists.iter().find(|it| it.0 == tools).map(|it| &it.1)
    }
}

/// Every bound that could be measured.
pub(crate) fn judge(found: &Found<'_>) -> Vec<Bound> {
    let mut all = Vec::new();
    let mut add = |what: String, measured: Option<f64>, at: At, bound: f64, unit: &'static str| {
        let Some(measured) = measured else { return };
        let holds = if at == At::Least { measured >= bound } else { measured <= bound };
        all.push(Bound { what, measured, at, bound, unit, holds });
    };
    for era in Era::BOTH {
        let (word, times) = (era.name(), "×");
        let at_64 = found.cell(era, 64, SMALL);
        let rate = at_64.and_then(|it| it.ratio(|it| Some(it.per_second)));
        add(
            format!("{word}, 0.3 KB, 64 sessions: calls/s against the pass-through"),
            rate,
            At::Least,
            0.75,
            times,
        );
        let cpu = at_64.and_then(|it| it.ratio(|it| it.cpu_us));
        add(format!("{word}, 0.3 KB, 64 sessions: processor time for a call"), cpu, At::Most, 1.33, times);
        let at_1 = found.cell(era, 1, SMALL);
        let p50 = at_1.and_then(|it| it.ratio(|it| Some(it.p50)));
        add(format!("{word}, 0.3 KB, 1 session: p50"), p50, At::Most, 1.25, times);
        let p99 = at_1.and_then(|it| it.ratio(|it| Some(it.p99)));
        add(format!("{word}, 0.3 KB, 1 session: p99"), p99, At::Most, 1.5, times);
        let p99 = at_64.and_then(|it| it.ratio(|it| Some(it.p99)));
        add(format!("{word}, 0.3 KB, 64 sessions: p99"), p99, At::Most, 1.5, times);
        let crowd = found.cell(era, 1024, SMALL).and_then(|it| it.ratio(|it| Some(it.per_second)));
        add(
            format!("{word}, 0.3 KB, 1 024 sessions, no error: calls/s against the pass-through"),
            crowd,
            At::Least,
            0.75,
            times,
        );
        let crowd = found.hub(era, 1024, SMALL).zip(found.hub(era, 64, SMALL));
        let kept = crowd.map(|(many, some)| many.per_second / some.per_second);
        add(format!("{word}, 0.3 KB: calls/s at 1 024 sessions against 64"), kept, At::Least, 0.5, times);
        for (bytes, sessions, size) in
            [(MIDDLE, 16, "8 KB"), (MIDDLE, 64, "8 KB, 64 sessions"), (LARGE, 4, "1 MB")]
        {
            let cpu = found.cell(era, sessions, bytes).and_then(|it| it.ratio(|it| it.cpu_us));
            add(format!("{word}, {size}: processor time for a call"), cpu, At::Most, 1.2, times);
        }
    }
    let nginx = found
        .cell(Era::Modern, 64, SMALL)
        .and_then(|it| Some(it.of("pass-through")?.cpu_us? / it.of("nginx")?.cpu_us?));
    add("the pass-through is honest: its processor time against nginx".into(), nginx, At::Most, 1.6, "×");
    let direct = found.direct;
    let ts = direct.hub_over_ts.zip(direct.ts_stdio).map(|(hub, direct)| hub / direct);
    add(
        "stdio, a TypeScript SDK server: calls/s against driving it directly".into(),
        ts,
        At::Least,
        0.8,
        "×",
    );
    let echo = Some(direct.hub_over_echo / direct.echo_stdio);
    add("stdio, our echo server: calls/s against driving it directly".into(), echo, At::Least, 0.8, "×");
    let lists = found.list(1_000).zip(direct.ts_list_1000).map(|(hub, ts)| hub.per_second / ts);
    add(
        "list of 1 000 tools of 50 servers: rate against one TypeScript SDK server".into(),
        lists,
        At::Least,
        3.0,
        "×",
    );
    let p50 = found.list(10_000).map(|it| it.p50 / 1000.0);
    add("list of 10 000 tools: p50".into(), p50, At::Most, 10.0, "ms");
    add(
        "first words of a bud, over its provider's: p50".into(),
        Some(found.buds.overhead),
        At::Most,
        2.0,
        "ms",
    );
    let memory = found.memory;
    add("memory, idle".into(), Some(memory.idle), At::Most, 20.0, "MiB");
    add("memory after load, against idle".into(), Some(memory.after / memory.idle), At::Most, 1.2, "×");
    add(
        format!("memory for a session, up to {}", memory.sessions),
        Some(memory.per_session),
        At::Most,
        4.0,
        "KiB",
    );
    add(
        format!("memory for one with an open stream, up to {}", memory.streams),
        Some(memory.per_stream),
        At::Most,
        16.0,
        "KiB",
    );
    for (servers, _, later) in &found.lists.start {
        let bound = if *servers == 1 { 40.0 } else { 200.0 };
        add(format!("start to first call, {servers} servers"), Some(*later), At::Most, bound, "ms");
    }
    growth(found, &mut add);
    all
}

/// Cost grows linearly or better: what one more costs does not rise. A quarter of leeway for noise.
fn growth(found: &Found<'_>, add: &mut impl FnMut(String, Option<f64>, At, f64, &'static str)) {
    let cpu = |round: Option<&Round>| round.and_then(|it| it.cpu_us);
    let era = Era::Modern;
    let sessions = cpu(found.hub(era, 1024, SMALL)).zip(cpu(found.hub(era, 64, SMALL))).map(|(b, a)| b / a);
    add(
        "growth with sessions: processor time for a call, 1 024 against 64".into(),
        sessions,
        At::Most,
        1.5,
        "×",
    );
    let tools = cpu(found.list(10_000)).zip(cpu(found.list(1_000))).map(|(b, a)| b / a / 10.0);
    add(
        "growth with tools: processor time for a listed tool, 10 000 against 1 000".into(),
        tools,
        At::Most,
        1.25,
        "×",
    );
    for (rounds, calls) in
        [(&found.lists.servers, "that goes alone"), (&found.lists.together, "that may go with others")]
    {
        let of = |count: usize| cpu(rounds.iter().find(|it| it.0 == count).map(|it| &it.1));
        let servers = of(50).zip(of(1)).map(|(b, a)| b / a);
        let what = format!("growth with servers: processor time for a call {calls}, 50 against 1");
        add(what, servers, At::Most, 1.25, "×");
    }
    let payload =
        cpu(found.hub(era, 4, LARGE)).zip(cpu(found.hub(era, 16, MIDDLE))).map(|(b, a)| b / a / 128.0);
    add(
        "growth with payload: processor time for a byte, 1 MB against 8 KB".into(),
        payload,
        At::Most,
        1.25,
        "×",
    );
}

/// The bounds as a table.
pub(crate) fn table(bounds: &[Bound]) -> String {
    let mut out = String::new();
    for Bound { what, measured, at, bound, unit, holds } in bounds {
        let (sign, word) = (if *at == At::Least { "≥" } else { "≤" }, if *holds { "ok" } else { "MISSED" });
        let gap = if *unit == "×" { "" } else { " " };
        out.push_str(&format!("  {what:74} {measured:>8.2}{gap}{unit:4} {sign} {bound:<7} {word}\n"));
    }
    out
}
