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

  it('is held to the end of the block, and then released', async () => {
    const during = await held(async (lease) => {
      await lease.warehouse.write([])
      return [await holder(), lease.runId]
    })
    expect(during[0]).toBe(during[1])
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

  it("throws the work's error, and releases the lease", async () => {
    const work = held(() => Promise.reject(new Error('of the work')))
    await expect(work).rejects.toThrow('of the work')
    expect(await holder()).toBeNull()
  })

  /** The release fails while no transaction can begin. */
  async function withoutRelease<T>(work: () => Promise<T>): Promise<T> {
    const dialect = warehouse.dialect as { transaction: Warehouse['dialect']['transaction'] }
    const { transaction } = dialect
    try {
      return await held(async () => {
        dialect.transaction = () => Promise.reject(new Error('of the release'))
        return work()
      })
    } finally {
      dialect.transaction = transaction
      await warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])
    }
  }

  it("never hides the work's error or its result behind a failed release", async () => {
    await expect(withoutRelease(() => Promise.reject(new Error('of the work')))).rejects.toThrow(
      'of the work',
    )
    expect(await withoutRelease(async () => 'done')).toBe('done')
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
    const utc = '{"program":"1","report.timeZone":"utc"}'
    const berlin = '{"program":"1","report.timeZone":"berlin"}'
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

    it('an older process with other settings is refused, until it reads its configuration again', async () => {
      const older = await start(utc)
      expect(await claim(older)).toBe(utc)
      const newer = await start(berlin)
      expect(await claim(older)).toBe(utc)
      expect(await claim(newer)).toBe(berlin)
      await expect(claim(older)).rejects.toMatchObject({
        name: 'Stop',
        exitCode: 2,
        names: ['report.timeZone'],
        message: expect.stringMatching(/written with other values of report\.timeZone since/),
      })
      // It makes no tables, either, and leaves the lease to others.
      await expect(migrate(older)).rejects.toMatchObject({ exitCode: 2 })
      expect(await claim(newer)).toBe(berlin)
      // Going back is a change like any other.
      const again = await start(utc)
      expect(await claim(again)).toBe(utc)
      await expect(claim(newer)).rejects.toMatchObject({ exitCode: 2 })
    })

    it('is not brought back by a process that has changed it, once somebody has changed it back', async () => {
      await claim(await start(utc))
      const older = await start(berlin)
      expect(await claim(older)).toBe(berlin)
      expect(await claim(await start(utc))).toBe(utc)
      await expect(claim(older)).rejects.toMatchObject({ exitCode: 2 })
    })

    it('of two that start with different settings, the first to write wins', async () => {
      const [one, other] = [await start(utc), await start(berlin)]
      expect(await claim(other)).toBe(berlin)
      await expect(claim(one)).rejects.toMatchObject({ exitCode: 2 })
    })

    it('work that shapes no row neither fails nor decides', async () => {
      const [one, other] = [await start(utc), await start(berlin)]
      expect(await claim(one, { shapesRows: false })).toBeUndefined()
      expect(await claim(other)).toBe(berlin)
      expect(await claim(one, { shapesRows: false })).toBe(berlin)
    })

    it('an older version of the program is refused with 1, so that a supervisor starts the new one', async () => {
      const older = await start(utc)
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
