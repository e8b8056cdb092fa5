import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Stop } from '../../../src/engine/base/errors.js'
import type { Privacy } from '../../../src/engine/config/treatment.js'
import { model } from '../../support/harness/model.js'
import { known } from '../../support/harness/runs.js'
import {
  bothWarehouses,
  isDead,
  kept,
  listenCommand,
  lockHolder,
  migrate,
  open,
  openLease,
  openWarehouse,
  RowSettings,
  rowSettingsName,
  rowsOf,
  type Warehouse,
  type WriterLease,
  wantLease,
} from '../../support/harness/warehouse.js'
import { through } from '../../support/world/through.js'

describe.each(bothWarehouses())('a lease on $name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
  })
  afterAll(() => warehouse.close())

  const holder = async (): Promise<unknown> => (await rowsOf(warehouse, 'sync_lease'))[0]?.owner

  /** The work of a command under its lease. */
  async function held<T>(
    work: (lease: WriterLease) => Promise<T>,
    needs: { readonly leaseMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    await using lease = await openLease({ warehouse, clock: systemClock, ...needs }, 'sync')
    const result = await work(lease)
    lease.throwIfLost()
    return result
  }

  it('is held to the end of the block, and then released, whatever that throws', async () => {
    const during = await held(async (lease) => [await holder(), lease.runId])
    expect(during[0]).toBe(during[1])
    expect(await holder()).toBeNull()
    const failing = held(() => Promise.reject(new Error('of the work')))
    await expect(failing).rejects.toThrow('of the work')
    expect(await holder()).toBeNull()
  })

  it('is free if its holder has ended, even if its exit code has not been collected', async () => {
    // The child of a shell that has since become another program, which doesn't reap children.
    const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const pid = await new Promise<string>((resolve) =>
      parent.stdout.once('data', (line: Buffer) => resolve(line.toString().trim())),
    )
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ')
    const host = await held(async () => (await rowsOf(warehouse, 'sync_lease'))[0]?.host)
    expect(isDead({ host: String(host), pid: Number(pid) })).toBe(true)
    expect(isDead({ host: String(host), pid: parent.pid ?? 0 })).toBe(false)
    parent.kill('SIGKILL')
  })

  describe('of a listener', () => {
    const listening = () => openLease({ warehouse, clock: systemClock }, listenCommand)

    it('is waited for, and released to the process that wants it', async () => {
      const listener = await listening()
      const claimed = held(holder)
      await expect.poll(async () => (await lockHolder(warehouse))?.wanted_at).not.toBeNull()
      expect(await holder()).toBe(listener.runId)
      await listener[Symbol.asyncDispose]()
      expect(await claimed).not.toBe(listener.runId)
      expect((await lockHolder(warehouse))?.wanted_at).toBeNull()
    })

    it('is not claimed while another command waits for it', async () => {
      await wantLease(warehouse)
      await expect(listening()).rejects.toThrow(/is waiting for/)
      expect(await held(holder)).not.toBeNull()
      const after = await listening()
      await after[Symbol.asyncDispose]()
    })

    it('is not waited for by another listener', async () => {
      const first = await listening()
      await expect(listening()).rejects.toThrow(/listen, /)
      expect((await lockHolder(warehouse))?.wanted_at).toBeNull()
      await first[Symbol.asyncDispose]()
    })
  })

  it("never hides the work's error or its result behind a failed release", async () => {
    let isOver = false
    const broken = through(warehouse, {
      transaction: (work) =>
        isOver ? Promise.reject(new Error('of the release')) : warehouse.dialect.transaction(work),
    })
    const withoutRelease = async <T>(work: () => Promise<T>): Promise<T> => {
      isOver = false
      await warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])
      await using _ = await openLease({ warehouse: broken, clock: systemClock }, 'sync')
      isOver = true
      return await work()
    }
    const failing = withoutRelease(() => Promise.reject(new Error('of the work')))
    await expect(failing).rejects.toThrow('of the work')
    expect(await withoutRelease(async () => 'done')).toBe('done')
    await warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])
  })

  it("aborts the work's signal when the lease is lost, and fails", async () => {
    const work = async ({ signal }: WriterLease): Promise<string> => {
      const taken = warehouse.db.updateTable('sync_lease').set((eb) => ({ token: eb('token', '+', 1) }))
      await warehouse.write([taken.compile()])
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      expect(signal.reason).toBeInstanceOf(Stop)
      return 'cut short'
    }
    await expect(held(work, { leaseMs: 40 })).rejects.toMatchObject({ name: 'Stop', exitCode: 4 })
    await warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])
  })

  it('aborts the signal of the work when the given one aborts', async () => {
    const given = new AbortController()
    const work = async ({ signal }: WriterLease): Promise<void> => {
      expect(signal.aborted).toBe(false)
      given.abort()
      expect(signal.aborted).toBe(true)
    }
    await held(work, { signal: given.signal })
  })

  describe('and one configuration', () => {
    const settings: Readonly<Record<string, string>> = {
      utc: '{"program":"1","report.timeZone":"utc"}',
      berlin: '{"program":"1","report.timeZone":"berlin"}',
    }
    const place = kept(kind)
    let opened: Warehouse[] = []
    beforeEach(async () => {
      // Of a version that stored no settings so far.
      opened = [await place.open()]
    })
    afterEach(() => Promise.all(opened.slice(1).map((one) => one.close())))

    /** Another process of the warehouse. */
    async function start(text: string, model = known): Promise<Warehouse> {
      const one = await openWarehouse({ ...place.address, model, rowSettings: new RowSettings(text) })
      await migrate(one)
      opened.push(one)
      return one
    }

    async function claim(one: Warehouse, needs: { readonly shapesRows?: boolean } = {}): Promise<unknown> {
      await using _ = await openLease({ warehouse: one, clock: systemClock, ...needs }, 'sync')
      return (await rowsOf(one, 'sync_meta')).find(({ name }) => name === rowSettingsName)?.value
    }

    /** Processes that start with a configuration, and claim the lease: which is stored then, or how they are refused. */
    const lives: [what: string, steps: string[]][] = [
      [
        'an older process with other settings is refused, until it reads its configuration again',
        [
          ...['a starts utc', 'a claims utc', 'b starts berlin', 'a claims utc', 'b claims berlin'],
          // It makes no tables, either, and leaves the lease to others.
          ...['a is refused: report.timeZone', 'a migrates not', 'b claims berlin'],
          // Going back is a change like any other.
          ...['c starts utc', 'c claims utc', 'b is refused: report.timeZone'],
        ],
      ],
      [
        'is not brought back by a process that has changed it, once somebody has changed it back',
        [
          ...['a starts utc', 'a claims utc', 'b starts berlin', 'b claims berlin'],
          ...['c starts utc', 'c claims utc', 'b is refused: report.timeZone'],
        ],
      ],
      [
        'of two that start with different settings, the first to write wins',
        ['a starts utc', 'b starts berlin', 'b claims berlin', 'a is refused: report.timeZone'],
      ],
      [
        'work that shapes no row neither fails nor decides',
        ['a starts utc', 'b starts berlin', 'a looks: nothing', 'b claims berlin', 'a looks: berlin'],
      ],
    ]
    it.each(lives)('%s', async (_what, steps) => {
      const processes = new Map<string, Warehouse>()
      for (const step of steps) {
        const [, who = '', does, to = ''] = /^(\w) ([a-z ]+?):? ([\w.]+)$/.exec(step) ?? []
        const text = settings[to] ?? ''
        const one = processes.get(who) ?? (await start(text))
        processes.set(who, one)
        if (does === 'claims') expect([step, await claim(one)]).toEqual([step, text])
        else if (does === 'looks')
          expect([step, await claim(one, { shapesRows: false })]).toEqual([step, settings[to]])
        else if (does === 'migrates') await expect(migrate(one)).rejects.toMatchObject({ exitCode: 2 })
        else if (does === 'is refused')
          await expect(claim(one), step).rejects.toMatchObject({
            name: 'Stop',
            exitCode: 2,
            names: [to],
            message: expect.stringContaining(`written with other values of ${to} since`),
          })
      }
    })

    it('an older version of the program is refused with 1, so that a supervisor starts the new one', async () => {
      const older = await start(settings['utc']!)
      expect(await claim(await start('{"program":"2","report.timeZone":"utc"}'))).toContain('"2"')
      await expect(claim(older)).rejects.toMatchObject({
        exitCode: 1,
        message: expect.stringMatching(/^Another version of shopsync/),
      })
    })

    it('a program that goes on with the policy of before is refused by its next claim', async () => {
      const policy: Privacy = { preset: 'pseudonymous', columns: {}, key: Buffer.alloc(32, 7), keyVersion: 1 }
      const older = await start('{}')
      await claim(older)
      const newer = await start('{}', model(resources, {}, policy))
      await claim(newer)
      await expect(claim(older)).rejects.toMatchObject({
        name: 'Stop',
        exitCode: 2,
        message: expect.stringContaining('and this configuration does not, or less'),
      })
      await claim(newer)
    })
  })
})
