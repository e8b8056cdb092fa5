/** `forget --customer`: nothing says anything about the customer any more, whatever comes after, and the books agree. */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { bothWarehouses, claimLease, type Kind, warehouses } from '../../support/harness/warehouse.js'
import {
  books,
  forgettable,
  keptMark,
  leaks,
  markCustomer,
  nobodysTo,
  whereIs,
} from '../../support/world/forgotten.js'

const histories = ['customers', 'repair_orders', 'notes', 'integrator_tags']
const forget = 'forget --tenant 101 --customer 900001'
/** The customer of another tenant with the same id. */
const namesake = 'zqsame'

const options = { tenants: 2, repairOrders: sized(6, 12), seed: 3 }
const ofFile = await sandboxOfFile(options)

/** A source with a marked customer, and a warehouse; nothing is synced yet. */
async function shop(kind: Kind, sandbox: Sandbox) {
  const person = markCustomer(sandbox, 101)
  markCustomer(sandbox, 102, namesake)
  nobodysTo(sandbox, 101)
  const resources = Object.fromEntries(histories.map((name) => [name, { history: true }]))
  const desk = new Desk(sandbox, await kind.viewed(), sized<readonly string[] | 'all'>(forgettable, 'all'), {
    resources,
  })
  /** What the owner is told of who is forgotten. */
  const file = join(dirname(desk.config), 'forgotten.jsonl')
  return { sandbox, person, desk, address: desk.address, file }
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('leaves no byte about the customer, and the books as they were', async () => {
    const { sandbox, person, address, desk } = await shop(kind, await sandboxOfFile(options))
    const { store } = sandbox
    // In quarantine, and of no record: whose it is isn't known.
    const nameless = { id: undefined, comment: 'zqmark-nameless-' }
    store.put(101, 'notes', { ...store.get(101, 'notes', 901_101), ...nameless })
    await desk.run('sync')
    person.update()
    store.remove(101, 'repair_orders', person.orders[1] ?? 0)
    await desk.run('sync')
    await desk.run('reconcile')
    const marks = await leaks(address)
    const kinds = ['first_name', 'tag', 'customers_extra', 'quarantined', 'nameless', 'deep', 'response_text']
    for (const word of kinds) expect(marks.join(' '), word).toContain(`-${word}-`)
    const before = await books(address, person)
    type Counts = Record<'tables' | 'kept' | 'not_looked_at', object[]>
    const counts = (await desk.done(`${forget} --dry-run --json`)).json<Counts>()
    expect(await leaks(address)).toEqual(marks)
    const { receipts } = (await desk.done(`${forget} --yes --json`)).json<{ receipts: Counts[] }>()
    const left = await leaks(address)
    expect([left, left.length > 0 && (await whereIs(address))]).toEqual([[], false])
    expect(await books(address, person)).toEqual(before)
    expect(receipts[0]?.tables).toEqual(expect.arrayContaining(counts.tables))
    expect(receipts[0]).toMatchObject({ kept: [{ table: 'vehicles', rows: 1 }], not_looked_at: [] })
    expect(await leaks(address, keptMark)).toEqual([keptMark])
  })
})

/** Every way into the warehouse except events (customerlaws.test.ts). */
const ways = [
  'sync',
  'sync --full',
  'backfill --from 2020-01-01 --to 2030-01-01',
  'reconcile --full',
  'quarantine replay',
]

