//! Tools from other authors in a process that runs: what others approve or roll back is taken up without a restart.

use toolcrib_core::Principal;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::{PluginError, PluginErrorKind};
use toolcrib_serve::{LivePlugins, ServerFields, WorkerGroup, has_bare_names};

use super::live_settings::LiveSettings;
use super::toolset::toolset;

impl LivePlugins for LiveSettings {
    fn lifecycle(&self) -> Lifecycle {
        self.crib().plugins().lifecycle(&self.settings())
    }

    fn take_up(&self) -> Result<usize, PluginError> {
        self.take_up_plugins();
        let runtime = self.runtime().current();
        let offers = runtime.toolset.offers().iter();
        Ok(offers.filter(|offer| has_bare_names(offer.catalogue.name)).count())
    }

    fn servers(&self) -> Result<Vec<ServerFields>, PluginError> {
        let (settings, plugins) = (self.settings(), self.crib().plugins());
        let failed = plugins.pins().failed_starts();
        let mut servers = Vec::new();
        for spec in plugins.servers(&settings) {
            let pins = plugins.pins().pins(&spec.name)?.filter(|pins| pins.are_of(&spec));
            let problem = failed.find(&spec).map(|failed| failed.message);
            servers.push(ServerFields::of(&spec, pins.as_ref(), problem));
        }
        let imports = plugins.waiting_imports(&settings);
        servers.extend(imports.iter().map(ServerFields::of_import));
        Ok(servers)
    }

    fn workers(&self) -> Vec<WorkerGroup> {
        self.crib().plugins().workers()
    }

    fn accept_server(
        &self,
        server: &str,
        hash: &str,
        by: &Principal,
    ) -> Result<Vec<String>, PluginError> {
        let (settings, plugins) = (self.settings(), self.crib().plugins());
        let other = || {
            let message = format!("what waits of the MCP server `{server}` is not what was shown");
            PluginError::new(PluginErrorKind::Changed, message)
                .hint("look at it again, and accept what is shown")
        };
        let imports = plugins.waiting_imports(&settings);
        if let Some(import) = imports.iter().find(|import| import.name() == server) {
            if import.hash() != hash {
                return Err(other());
            }
            plugins.pins().accept_import(import, &by.name)?;
            return Ok(vec![server.to_owned()]);
        }
        let specs = plugins.servers(&settings);
        let Some(spec) = specs.iter().find(|spec| spec.name == server) else {
            let message = format!("there is no MCP server `{server}`");
            return Err(PluginError::new(PluginErrorKind::NotFound, message));
        };
        let pins = plugins.pins().pins(server)?.filter(|pins| pins.are_of(spec));
        let pins = pins.unwrap_or_default();
        if pins.waiting_hash().as_deref() != Some(hash) {
            return Err(other());
        }
        plugins.pins().accept(server, &pins, &by.name)
    }
}

impl LiveSettings {
    /// Loads what is active now, if another process has changed that.
    pub(super) fn take_up_changed_plugins(&self) {
        if self.crib().plugins().is_outdated() {
            self.take_up_plugins();
        }
    }

    /// Loads what is active now, and offers it.
    fn take_up_plugins(&self) {
        // A change of the settings that has begun would bring the tools back that it began with.
        let _changing = self.begin_change();
        self.load_plugins();
    }

    /// Does the same for whoever holds the right to change settings.
    pub(super) fn load_plugins(&self) {
        let settings = self.settings();
        for warning in self.crib().plugins().load(&settings) {
            self.tell(&warning);
        }
        let shelf = self.crib().plugins().shelf();
        self.limits.replace(&settings, shelf.clone());
        match toolset(&settings, shelf) {
            Ok(toolset) => self.runtime().replace_toolset(toolset),
            Err(err) => self.tell(&format!("the tools on offer stay as they were: {err}")),
        }
    }
}
