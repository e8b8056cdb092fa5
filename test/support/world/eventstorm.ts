/**
 * A listener, runs by cron next to it, and a source that changes and sends its events, while all of them are killed or
 * stopped: for the long tests of answered events.
 */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Inbox } from '../../../src/features/events/inbox.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { type Listening, startListening } from '../harness/listening.js'
import { type Address, configure } from '../harness/place.js'
import { Program, program } from '../harness/process.js'
import { type Kind, lockHolder, reopen, type Warehouse } from '../harness/warehouse.js'
import { randomFrom } from './random.js'

const lists = ['repair_orders', 'customers', 'payments'] as const

/** How a run ended. */
export interface StormRun {
  readonly code: number | null
  readonly stderr: string
}

export class EventStorm {
  readonly runs: StormRun[] = []
  listening!: Listening
  #port = 0
  #running: Program | undefined
  #isEnding = false
  #loops: Promise<void>[] = []
  #n = 0
  readonly #deleted = new Map<number, number>()

  private constructor(
    readonly sandbox: Sandbox,
    readonly address: Address,
    readonly warehouse: Warehouse,
    readonly random: () => number,
    private readonly config: string,
  ) {}

  static async open(kind: Kind, seed: number): Promise<EventStorm> {
    const sandbox = await createSandbox({ tenants: 2, repairOrders: 60, seed })
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    const config = configure(sandbox, address, lists, { schedule: { listen: { port: 0 } } })
    const storm = new EventStorm(sandbox, address, warehouse, randomFrom(seed), config)
    const first = await storm.command('sync')
    if (first.code !== 0) throw new Error(first.stderr)
    await storm.listen()
    sandbox.subscribe(storm.listening.url)
    return storm
  }

  /** Starts a listener where the last one was. */
  async listen(): Promise<void> {
    const flags = ['--config', this.config, '--port', String(this.#port)]
    this.listening = await startListening(dirname(this.config), {}, flags)
    this.#port = Number(new URL(this.listening.url).port)
  }

  async command(...words: string[]): Promise<StormRun> {
    const { PATH = '' } = process.env
    const run = new Program(program, [...words, '--config', this.config], {
      cwd: dirname(this.config),
      env: { PATH },
    })
    this.#running = run
    const { code, stderr } = await run.ended
    this.#running = undefined
    return { code, stderr }
  }

  /** Changes this many records per second, and runs one sync after the other, until `calm`. */
  begin({ perSecond, pauseMs }: { readonly perSecond: number; readonly pauseMs: number }): void {
    const changing = async (): Promise<void> => {
      while (!this.#isEnding) {
        this.#change()
        await sleep(1000 / perSecond)
      }
    }
    const running = async (): Promise<void> => {
      while (!this.#isEnding) {
        this.runs.push(await this.command('sync', '--quiet'))
        await sleep(this.random() * pauseMs)
      }
    }
    this.#loops = [changing(), running()]
  }

  /** Lets changes and runs finish. */
  async calm(): Promise<void> {
    this.#isEnding = true
    await Promise.all(this.#loops)
    await this.sandbox.delivered()
  }

  #change(): void {
    const { store, tenantIds } = this.sandbox
    const pick = <T>(some: readonly T[]): T | undefined => some[Math.floor(this.random() * some.length)]
    const tenant = pick(tenantIds) ?? 0
    const list = this.random() < 0.7 ? 'repair_orders' : 'customers'
    const id = pick(store.ids(tenant, list)) ?? 0
    this.#n += 1
    const deleted = this.#deleted.get(tenant) ?? 0
    // Few enough for the deletion guard, at any hour.
    if (list === 'repair_orders' && this.#n % 150 === 0 && deleted < 4) {
      store.remove(tenant, list, id)
      this.#deleted.set(tenant, deleted + 1)
    } else
      store.change(tenant, list, id, list === 'customers' ? { city: `${this.#n}` } : { detail: `${this.#n}` })
  }

  /** Kills the current run, if there is one. */
  killRun(): boolean {
    this.#running?.kill('SIGKILL')
    return this.#running !== undefined
  }

  async killListener(): Promise<void> {
    this.listening.run.kill('SIGKILL')
    await this.listening.run.ended
  }

  /** Resolves as soon as a listener holds the lease. */
  async heldByListener(): Promise<void> {
    for (;;) {
      const holder = await lockHolder(this.warehouse)
      if (holder?.owner && holder.command === 'listen') return
      await sleep(2)
    }
  }

  /** Ids of events that were answered with 200. */
  answered(): Set<string> {
    return new Set(this.sandbox.deliveries.filter(({ status }) => status === 200).map(({ event }) => event))
  }

  async inbox() {
    const inbox = await Inbox.there(this.warehouse)
    const rows = await inbox?.read((db) => db.selectFrom('sync_events').selectAll().execute())
    await inbox?.close()
    return rows ?? []
  }

  async waiting() {
    return (await this.inbox()).filter(({ state }) => state === 'waiting')
  }

  /**
   * Waits until no event of an existing record is waiting; after the time limit, returns those that still are. If a
   * record is gone and its deletion wasn't announced, it is looked for again for a quarter of an hour.
   */
  async settled(withinMs: number): Promise<string[]> {
    for (const until = performance.now() + withinMs; ; ) {
      const waiting = (await this.waiting()).filter(
        ({ tenant_id, resource, record_id }) =>
          this.sandbox.store.get(Number(tenant_id), resource, Number(record_id)) !== undefined,
      )
      if (waiting.length === 0 || performance.now() > until)
        return waiting.map(({ event_id, reason }) => `${event_id} ${reason}`)
      await sleep(500)
    }
  }

  async close(): Promise<void> {
    this.#isEnding = true
    this.listening.run.kill('SIGKILL')
    await Promise.all(this.#loops)
    await this.warehouse.close()
    await this.sandbox.close()
  }
}
