/* The receiver from the program's side: a thread that is started, told what is synced, and ended. */
import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import { resources } from '../../../schema/index.js'
import { Bug, Stop } from '../../engine/base/errors.js'
import type { Config } from '../../engine/config/config.js'
import { sourceAddress } from '../../engine/config/sourceaddress.js'
import { knownTenants, readForgotten } from '../../engine/warehouse/state/tenants.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { listenedTo } from './inbox.js'
import type { EventSettings } from './settings.js'
import { readSynced } from './synced.js'
import type { FromThread, ReceiverCall, SyncedNow, ToThread } from './threadmessages.js'

/** Next to entry.ts, which a bundle of the program puts next to this file. */
const thread = (): URL => {
  const bundled = new URL('./receiverthread.js', import.meta.url)
  return existsSync(bundled) ? bundled : new URL('../../receiverthread.js', import.meta.url)
}

/** Milliseconds until a thread that doesn't end by itself is terminated. */
const endPatience = 8000

export interface RunningReceiver {
  /** Where to send events. */
  readonly url: string
  tell(synced: SyncedNow): void
  /** Whether the listener's turns fail now. */
  turnsFail(isFailing: boolean): void
  /** Rejects when the thread ends by itself. */
  readonly failed: Promise<never>
  /** Accepts nothing more, and answers the accepted events once they are stored. */
  close(): Promise<void>
}

const ownDigest = (text: string): Uint8Array => createHash('sha256').update(text, 'utf8').digest()

export function receiverCall(
  config: Pick<Config, 'warehouse' | 'api' | 'folder'>,
  settings: EventSettings,
  synced: SyncedNow,
): ReceiverCall {
  const { url, schema, pooler } = config.warehouse
  const { host, port, path, tls, maxBodyBytes, secrets = [config.api.secret] } = settings
  const announced = Object.values(resources).filter((resource) => resource.announced)
  return {
    place: { url: url.reveal(), schema, pooler },
    host,
    port,
    path,
    tls: tls && { cert: resolve(config.folder, tls.cert), key: resolve(config.folder, tls.key) },
    maxBodyBytes,
    synced,
    secretDigests: secrets.map((secret) => ownDigest(secret.reveal())),
    resources: new Map(announced.map(({ entity, name }) => [entity, name])),
    also: new Map(Object.entries(settings.also ?? rungByDeclaration())),
    listenerId: randomUUID(),
    source: listenedTo(sourceAddress(config.api)),
  }
}

/** Which other resources the events of a resource make due, as declared. */
function rungByDeclaration(): Record<string, string[]> {
  const also: Record<string, string[]> = {}
  for (const { name, rungBy = [] } of Object.values(resources))
    for (const by of rungBy) also[by] = [...(also[by] ?? []), name]
  return also
}

/** Called again from time to time: tenants come and go, and other commands change the warehouse. */
export async function syncedNow(config: Pick<Config, 'sync'>, warehouse: Warehouse): Promise<SyncedNow> {
  const { tenants, resources: chosen } = await readSynced(config, warehouse)
  const known = await knownTenants(warehouse)
  return {
    tenants,
    resources: new Set(chosen.keys()),
    known: new Set(known.map(({ tenantId }) => tenantId)),
    forgotten: await readForgotten(warehouse),
  }
}

const stopOf = ({ message, hint, exitCode }: Extract<FromThread, { kind: 'failed' }>): Stop =>
  new Stop(message, { exitCode, hint })

/** Resolves when it listens. Throws Stop if it can't. */
export async function startReceiver(
  call: ReceiverCall,
  on: {
    /** Brings the inbox up to date. Senders are told to come again meanwhile. */
    bound(): Promise<void>
    /** An event that makes a cursor due was stored. */
    received(): void
    /** An event named a tenant that the warehouse doesn't know. */
    unknownTenant(): void
    log(level: 'info' | 'warn' | 'error', message: string, fields: Readonly<Record<string, unknown>>): void
  },
): Promise<RunningReceiver> {
  const worker = new Worker(thread(), { workerData: call })
  const say = (message: ToThread): void => worker.postMessage(message)
  let isEnding = false
  const failed = new Promise<never>((_, reject) => {
    worker.once('error', reject)
    worker.once('exit', (code) => {
      if (!isEnding) reject(new Bug(`The thread that receives events ended with code ${code}`))
    })
  })
  // It may not be awaited before the thread ends.
  failed.catch(() => {})
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const listening = new Promise<string>((resolve, reject) => {
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'bound') on.bound().then(() => say({ kind: 'open' }), reject)
      else if (message.kind === 'listening') resolve(message.url)
      else if (message.kind === 'failed') reject(stopOf(message))
      else if (message.kind === 'received') on.received()
      else if (message.kind === 'unknownTenant') on.unknownTenant()
      else if (message.kind === 'log') on.log(message.level, message.message, message.fields)
      else void worker.terminate()
    })
  })
  try {
    const url = await Promise.race([listening, failed])
    return {
      url,
      failed,
      tell: (synced) => say({ kind: 'synced', synced }),
      turnsFail: (isFailing) => say({ kind: 'turns', isFailing }),
      close: async () => {
        isEnding = true
        say({ kind: 'close' })
        const timer = setTimeout(() => void worker.terminate(), endPatience)
        await ended
        clearTimeout(timer)
      },
    }
  } catch (error) {
    isEnding = true
    await worker.terminate()
    throw error
  }
}
