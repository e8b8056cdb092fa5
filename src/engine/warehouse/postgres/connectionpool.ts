/**
 * Pools of connections to Postgres, for the warehouse (postgres/dialect.ts) and for the queue (queueplace.ts). Every
 * transaction begins with our settings, and connections that have gone silent are detected: a firewall forgot them, a server
 * was stopped, a cable was pulled. Then nothing arrives, not even an error, and a statement would wait forever.
 *
 * A slow statement is silent too. So if a connection is waiting for an answer and hasn't moved a byte for some time,
 * another connection asks the server whether the statement is still running.
 */
import type { Socket } from 'node:net'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { sendAlone, transactionLocally } from './connection.js'

export function connect(config: pg.PoolConfig, silentMs?: number): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // Statements that don't wait for each other's results are sent together.
    pipeline: true,
  })
  // Of connections that nobody has borrowed: nothing is lost.
  pool.on('error', () => {})
  endSilentConnections(pool, config, silentMs)
  return pool
}

/** The driver returns a list if a text contains several statements, but its types don't include that. */
export const lastOf = (answers: pg.QueryResult | readonly pg.QueryResult[]): pg.QueryResult | undefined =>
  Array.isArray(answers) ? answers.at(-1) : (answers as pg.QueryResult)

const isBegin = (text: string): boolean => /^(begin|start transaction)\b[^;]*$/.test(text)

/** A pool whose transactions begin with our settings, and behind a pooler, whose single statements do, too. */
export const settledPool = (pool: pg.Pool, pooler: boolean): PostgresPool => ({
  connect: async () => {
    const client = await pool.connect()
    let isOpen = false
    const query = async (text: string, values: readonly unknown[]) => {
      if (isBegin(text)) {
        isOpen = true
        return client.query(`${text}; ${transactionLocally}`)
      }
      if (!isOpen) return sendAlone(client, pooler, text, values)
      isOpen = text !== 'commit' && text !== 'rollback'
      return client.query(text, [...values])
    }
    return { query, release: () => client.release() } as unknown as PostgresPoolClient
  },
  end: () => endPool(pool),
})

/** For pg-boss, a connection. Several statements in a text have several results. */
export const statementsOf = (client: PostgresPoolClient) => ({
  executeSql: (text: string, values: unknown[] = []) => client.query<unknown>(text, values),
})

/** For pg-boss, a pool. */
export const statementsOn = (pool: PostgresPool): ReturnType<typeof statementsOf> => ({
  executeSql: async (text, values) => {
    const client = await pool.connect()
    try {
      return await statementsOf(client).executeSql(text, values)
    } catch (error) {
      // A text may have begun a transaction.
      await client.query('rollback', []).catch(() => {})
      throw error
    } finally {
      client.release()
    }
  },
})

/** In milliseconds: how long a connection may be silent before it is checked, and how long the check may take. */
const silentAfter = 30_000
const answerWithin = 5000
const goodbyeWithin = 2000
/**
 * If the server doesn't know the session, as behind a pooler, it counts as lost after it was found silent this often.
 */
const strikes = 3

const inside = (client: pg.ClientBase) =>
  client as unknown as {
    readonly connection: { readonly stream: Socket }
    /** The session's process on the server. */
    readonly processID: number
  }

/** The sockets of each pool, so that ending it doesn't have to wait for a server that doesn't answer. */
const sockets = new WeakMap<pg.Pool, Set<Socket>>()

/** Ends a pool: gracefully, or by closing the sockets if the server doesn't answer. */
async function endPool(pool: pg.Pool): Promise<void> {
  if (pool.ending) return
  const open = sockets.get(pool) ?? new Set()
  const timer = setTimeout(() => {
    for (const socket of open) socket.destroy()
  }, goodbyeWithin)
  try {
    await pool.end()
  } finally {
    clearTimeout(timer)
  }
}

/** Ends the pool's silent connections that work is waiting for, so the work is retried. */
export function endSilentConnections(pool: pg.Pool, options: pg.PoolConfig, silentMs = silentAfter): void {
  /** Connections that work has borrowed, and how often each was found silent. */
  const lent = new Map<pg.ClientBase, number>()
  const open = new Set<Socket>()
  sockets.set(pool, open)
  pool.on('connect', (client) => {
    const { stream } = inside(client).connection
    open.add(stream)
    stream.once('close', () => open.delete(stream))
    stream.on('timeout', () => void judge(client))
  })
  pool.on('acquire', (client) => {
    lent.set(client, 0)
    inside(client).connection.stream.setTimeout(silentMs)
  })
  pool.on('release', (_error, client) => lent.delete(client))

  async function judge(client: pg.ClientBase): Promise<void> {
    const times = (lent.get(client) ?? 0) + 1
    if (!lent.has(client)) return
    lent.set(client, times)
    const { connection, processID } = inside(client)
    const read = connection.stream.bytesRead
    const state = await stateOf(processID, options)
    if (!lent.has(client) || connection.stream.bytesRead > read) return
    if (state === 'working' || (state === 'unknown' && times < strikes))
      connection.stream.setTimeout(silentMs)
    else connection.stream.destroy(silent(silentMs))
  }
}

const silent = (ms: number): Error =>
  Object.assign(new Error(`The connection was silent for ${Math.round(ms / 1000)} seconds`), {
    code: 'ETIMEDOUT',
  })

/** What the session of that process is doing. `lost` if the server doesn't answer either, or is waiting for us. */
async function stateOf(processId: number, options: pg.PoolConfig): Promise<'working' | 'unknown' | 'lost'> {
  const { Client = pg.Client, ...how } = options
  const client = new Client({
    ...how,
    connectionTimeoutMillis: answerWithin,
    query_timeout: answerWithin,
    pipeline: true,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const text = 'select state from pg_stat_activity where pid = $1'
    const [found] = (await sendAlone(client, true, text, [processId])).rows as { state: string | null }[]
    return !found ? 'unknown' : found.state === 'active' ? 'working' : 'lost'
  } catch {
    return 'lost'
  } finally {
    inside(client).connection.stream.destroy()
  }
}
