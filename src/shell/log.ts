import { type Logger, pino } from 'pino'
import { visible } from '../engine/base/escape.js'
import type { Config, LogLevel } from '../engine/config/config.js'
import { isFault, readPostgresAddress } from '../engine/config/postgresaddress.js'
import { Secret } from '../engine/config/secret.js'
import type { Invocation } from './command.js'

/** Values that no line may contain, whatever message they came from. */
export function secretsOf(config: Config): string[] {
  const key = config.privacy.key?.reveal() ?? []
  return [config.api.secret.reveal(), ...passwords(config), ...secretsIn(config.sections)].concat(key)
}

/** The passwords in addresses, both as spelled in the address and decoded. */
function passwords({ warehouse, api }: Config): string[] {
  const [database, proxy] = [warehouse.url.reveal(), api.proxy?.url.reveal() ?? '']
  const address = database.startsWith('sqlite:') ? undefined : readPostgresAddress(database)
  const ofDatabase = address && !isFault(address) ? [address.password, address.typedPassword] : []
  const ofProxy = URL.canParse(proxy) ? new URL(proxy).password : ''
  return [...ofDatabase, ofProxy, decodeURIComponent(ofProxy)].flatMap((password) => password || [])
}

/** Every secret in the sections of the features, at any depth. */
function secretsIn(settings: unknown): string[] {
  if (settings instanceof Secret) return [settings.reveal()]
  return typeof settings === 'object' && settings !== null ? Object.values(settings).flatMap(secretsIn) : []
}

export type { Logger } from 'pino'

/** Paths that can hold credentials: in requests, in the configuration, and in errors that include either. */
const credentials = ['secret', 'password', 'authorization', 'x-api-secret'].flatMap((key) => [
  `["${key}"]`,
  `*["${key}"]`,
  `*.*["${key}"]`,
])

export function createLog(options: {
  readonly level: LogLevel
  /** Lines for people instead of JSON. */
  readonly text: boolean
  /** Values that no line may contain, whatever message they came from. */
  readonly secrets: readonly string[]
  /** On every line. */
  readonly shard?: string | undefined
  write(text: string): void
}): Logger {
  const hidden = options.secrets.filter((secret) => secret.length > 3).flatMap(spellings)
  const conceal = (line: string): string =>
    hidden.reduce((text, secret) => text.replaceAll(secret, '[secret]'), line)
  const write = (line: string): void => options.write(visible(options.text ? `${forPeople(line)}\n` : line))
  return pino(
    {
      level: options.level,
      base: null,
      // Unlike a child's, these are merged with a line's own: no key comes twice.
      mixin: () => (options.shard === undefined ? {} : { shard: options.shard }),
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: credentials, censor: '[secret]' },
      hooks: { streamWrite: conceal },
    },
    { write },
  )
}

/** The spellings of a secret: plain, in JSON text, in addresses. */
const spellings = (secret: string): string[] => [
  ...new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]),
]

/** `02:00:11 WARN  message key=value`. */
function forPeople(line: string): string {
  const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(rest).map(([key, value]) => ` ${key}=${plain(value)}`)
  return `${String(time).slice(11, 19)} ${String(level).toUpperCase().padEnd(5)} ${String(msg ?? '')}${fields.join('')}`
}

const plain = (value: unknown): string =>
  typeof value === 'string' && /^[\w.:/-]*$/.test(value) ? value : JSON.stringify(value)

/** How much of it is written. */
export function levelOf({ globals, out, io }: Invocation, config: Config): LogLevel {
  if (globals.logLevel) return globals.logLevel
  if (out.quiet) return 'error'
  return config.log.level ?? (io.stderr.isTTY ? 'warn' : 'info')
}
