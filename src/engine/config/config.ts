import type { Int64, Kind } from '../../../schema/resource.js'
import type { ProxyAddress } from './proxy.js'
import type { Secret } from './secret.js'

/** Settings of one resource. */
export interface ResourceConfig {
  readonly enabled: boolean
  /** Path below `tenants/:tenant_id/`, when it is not the declared one. */
  readonly path: string | undefined
  /** Fields that the API's document does not show and that get columns of their own. */
  readonly columns: Readonly<Record<string, Kind>>
  /** Whether versions that are replaced or deleted are kept. */
  readonly history: boolean
}

/** Days, zones and names for those who read the data. */
export interface ReportConfig {
  readonly timeZone: string
  /** By TENANT/SHOP. */
  readonly shopTimeZones: Readonly<Record<string, string>>
  /** What a tax rate of 8.25 % is sent as: 8.25, or 0.0825. */
  readonly taxRates: 'percent' | 'fraction'
  /** Postgres schema of the views; undefined: that of the tables with `_analytics` behind it. */
  readonly schema: string | undefined
  /** The fields that make a name, by resource; only those that the configuration names. */
  readonly names: Readonly<Record<string, readonly string[]>>
  /** By tenant. */
  readonly tenantNames: Readonly<Record<string, string>>
}

/** What a rule of `alerts` may be told. */
export const alertKinds = [
  'failed',
  'unproven',
  'stale',
  'deletes_unchecked',
  'revoked',
  'drift',
  'quarantine',
] as const
export type AlertKind = (typeof alertKinds)[number]

/** Who is told of which trouble: a command, or a webhook with or without a key that signs. */
export interface AlertRule {
  readonly on: readonly AlertKind[]
  /** Milliseconds that trouble has to last. */
  readonly after: number
  readonly command: readonly string[] | undefined
  readonly webhook: Secret | undefined
  readonly secret: Secret | undefined
}

/** The configuration, checked, with every default filled in. Durations are milliseconds. Frozen all the way down. */
export interface Config {
  /** The file that was read; undefined when the program made the document. */
  readonly file: string | undefined
  readonly api: {
    /** Without a slash at its end. */
    readonly baseUrl: string
    readonly partnerId: string
    readonly secret: Secret
    readonly rateReserve: number
    readonly allowInsecure: boolean
    /** Through which the API is reached. */
    readonly proxy: ProxyAddress | undefined
    /** The longest wait that is sat out, where the API asks to wait. */
    readonly maxWait: number
    readonly timeouts: {
      readonly connect: number
      readonly headers: number
      readonly body: number
      readonly request: number
    }
    readonly maxBodyBytes: number
    readonly concurrency: number
    readonly gzip: boolean
    readonly retry: { readonly attempts: number; readonly baseMs: number; readonly maxMs: number }
  }
  readonly warehouse: {
    /** A Postgres address may hold a password. */
    readonly url: Secret
    /** The address without its password, for people. */
    readonly label: string
    readonly schema: string
    /** A pooler in transaction mode stands before Postgres. */
    readonly pooler: boolean
    readonly autoMigrate: boolean
  }
  readonly sync: {
    readonly tenants: 'all' | readonly Int64[]
    /** Tenants that are not walked, and not complained about. */
    readonly exceptTenants: readonly Int64[]
    readonly resources: 'all' | readonly string[]
    /** Milliseconds; `auto`: from the lateness measured. */
    readonly overlap: number | 'auto'
    readonly concurrency: number
  }
  /** One entry for every declared resource. */
  readonly resources: Readonly<Record<string, ResourceConfig>>
  readonly reconcile: { readonly maxDeletes: number }
  readonly status: { readonly staleAfter: number; readonly deletesUncheckedAfter: number }
  /** How long the history of runs is kept, in milliseconds. */
  readonly history: { readonly keep: number }
  /** `heartbeat`: the address that is called after each run. */
  readonly alerts: {
    readonly name?: string | undefined
    readonly rules: readonly AlertRule[]
    readonly heartbeat: Secret | undefined
  }
  readonly report: ReportConfig
  readonly schedule: {
    /** What the schedules of jobs are meant in. */
    readonly timeZone: string
    readonly listen: false | { readonly host: string; readonly port: number }
  }
  readonly metrics: {
    /** The file that is written after each run. */
    readonly textfile: string | undefined
    /** Beyond so many tenants, none has series of its own. */
    readonly maxTenants: number
    /** Labels of every series. */
    readonly labels: Readonly<Record<string, string>>
  }
  readonly log: { readonly level: LogLevel | undefined; readonly format: 'auto' | 'text' | 'json' }
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]
