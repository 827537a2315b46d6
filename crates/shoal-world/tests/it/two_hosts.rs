//! Two hosts for tests: network namespaces of this one.

use std::process::{Command, Stdio};

/// Two network namespaces with a wire between them, each a host of its own to Open MPI.
pub(crate) struct TwoHosts {
    names: [String; 2],
    agent: std::path::PathBuf,
}

impl TwoHosts {
    const ADDRESSES: [&str; 2] = ["10.99.83.1", "10.99.83.2"];

    /// Makes them, which root can; or says why not.
    pub(crate) fn new() -> Result<TwoHosts, String> {
        let id = std::process::id();
        let names = ["a", "b"].map(|side| format!("shoal-{side}-{id}"));
        let agent = std::env::temp_dir().join(format!("shoal-agent-{id}"));
        let hosts = TwoHosts { names, agent };
        let [a, b] = &hosts.names;
        let [wire_a, wire_b] = ["a", "b"].map(|side| format!("sh{side}{id}"));
        let mut steps = vec![format!("link add {wire_a} type veth peer name {wire_b}")];
        for ((name, wire), address) in [(a, &wire_a), (b, &wire_b)].into_iter().zip(TwoHosts::ADDRESSES) {
            steps.push(format!("netns add {name}"));
            steps.push(format!("link set {wire} netns {name}"));
            steps.push(format!("-n {name} addr add {address}/24 dev {wire}"));
            steps.push(format!("-n {name} link set lo up"));
            steps.push(format!("-n {name} link set {wire} up"));
        }
        for step in steps {
            let output = Command::new("ip").args(step.split(' ')).output().map_err(|why| format!("ip: {why}"))?;
            if !output.status.success() {
                return Err(format!("ip {step}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            }
        }
        // What Open MPI starts on the other host in place of `ssh`. It sees no memory of this one.
        let script =
            format!("#!/bin/sh\nshift\nexec ip netns exec {b} unshare --ipc --uts sh -c \"hostname shoal-b; $*\"\n");
        std::fs::write(&hosts.agent, script).map_err(|why| why.to_string())?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&hosts.agent, mode).map_err(|why| why.to_string())?;
        Ok(hosts)
    }

    /// `oshrun` on the first host, for two ranks on each.
    pub(crate) fn oshrun(&self) -> Command {
        let [first, second] = TwoHosts::ADDRESSES;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[0], "oshrun", "--allow-run-as-root", "--oversubscribe"]);
        command.args(["--host", &format!("{first}:2,{second}:2")]);
        command.args(["--mca", "oob_tcp_if_include", "10.99.83.0/24", "--mca", "plm_rsh_agent"]).arg(&self.agent);
        command
    }
}

impl Drop for TwoHosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
        let _ = std::fs::remove_file(&self.agent);
    }
}
