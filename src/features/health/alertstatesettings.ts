import type { Clock } from '../../engine/base/clock.js'
import { statusSettings } from '../../engine/config/attention.js'
import type { Config } from '../../engine/config/config.js'
import { freshnessSettings } from '../../engine/config/targetsection.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import { eventSettings } from '../events/settings.js'
import { type AlertKind, alertSettings } from './alertsettings.js'
import type { AlertStateSettings } from './alertstate.js'

/** The configuration's settings for incidents: which cursors, and since when. */
export function alertStateSettings(config: Config, model: Model, clock: Clock): AlertStateSettings {
  const { staleAfter, deletesUncheckedAfter } = statusSettings(config)
  const { tenants, exceptTenants, resources } = config.sync
  const enabled = model.list.filter((entry) => entry.enabled).map(({ name }) => name)
  const { rules } = alertSettings(config)
  const isHeard = (kind: AlertKind): boolean => rules.some(({ on }) => on.includes(kind))
  return {
    clock,
    tenants: tenants === 'all' ? null : tenants,
    exceptTenants,
    resources: resources === 'all' ? enabled : enabled.filter((name) => resources.includes(name)),
    staleAfterMs: staleAfter,
    deletesUncheckedAfterMs: deletesUncheckedAfter,
    lateAfterMs: eventSettings(config).lateAfter,
    targets: freshnessSettings(config),
    tellsBehind: isHeard('behind_target'),
    tellsQuiet: isHeard('quiet'),
    keepMs: config.history.keep,
  }
}
