/** What a change of `privacy` meets: programs that read or go on, kills, keys that are lost, columns that are taken out. */
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import type { Privacy } from '../../../src/engine/config/treatment.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { model } from '../../support/harness/model.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { someOf } from '../../support/harness/size.js'
import {
  bothWarehouses,
  hideStored,
  type Kind,
  migrate,
  openLease,
  openWarehouse,
  RowSettings,
  reopen,
  rowsOf,
  warehouses,
} from '../../support/harness/warehouse.js'
import { everything, preset, writePrivacy } from '../../support/world/hidden.js'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 6, seed: 11 })
const [tenant = 0] = sandbox.tenantIds
const [one] = sandbox.store.all(tenant, 'customers')
sandbox.store.change(tenant, 'customers', Number(one?.id), {
  first_name: 'a marker in a name',
  email: { text: 'a marker for quarantine' },
  loyalty: { level: 'a marker for drift' },
})
const [car] = sandbox.store.all(tenant, 'vehicles')
sandbox.store.change(tenant, 'vehicles', Number(car?.id), {
  vin: 'a marker in a vin',
  make: 'a marker in a make',
  year: 2015,
})

const marks = (text: string): string[] => [
  ...new Set(text.match(/a marker (in a name|for quarantine|for drift)/g)),
]
const policy: Privacy = { preset: 'pseudonymous', columns: {}, key: Buffer.alloc(32, 7), keyVersion: 1 }
const hiding = model(resources, {}, policy)

