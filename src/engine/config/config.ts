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
  /** How long the history of runs is kept, in milliseconds. */
  readonly history: { readonly keep: number }
  readonly log: { readonly level: LogLevel | undefined; readonly format: 'auto' | 'text' | 'json' }
  /** What features read of their sections, by the sections' names: see section.ts. */
  readonly sections: Readonly<Record<string, unknown>>
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]