/** What is above the dialects: of one who is forgotten, in a warehouse of which there is an older copy. */
describe.each(warehouses())('$name', (kind) => {
  let here: Awaited<ReturnType<typeof shop>>
  let backup: Address
  beforeAll(async () => {
    here = await shop(kind, ofFile)
    await here.desk.run('sync')
    backup = kind.address()
    const schema = kind.name === 'sqlite' ? [] : ['--to-schema', backup.schema]
    await here.desk.done('copy --to', backup.url, ...schema)
    await here.desk.done(`${forget} --yes`)
  })

  it('no command brings anything back, and every verdict is as before', async () => {
    const { person, address, desk } = here
    for (const isUpdated of sized([true], [false, true])) {
      if (isUpdated) person.update()
      for (const words of sized(ways.slice(1), ways)) {
        const { stderr, stdout, code } = await desk.run(words)
        expect([0, 1], stderr + stdout).toContain(code)
        expect(await leaks(address), words).toEqual([])
        expect(stderr + stdout).not.toContain('zqmark')
      }
      for (const how of sized(['--sample 20'], ['', '--full', '--sample 50']))
        await desk.done(`verify ${how}`.trim())
    }
    const { cursors } = (await desk.run('sync --json')).json<{ cursors: { completeness: string }[] }>()
    expect(new Set(cursors.map(({ completeness }) => completeness))).toEqual(new Set(['proven']))
  })

  it('reports a line that the file lacks, and one that it can not read', async () => {
    const { file, desk } = here
    const whole = readFileSync(file, 'utf8')
    const troubled = async (text: string): Promise<void> => {
      const told = { code: 1, stdout: expect.stringContaining(text) }
      for (const command of ['status', 'check']) expect(await desk.run(command), command).toMatchObject(told)
    }
    rmSync(file)
    await troubled('lacks customers that the warehouse knows to be forgotten: 101/900001')
    await desk.done(`${forget} --yes`)
    // What a crash cut off was not begun, and the next line is one of its own.
    writeFileSync(file, `${whole}{"id":"x","tenant_id":101,"cust`)
    expect((await desk.run('check')).code).toBe(0)
    await desk.done(`${forget} --yes`)
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(5)
    writeFileSync(file, `${whole}rubbish\n`)
    await troubled('Line 3 of')
    const { code, stderr } = await desk.run('forget --replay', file)
    expect([code, stderr]).toEqual([2, expect.stringContaining('nobody was forgotten yet')])
    writeFileSync(file, whole)
  })

  it('forgets nobody unless that is on disk, nor while another writer is at work', async () => {
    const { address, desk, file } = here
    const before = await leaks(address, namesake)
    expect(before.length).toBeGreaterThan(10)
    const words = 'forget --tenant 102 --customer 900001 --yes'
    const whole = readFileSync(file, 'utf8')
    rmSync(file)
    mkdirSync(file)
    const refused = await desk.run(words)
    rmSync(file, { recursive: true })
    writeFileSync(file, whole, { mode: 0o600 })
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Nothing is forgotten without it'),
    })
    await desk.look(async (warehouse) => {
      const lease = await claimLease(warehouse, { runId: 'another', command: 'sync', leaseMs: 60_000 })
      expect((await desk.run(words)).code).toBe(4)
      await lease.release()
    })
    expect(await leaks(address, namesake)).toEqual(before)
    expect(readFileSync(file, 'utf8')).toBe(whole)
  })

  it('writes a receipt for its owner, and none that names the customer; several share the work', async () => {
    const { sandbox, file, desk } = here
    const known = readFileSync(file, 'utf8')
    const others = sandbox.store.ids(101, 'customers').filter((id) => Number(id) < 900_000)
    const two = others.slice(0, 2)
    const words = `forget --tenant 101 ${two.map((id) => `--customer ${id}`).join(' ')}`
    expect((await desk.done(`${words} --dry-run`)).stdout).toContain(`101/${two[0]}, 101/${two[1]}`)
    await desk.done(`${words} --yes`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const lines = readFileSync(file, 'utf8').slice(known.length).trimEnd().split('\n')
    expect(known + lines.join()).not.toMatch(/zqmark|zqsame/)
    const keys = ['id', 'tenant_id', 'customer_id', 'begun_at', 'done_at', 'rows', 'tables', 'kept']
    for (const line of lines)
      expect(Object.keys(JSON.parse(line))).toEqual([...keys, 'traces_left', 'not_looked_at', 'elsewhere'])
    const ended = expect.any(String)
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(
      [null, ended].flatMap((done_at) =>
        two.map((customer_id) => ({
          tenant_id: 101,
          customer_id,
          done_at,
          traces_left: null,
          elsewhere: done_at === null ? '' : expect.stringContaining('ackups'),
        })),
      ),
    )
  })

  it('tells a restored backup from what the file knows, and forgets again', async () => {
    const { file, desk } = here
    // The backup under the same configuration.
    desk.on(backup)
    expect(await desk.run('status')).toMatchObject({ code: 1, stdout: expect.stringContaining('101/900001') })
    expect(await desk.run('check')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('forget --replay'),
    })
    // As an editor of Windows leaves it.
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('\n', '\r\n'))
    await desk.done('forget --replay', file)
    expect(await leaks(backup)).toEqual([])
    const why = async () => (await desk.run('why customers 900001')).stdout
    expect((await desk.run('status')).stdout).not.toContain('forget --replay')
    expect(await why()).toContain('erased on request')
    await desk.done(`${forget} --lift`)
    expect((await desk.run('status')).stdout).not.toContain('forget --replay')
    await desk.done('forget --replay', file)
    expect(await why()).not.toContain('erased on request')
  })
})
