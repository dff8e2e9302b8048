//! Tools from other authors in a process that runs: what others approve or roll back is taken up without a restart.

use toolcrib_plugins::PluginError;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_serve::{LivePlugins, has_bare_names};

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
