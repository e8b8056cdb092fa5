// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
/** What the commands of a transcript meet: a folder with a configuration, a source, a warehouse, variables, a clock. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import pg from 'pg'
import { createSandbox, type Rule, type Sandbox } from '../../../../src/sandbox/index.js'
import { clonePostgres, cloneSqlite } from '../clones.js'
import { inFile, templateSchema } from '../databases.js'
import { sendEvent } from '../listening.js'
import { eventBody, type SentEvent } from '../receiver.js'
import { scratch } from '../scratch.js'
import type { Replacement } from '../stable.js'
import { root } from '../tree.js'
import { listenHere } from '../uphere.js'
import { lastChange, PlayedTime } from './playedtime.js'

/** It takes a while to look up. */
const user = userInfo().username

type Settings = { [key: string]: unknown }

export class World {
  readonly folder = scratch()
  readonly env: Record<string, string>
  stdin = ''
  /** The width of the terminal; undefined for a pipe. */
  columns: number | undefined
  readonly #postgres = new Map<string, pg.Client>()
  #url: string | undefined
  #listener: Awaited<ReturnType<typeof listenHere>> | undefined
  #received = 0
  /** How long another run has held the lock, in minutes; it goes on holding it. */
  held: number | undefined
  #rules: Rule[] = []
  #settings: Settings = {}

  private constructor(
    readonly sandbox: Sandbox,
    readonly time: PlayedTime,
  ) {
    this.env = { API_SECRET: sandbox.secret }
    this.configure()
  }

  static async open(): Promise<World> {
    const time = new PlayedTime()
    const sandbox = await createSandbox({
      tenants: 2,
      repairOrders: 6,
      seed: 3,
      until: lastChange,
      // One window for the whole transcript: no wait, and as many requests left whenever it is played.
      rate: { window: 31_536_000 },
    })
    return new World(sandbox, time)
  }

  get warehouse(): string {
    return join(this.folder, 'warehouse.db')
  }

  /** Sets what stands at this path of the configuration. */
  set(path: string, value: unknown): void {
    const keys = path.split('.')
    const last = keys.pop() ?? ''
    let place = this.#settings
    for (const key of keys) {
      place[key] ??= {}
      place = place[key] as Settings
    }
    place[last] = value
    this.#write()
  }

