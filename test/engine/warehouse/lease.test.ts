import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Stop } from '../../../src/engine/base/errors.js'
import type { Privacy } from '../../../src/engine/config/treatment.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { known } from '../../support/harness/runs.js'
import {
  bothWarehouses,
  isDead,
  type Kind,
  kept,
  listenCommand,
  lockHolder,
  migrate,
  open,
  openLease,
  RowSettings,
  reopen,
  rowSettingsName,
  rowsOf,
  type Warehouse,
  type WriterLease,
  wantLease,
} from '../../support/harness/warehouse.js'
import { anywhere, Steps, storyTests, type WordsOf } from '../../support/world/stories.js'
import { bury, through } from '../../support/world/through.js'

describe.each(bothWarehouses())('a lease on $name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
  })

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
      await bury(warehouse)
      await using _ = await openLease({ warehouse: broken, clock: systemClock }, 'sync')
      isOver = true
      return await work()
    }
    const failing = withoutRelease(() => Promise.reject(new Error('of the work')))
    await expect(failing).rejects.toThrow('of the work')
    expect(await withoutRelease(async () => 'done')).toBe('done')
    await bury(warehouse)
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
    await bury(warehouse)
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
})

const settings: Readonly<Record<string, string>> = {
  utc: '{"program":"1","report.timeZone":"utc"}',
  berlin: '{"program":"1","report.timeZone":"berlin"}',
  newer: '{"program":"2","report.timeZone":"utc"}',
  nothing: '',
}

const policy: Privacy = { preset: 'pseudonymous', columns: {}, key: Buffer.alloc(32, 7), keyVersion: 1 }
const hiding = model(resources, {}, policy)

/** Another process of the warehouse. */
async function start(address: Address, text: string, model: Model): Promise<Warehouse> {
  const one = await reopen({ ...address, rowSettings: new RowSettings(text) }, model)
  await migrate(one)
  return one
}

/** Which configuration is stored then, or how it is refused. */
async function claim(one: Warehouse, needs: { readonly shapesRows?: boolean } = {}): Promise<string> {
  await using _ = await openLease({ warehouse: one, clock: systemClock, ...needs }, 'sync')
  return String((await rowsOf(one, 'sync_meta')).find(({ name }) => name === rowSettingsName)?.value ?? '')
}
const refused = ({ exitCode, message }: Stop): string => anywhere(`exit ${exitCode}: ${message}`)
const nameOf = (text: string): string => Object.keys(settings).find((name) => settings[name] === text) ?? text

interface Processes {
  readonly address: Address
  readonly named: Map<string, Warehouse>
}

const words: WordsOf<Processes> = {
  'WORD starts (\\w+)(?: and (hides))?': async ({ address, named }, who, text, hides) =>
    void named.set(who!, await start(address, settings[text!]!, hides ? hiding : known)),
  'WORD claims': ({ named }, who) => claim(named.get(who!)!).then(nameOf, refused),
  'WORD looks': ({ named }, who) => claim(named.get(who!)!, { shapesRows: false }).then(nameOf, refused),
  'WORD migrates': ({ named }, who) => migrate(named.get(who!)!).then(() => 'done', refused),
}

/** Of a version that stored no settings so far. */
const emptied = (kind: Kind) => {
  const place = kept(kind)
  return async (): Promise<Processes> => {
    await place.open()
    return { address: place.address, named: new Map() }
  }
}
storyTests('test/engine/warehouse/lease.txt', new Steps(words), emptied, bothWarehouses())
