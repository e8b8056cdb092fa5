/* What the receiver's thread is started with, and the messages between it and the program. */
import type { Int64 } from '../../../schema/resource.js'
import type { Stop } from '../../engine/base/errors.js'

/** Which cursors events may make due, as the warehouse knows them. */
export interface SyncedNow {
  /** Tenants that may be synced. */
  readonly tenants: ReadonlySet<Int64>
  /** All that the warehouse knows, granted or not, selected or not. */
  readonly known: ReadonlySet<Int64>
  readonly forgotten: ReadonlySet<Int64>
  readonly resources: ReadonlySet<string>
}

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export interface ReceiverCall {
  /** Where the warehouse is. */
  readonly place: { readonly url: string; readonly schema: string; readonly pooler: boolean }
  readonly host: string
  readonly port: number
  readonly path: string
  readonly tls: TlsFiles | undefined
  /** SHA-256 of each secret that is accepted. */
  readonly secretDigests: readonly Uint8Array[]
  readonly maxBodyBytes: number
  /** The resource of each `payload.type`, for the types in the document. */
  readonly resources: ReadonlyMap<string, string>
  /** Resources that a resource's events make due besides their own. */
  readonly also: ReadonlyMap<string, readonly string[]>
  readonly synced: SyncedNow
  readonly listenerId: string
  /** The source whose events these are. */
  readonly source: string
}

export type ToThread =
  /** The inbox has been brought up to date. */
  | { readonly kind: 'open' }
  | { readonly kind: 'synced'; readonly synced: SyncedNow }
  /** Whether the listener's turns fail now. */
  | { readonly kind: 'turns'; readonly isFailing: boolean }
  | { readonly kind: 'close' }

export type FromThread =
  /** It answers, and refuses events until it is told to open the inbox. */
  | { readonly kind: 'bound' }
  | { readonly kind: 'listening'; readonly url: string }
  /** It could not listen. */
  | {
      readonly kind: 'failed'
      readonly message: string
      readonly hint: string | undefined
      readonly exitCode: Stop['exitCode']
    }
  | { readonly kind: 'received' }
  /** An event named an unknown tenant. */
  | { readonly kind: 'unknownTenant' }
  | {
      readonly kind: 'log'
      readonly level: 'info' | 'warn' | 'error'
      readonly message: string
      readonly fields: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'closed' }