  /** The usual configuration. */
  configure(): void {
    this.#settings = {
      api: {
        baseUrl: this.sandbox.url,
        partnerId: this.sandbox.partnerId,
        secret: '${API_SECRET}',
        // What is printed has an order then.
        concurrency: 1,
        retry: { attempts: 1, base: 'PT0.01S', max: 'PT0.02S' },
      },
      warehouse: this.#url ? { url: this.#url, schema: templateSchema } : { url: 'sqlite:./warehouse.db' },
      sync: { resources: ['notes', 'customers', 'shops'] },
    }
    this.#write()
  }

  #write(): void {
    this.write('config.json', JSON.stringify(this.#settings, null, 2))
  }

  write(name: string, text: string): void {
    const file = join(this.folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { mode: 0o600 })
  }

  /** One more fault of the source. */
  fault(rule: Rule): void {
    this.#rules.unshift(rule)
    this.sandbox.script(this.#rules)
  }

  recover(): void {
    this.#rules = []
    this.sandbox.script([])
  }

  /** `shopsync listen`, until it is told to end. */
  async listen(flags: readonly string[]): Promise<void> {
    this.#listener = await listenHere(this.folder, this.sandbox.secret, flags)
    this.#dated()
  }

  async endListening(): Promise<void> {
    if (!this.#listener) return
    await this.#listener.end()
    this.#listener = undefined
    this.#dated()
  }

  /** Sends an event as the source does. */
  async announce(event: SentEvent): Promise<void> {
    const status = await sendEvent(this.#listener?.url ?? '', this.sandbox.secret, eventBody(event))
    if (status !== 200) throw new Error(`The listener answered ${status}`)
    this.#dated()
  }

  /** The receiver has a thread of its own, with the time of this machine: what it has written is from now. */
  #dated(): void {
    this.#received += 1
    const now = new Date(this.time.begun + this.#received).toISOString().replace('Z', '000Z')
    const columns = {
      sync_events: ['received_at', 'due_at', 'settled_at'],
      sync_listeners: ['up_at', 'seen_at', 'ended_at'],
    }
    const later = Object.entries(columns).flatMap(([table, names]) =>
      names.map((name) => `update ${table} set ${name} = '${now}' where ${name} > '${now.slice(0, 10)}~'`),
    )
    inFile(`${this.warehouse}.events`, (db) => db.exec(later.join('; ')))
  }

  /** The warehouse as a first run makes it, which takes longer than most commands. */
  migrate(): Promise<void> {
    return cloneSqlite(this.warehouse, 'viewed')
  }

  /** From now on the warehouse is an empty one with views, in a database of its own. */
  async usePostgres(): Promise<void> {
    this.#url = await clonePostgres('viewed')
    this.configure()
  }

  /** The rows of a statement, or none; on Postgres as a role, which has one session. */
  async sql(statement: string, role = ''): Promise<readonly (readonly unknown[])[]> {
    if (this.#url) {
      const client = this.#postgres.get(role) ?? new pg.Client(as(this.#url, role))
      if (!this.#postgres.has(role)) await client.connect()
      this.#postgres.set(role, client)
      const found: pg.QueryArrayResult = await client.query({ text: statement, rowMode: 'array' })
      return found.rows ?? []
    }
    return inFile(this.warehouse, (db) => {
      // What a hint says to type may be two statements.
      const prepared = statement.startsWith('pragma ') ? undefined : db.prepare(statement)
      if (prepared?.reader) return prepared.raw().all() as unknown[][]
      if (prepared) prepared.run()
      else db.exec(statement)
      return []
    })
  }

  /** What is true as long as a command doesn't change it. */
  async keep(): Promise<void> {
    if (this.held === undefined) return
    const at = (time: number): string => new Date(time).toISOString().replace('Z', '000Z')
    const [claimed, expires] = [at(this.time.begun - this.held * 60_000), at(Date.now() + 50_000)]
    await this.sql(
      `update sync_lease set owner = 'r', host = 'elsewhere', pid = 1, claimed_at = '${claimed}', expires_at = '${expires}'`,
    )
  }

  /** What differs between machines, and what it is called in a transcript, where it can be typed, too. */
  get names(): readonly Replacement[] {
    const { url, secret } = this.sandbox
    const elsewhere = url.replace('127.0.0.1', 'localhost')
    return [
      ...namesOf(this.#url),
      [relative(this.folder, root), '<program>'],
      [this.folder, '<folder>'],
      [root, '<program>'],
      [`User=${user}`, 'User=<user>'],
      [url, '<source>'],
      [elsewhere, '<other source>'],
      [new URL(url).host, '<source host>'],
      [secret, '<secret>'],
    ]
  }

  /** What was printed, as a transcript has it. */
  named(text: string): string {
    return this.names.reduce((line, [real, name]) => line.replaceAll(real, name), text)
  }

  /** A line of a transcript as this machine would have it. */
  meant(text: string): string {
    return this.names.reduce((line, [real, name]) => line.replaceAll(name, real), text)
  }

  async close(): Promise<void> {
    await this.endListening()
    this.time.end()
    for (const client of this.#postgres.values()) await client.end()
    await this.sandbox.close()
  }
}

/** The same database as another role; every role that a transcript makes has no password. */
function as(url: string, role: string): string {
  const address = new URL(url)
  if (role !== '') address.username = role
  return address.href
}

/** Roles belong to the server, where others may have left some: a transcript's have names of their own. */
const roles = ['main_street', 'maker']

function namesOf(url: string | undefined): readonly Replacement[] {
  if (url === undefined) return []
  const { host, pathname } = new URL(url)
  return [
    ...roles.map((role) => [`${role}_of${pathname.slice(2)}`, role] as const),
    [url, '<warehouse>'],
    [`postgres://${host}${pathname} (schema ${templateSchema})`, '<warehouse>'],
    [pathname.slice(1), '<database>'],
    [host, '<server>'],
  ]
}
