import type { Clock } from '../../engine/base/clock.js'
import { statusSettings } from '../../engine/config/attention.js'
import type { Config } from '../../engine/config/config.js'
import { freshnessSettings } from '../../engine/config/targetsection.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import { eventSettings } from '../events/settings.js'
import { alertSettings } from './alertsettings.js'
import type { AlertStateSettings } from './alertstate.js'

/** The configuration's settings for incidents: which cursors, and since when. */
export function alertStateSettings(config: Config, model: Model, clock: Clock): AlertStateSettings {
  const { staleAfter, deletesUncheckedAfter } = statusSettings(config)
  const { tenants, exceptTenants, resources } = config.sync
  const enabled = model.list.filter((entry) => entry.enabled).map(({ name }) => name)
  const isHeard = alertSettings(config).rules.some(({ on }) => on.includes('behind_target'))
  return {
    clock,
    tenants: tenants === 'all' ? null : tenants,
    exceptTenants,
    resources: resources === 'all' ? enabled : enabled.filter((name) => resources.includes(name)),
    staleAfterMs: staleAfter,
    deletesUncheckedAfterMs: deletesUncheckedAfter,
    lateAfterMs: eventSettings(config).lateAfter,
    targets: freshnessSettings(config),
    tellsBehind: isHeard,
    keepMs: config.history.keep,
  }
}