async function loaded(kind: Kind, privacy: object = {}, more: object = {}) {
  // A warehouse that was made without the policy would hide what it has first.
  const address = Object.keys(privacy).length > 0 ? kind.address() : await kind.viewed()
  const config = configure(sandbox, address, [])
  writePrivacy(config, privacy, more)
  const run = (...words: string[]): Promise<Ended> => shopsync([...words, '--config', config])
  const synced = await run('sync')
  expect(synced.code, synced.stderr).toBe(0)
  return { address, config, run }
}
const states = async (address: Address): Promise<unknown[]> => {
  const warehouse = await reopen(address)
  const columns = warehouse.db.selectFrom('sync_privacy').where('table', '!=', '')
  const rows = await columns.select('state').distinct().execute()
  await warehouse.close()
  return rows.map(({ state }) => state)
}

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  it('killed between the rewriting and the erasing, the next run erases what is left in the files', async () => {
    const { address, config, run } = await loaded(kind)
    expect(marks(await everything(address)).length).toBe(3)
    const warehouse = await reopen(address, hiding)
    const dying: typeof warehouse.dialect = {
      ...warehouse.dialect,
      erase: async (_, work) => {
        await work()
        throw new Error('killed')
      },
    }
    const transact: Parameters<typeof hideStored>[0]['transact'] = (work) => warehouse.transaction(work)
    const at = '2026-03-01T00:00:00.000000Z'
    await expect(
      hideStored({ dialect: dying, transact, hides: hiding, interfered: warehouse.interfered, at }),
    ).rejects.toThrow('killed')
    expect(await rowsOf(warehouse, 'sync_quarantine')).not.toContainEqual(
      expect.objectContaining({ value: expect.stringContaining('marker') }),
    )
    await warehouse.close()
    expect(await states(address)).toEqual(['hiding'])
    writePrivacy(config, preset)
    expect((await run('status')).stdout).toContain('Stored values are not hidden yet in ')
    const migrated = await run('migrate')
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(marks(await everything(address))).toEqual([])
    expect(await states(address)).toEqual(['hidden'])
  })

  it.runIf(kind.name === 'sqlite')(
    'traces that a reading program keeps in the files are told, and migrate erases them when it has ended',
    async () => {
      const { address, config, run } = await loaded(kind)
      const reading = new BetterSqlite3(address.url.replace('sqlite:', ''), { readonly: true })
      reading.exec('begin')
      reading.prepare('select count(*) from customers').get()
      writePrivacy(config, preset)
      const migrated = await run('migrate')
      expect([migrated.code, migrated.stderr]).toEqual([0, expect.stringContaining('Traces remain in')])
      expect(marks(await everything(address))).not.toEqual([])
      expect(await states(address)).toEqual(['traces'])
      expect((await run('status')).stdout).toContain(
        "The database's files may still contain values from before",
      )
      // A sync is not kept waiting by it, and doesn't call it done.
      expect((await run('sync')).code).toBe(0)
      expect(await states(address)).toEqual(['traces'])
      reading.close()
      const again = await run('migrate')
      expect(again.code, again.stderr).toBe(0)
      expect(marks(await everything(address))).toEqual([])
      expect(await states(address)).toEqual(['hidden'])
      expect((await run('status')).stdout).not.toContain('may still contain')
    },
  )

  test('a promoted column that is taken out while it is hashed is dropped with _extra, or refused', async () => {
    const columns = { resources: { vehicles: { columns: { vin: 'text' }, history: true } } }
    const vehicles = { key: preset.key, vehicles: { vin: 'hash' } }
    const { address, config, run } = await loaded(kind, vehicles, columns)
    // Its privacy is still there.
    writePrivacy(config, vehicles, { resources: {} })
    expect(await run('sync')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/privacy\.vehicles\.vin .*found the unknown key/),
    })
    writePrivacy(config, { key: preset.key }, { resources: {} })
    expect(await run('sync')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('hides vehicles.vin, and'),
    })
    expect(await everything(address)).not.toContain('a marker in a vin')
    writePrivacy(config, { key: preset.key, vehicles: { _extra: 'drop' } }, { resources: {} })
    const synced = await run('sync')
    expect(synced.code, synced.stderr).toBe(0)
    const full = await run('sync', '--full')
    expect(full.code, full.stderr).toBe(0)
    expect(await everything(address)).not.toContain('a marker in a vin')
  })

  const ofVehicles = { columns: { make: 'text', year: 'integer', vin: 'text' }, history: true } as const
  const promoted = { resources: { vehicles: ofVehicles } }

  it('what the preset of an earlier version hid stays hidden until it is loosened, and the preset keeps it from then on', async () => {
    const before = { ...preset, vehicles: { make: 'hash', year: 'drop' } }
    const { address, config, run } = await loaded(kind, before, promoted)
    const cars = async () => {
      const warehouse = await reopen(address)
      const rows = (await rowsOf(warehouse, 'vehicles')) as Record<string, unknown>[]
      await warehouse.close()
      const found = rows.find(({ id }) => Number(id) === Number(car?.id))
      return [found?.['make'], found?.['year'], found?.['vin']]
    }
    const pseudonym = expect.stringMatching(/^h1:/)
    writePrivacy(config, { ...preset, vehicles: { make: 'keep' } }, promoted)
    expect(await run('sync')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('hides vehicles.make, and this configuration does not'),
    })
    writePrivacy(config, preset, promoted)
    const all = ['sync --full', 'reconcile', 'snapshot', 'verify', 'migrate', 'plan']
    for (const words of all) {
      const ended = await run(...words.split(' '))
      expect([words, ended.code, ended.stderr]).toEqual([words, 0, ended.stderr])
    }
    expect(await cars()).toEqual([pseudonym, null, pseudonym])
    expect(await everything(address)).not.toContain('a marker in a make')
    expect((await run('status')).stdout).not.toContain('hidden yet')
    const checked = await run('check', '--json')
    expect(checked.json()).toMatchObject({
      checks: expect.arrayContaining([
        {
          what: 'privacy',
          ok: true,
          found:
            'vehicles.make and vehicles.year stay hidden as before, although the preset no longer hides them',
          hint: expect.stringContaining('Type shopsync migrate --loosen-privacy'),
        },
      ]),
    })
    expect(checked.code).toBe(0)
    const known = model(resources, { vehicles: ofVehicles }, policy)
    const stale = await openWarehouse({ ...address, model: known, rowSettings: new RowSettings('{}') })
    await migrate(stale)
    expect((await run('migrate', '--loosen-privacy')).code).toBe(0)
    const synced = await run('sync')
    expect(synced.code, synced.stderr).toBe(0)
    const shown = ['a marker in a make', 2015, pseudonym]
    expect((await cars()).map((value) => (typeof value === 'bigint' ? Number(value) : value))).toEqual(shown)
    // What is no personal field is stored, and only that.
    const text = await everything(address)
    expect([text.includes('a marker in a make'), text.includes('a marker in a vin')]).toEqual([true, false])
    // A program that opened the warehouse before doesn't hide it again.
    await expect(openLease({ warehouse: stale, clock: systemClock }, 'listen')).rejects.toMatchObject({
      ...{ name: 'Stop', names: [] },
      message: expect.stringContaining('was told to hide less since this program opened it'),
    })
    await stale.close()
    expect((await run('check', '--json')).stdout).not.toContain('stay hidden')
    // A stricter setting is a setting.
    writePrivacy(config, before, promoted)
    expect((await run('migrate')).code).toBe(0)
    expect(await cars()).toEqual([pseudonym, null, pseudonym])
  })

  test('a program that goes on with the policy of before is refused by its next claim', async () => {
    const address = await kind.migrated()
    const start = async (known: typeof hiding) => {
      const warehouse = await openWarehouse({
        ...address,
        model: known,
        rowSettings: new RowSettings('{}'),
      })
      await migrate(warehouse)
      return warehouse
    }
    const claim = async (warehouse: Awaited<ReturnType<typeof start>>): Promise<void> => {
      await using _ = await openLease({ warehouse, clock: systemClock }, 'listen')
    }
    const older = await start(model(resources))
    await claim(older)
    const newer = await start(hiding)
    await claim(newer)
    await expect(claim(older)).rejects.toMatchObject({
      ...{ name: 'Stop', exitCode: 2 },
      message: expect.stringContaining('and this configuration does not, or less'),
    })
    await claim(newer)
    await Promise.all([older.close(), newer.close()])
  })
})

