import type { Config } from '../engine/config/config.js'

/** What no line may hold, wherever a message got it from. */
export function secretsOf(config: Config): string[] {
  const { rules, heartbeat } = config.alerts
  const told = [heartbeat, ...rules.flatMap(({ webhook, secret }) => [webhook, secret])]
  return [
    config.api.secret.reveal(),
    ...passwords(config),
    ...told.flatMap((secret) => secret?.reveal() ?? []),
  ]
}

/** The passwords in addresses, as the address spells them and in clear. */
function passwords({ warehouse, api }: Config): string[] {
  return [warehouse.url, api.proxy?.url].flatMap((secret) => {
    const url = secret?.reveal() ?? ''
    const password = URL.canParse(url) ? new URL(url).password : ''
    return password === '' ? [] : [password, decodeURIComponent(password)]
  })
}
