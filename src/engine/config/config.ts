import type { Int64, Kind } from '../../../schema/resource.js'
import type { ProxyAddress } from './proxy.js'
import type { Secret } from './secret.js'
import type { Privacy } from './treatment.js'

/** The configuration: checked, with every default filled in. Durations are in milliseconds. Deeply frozen. */
export interface Config {
  /** The file that was read. undefined if the program made the document. */
  readonly file: string | undefined
  /** Where its relative paths start: the folder of the file as it was named; without one, the working directory. */
  readonly folder: string
  readonly api: {
    /** Without a trailing slash. */
    readonly baseUrl: string
    readonly partnerId: string
    readonly secret: Secret
    readonly rateReserve: number
    readonly allowInsecure: boolean
    /** The proxy through which the API is reached. */
    readonly proxy: ProxyAddress | undefined
    /** The longest wait that we accept if the API tells us to wait. */
    readonly maxWait: number
    readonly timeouts: {
      readonly connect: number
      /** From the request until its headers arrive. */
      readonly headers: number
      /** Between two pieces of the body. */
      readonly body: number
      /** For the whole request, including the body: a server that sends one byte per second passes all other timeouts. */
      readonly request: number
    }
    readonly maxBodyBytes: number
    /** The most records to request at once. */
    readonly pageSize: number
    readonly concurrency: number
    readonly gzip: boolean
    readonly retry: {
      /** The most times a request is sent. */
      readonly attempts: number
      readonly baseMs: number
      readonly maxMs: number
    }
  }
  readonly warehouse: {
    /** A Postgres address may hold a password. */
    readonly url: Secret
    /** The address without its password, for people. */
    readonly label: string
    readonly schema: string
    /** Postgres is behind a pooler in transaction mode. */
    readonly pooler: boolean
    readonly autoMigrate: boolean
  }
  readonly sync: {
    readonly tenants: 'all' | readonly Int64[]
    /** Tenants that aren't walked or reported as missing. */
    readonly exceptTenants: readonly Int64[]
    readonly resources: 'all' | readonly string[]
    /** Milliseconds. `auto`: based on the measured lateness. */
    readonly overlap: number | 'auto'
    readonly concurrency: number
  }
  /** One entry for every declared resource. */
  readonly resources: Readonly<
    Record<
      string,
      {
        readonly enabled: boolean
        /** Path below `tenants/:tenant_id/`, if it differs from the declared one. */
        readonly path: string | undefined
        /** Fields that aren't in the API documentation and get their own columns. */
        readonly columns: Readonly<Record<string, Kind>>
        /** Whether replaced or deleted versions are kept. */
        readonly history: boolean
      }
    >
  >
  /** What is kept out of the warehouse; the key is base64. */
  readonly privacy: Pick<Privacy, 'preset' | 'columns' | 'keyVersion'> & { readonly key: Secret | undefined }
  /** How long the history of runs is kept, in milliseconds. */
  readonly history: { readonly keep: number }
  readonly log: { readonly level: LogLevel | undefined; readonly format: 'auto' | 'text' | 'json' }
  /** What features read from their sections, by section name: see section.ts. */
  readonly sections: Readonly<Record<string, unknown>>
}

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]