/** What is above the dialects. */
describe.each(warehouses())('$name', (kind) => {
  it('verdicts and comparisons are the same with the policy and without it', async () => {
    const [plain, hidden] = [await loaded(kind), await loaded(kind, preset)]
    /** What a command says of each list. */
    async function cursors(run: (typeof plain)['run'], ...words: string[]): Promise<unknown> {
      const { code, stdout } = await run(...words, '--json')
      const document = JSON.parse(stdout, (name, value: unknown) =>
        /^(run_id|.*_at|.*seconds?|.*_ms|requests|since|age|warehouse|url|file|lateness)$/.test(name)
          ? undefined
          : value,
      ) as Record<string, unknown>
      const lists = Object.values(document)
        .filter((value): value is object[] => Array.isArray(value))
        .map((all) => all.map((row) => JSON.stringify(row)).sort())
      return { code, lists, status: document['status'], reason: document['reason'] }
    }
    const gone = sandbox.store.ids(tenant, 'customers').find((id) => Number(id) !== Number(one?.id)) ?? 0
    sandbox.store.remove(tenant, 'customers', gone)
    const all = [
      ['sync'],
      ['verify'],
      ['sync', '--full'],
      ['reconcile'],
      ['reconcile', '--full'],
      ['backfill', '--from', '2000-01-01', '--to', '2100-01-01'],
      ['verify'],
    ]
    for (const words of someOf(2, all))
      expect(await cursors(hidden.run, ...words), words.join(' ')).toEqual(await cursors(plain.run, ...words))
    const last = sandbox.store.ids(tenant, 'customers').at(-1) ?? 0
    const other = `another name, for ${kind.name}`
    sandbox.store.change(tenant, 'customers', last, { first_name: other })
    const [told, shown] = [
      await hidden.run('why', 'customers', `${last}`),
      await plain.run('why', 'customers', `${last}`),
    ]
    expect(shown.stdout).toContain(other)
    expect(told.stdout).toMatch(/first_name: differs$/m)
    expect(told.stdout).not.toContain('another name')
  })

  it('with a lost key, commands that write are refused, those that read go on, and a new version heals', async () => {
    const { address, config, run } = await loaded(kind, preset)
    writePrivacy(config, { preset: 'pseudonymous' })
    expect(await run('sync')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('privacy.key: missing'),
    })
    const other = { ...preset, key: Buffer.alloc(32, 9).toString('base64') }
    writePrivacy(config, other)
    for (const words of [['sync'], ['migrate'], ['reconcile'], ['snapshot'], ['quarantine', 'replay']])
      expect([words, await run(...words)]).toMatchObject([
        words,
        { code: 2, stderr: expect.stringContaining('another key of version 1') },
      ])
    for (const words of [['status'], ['plan'], ['why', 'customers', `${one?.id}`], ['runs']])
      expect([words, (await run(...words)).stderr]).not.toEqual([
        words,
        expect.stringContaining('another key'),
      ])
    writePrivacy(config, { ...other, keyVersion: 2 })
    for (let time = 0; time < 2; time++) expect((await run('sync')).code).toBe(0)
    expect(await states(address)).toEqual(['hidden'])
    writePrivacy(config, preset)
    expect(await run('sync')).toMatchObject({ code: 2, stderr: expect.stringContaining('keyVersion 2') })
  })
})
