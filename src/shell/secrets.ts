import type { Config } from '../engine/config/config.js'
import { Secret } from '../engine/config/secret.js'

/** What no line may hold, wherever a message got it from. */
export function secretsOf(config: Config): string[] {
  return [config.api.secret.reveal(), ...passwords(config), ...secretsIn(config.sections)]
}

/** The passwords in addresses, as the address spells them and in clear. */
function passwords({ warehouse, api }: Config): string[] {
  return [warehouse.url, api.proxy?.url].flatMap((secret) => {
    const url = secret?.reveal() ?? ''
    const password = URL.canParse(url) ? new URL(url).password : ''
    return password === '' ? [] : [password, decodeURIComponent(password)]
  })
}

/** Every secret in the sections of the features, at whatever depth. */
function secretsIn(settings: unknown): string[] {
  if (settings instanceof Secret) return [settings.reveal()]
  return typeof settings === 'object' && settings !== null ? Object.values(settings).flatMap(secretsIn) : []
}
