/** `forget --customer`: nothing says anything about the customer any more, whatever comes after, and the books agree. */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { scratch } from '../../support/harness/scratch.js'
import { isWhole, sized } from '../../support/harness/size.js'
import { bothWarehouses, warehouses } from '../../support/harness/warehouse.js'
import {
  books,
  forgettable,
  keptMark,
  leaks,
  type MarkedCustomer,
  markCustomer,
  nobodysTo,
  whereIs,
} from '../../support/world/forgotten.js'

const history = Object.fromEntries(
  ['customers', 'repair_orders', 'notes', 'integrator_tags'].map((name) => [name, { history: true }]),
)

interface Here {
  readonly sandbox: Sandbox
  readonly person: MarkedCustomer
  readonly address: Address
  readonly config: string
  /** What the owner is told of who is forgotten. */
  readonly file: string
  /** Runs a command. */
  run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  done(...words: string[]): Promise<string>
  /** The same configuration for another warehouse. */
  on(other: Address): void
}

/** A warehouse and a source with a marked customer; nothing is synced yet. */
async function shop({ viewed }: { readonly viewed: () => Promise<Address> }): Promise<Here> {
  const address = await viewed()
  const sandbox = await createSandbox({ tenants: 2, repairOrders: sized(6, 12), seed: 3 })
  const person = markCustomer(sandbox, 101)
  markCustomer(sandbox, 102, namesake)
  nobodysTo(sandbox, 101)
  const config = configure(sandbox, address, sized(forgettable, []), { resources: history })
  const document = JSON.parse(readFileSync(config, 'utf8')) as Record<string, unknown>
  if (isWhole()) document['sync'] = { resources: 'all' }
  const write = (more: object): void => writeFileSync(config, JSON.stringify({ ...document, ...more }))
  write({})
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await shopsync([...words, '--config', config])
    return { code: code ?? -1, stdout, stderr }
  }
  const done = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...words)
    expect(code, `${words.join(' ')}: ${stderr}${stdout}`).toBe(0)
    return stdout
  }
  const on = ({ url, schema }: Address): void =>
    write({ warehouse: url.startsWith('sqlite:') ? { url } : { url, schema } })
  return { sandbox, person, address, file: join(dirname(config), 'forgotten.jsonl'), config, run, done, on }
}

const forget = ['forget', '--tenant', '101', '--customer', '900001', '--yes'] as const
/** The customer of another tenant with the same id. */
const namesake = 'zqsame'

/** Every way into the warehouse except events (customerlaws.test.ts). */
const ways = [
  ['sync'],
  ['sync', '--full'],
  ['backfill', '--from', '2020-01-01', '--to', '2030-01-01'],
  ['reconcile', '--full'],
  ['quarantine', 'replay'],
  ['sync'],
]

describe.each(bothWarehouses())('$name', (kind) => {
  it('leaves no byte about the customer, and the books as they were', async () => {
    const { sandbox, person, address, run, done } = await shop(kind)
    await run('sync')
    person.update()
    sandbox.store.remove(101, 'repair_orders', person.orders[1] ?? 0)
    await run('sync')
    await run('reconcile')
    const marks = await leaks(address)
    for (const word of [
      'first_name',
      'tag',
      'customers_extra',
      'quarantined',
      'deep',
      'comment',
      'response_text',
    ])
      expect(marks.join(' '), word).toContain(`-${word}-`)
    const before = await books(address, person)
    const counts = JSON.parse(await done(...forget.slice(0, 5), '--dry-run', '--json')) as {
      tables: object[]
    }
    expect(await leaks(address)).toEqual(marks)
    const { receipts } = JSON.parse(await done(...forget, '--json')) as {
      receipts: { tables: object[]; kept: object[] }[]
    }
    const left = await leaks(address)
    expect([left, left.length > 0 && (await whereIs(address))]).toEqual([[], false])
    expect(await books(address, person)).toEqual(before)
    expect(receipts[0]?.tables).toEqual(expect.arrayContaining(counts.tables))
    expect(receipts[0]).toMatchObject({ kept: [{ table: 'vehicles', rows: 1 }], not_looked_at: [] })
    expect(await leaks(address, keptMark)).toEqual([keptMark])
    await sandbox.close()
    // One that is repeated is also in the other tests.
    if (!isWhole()) return
    expect(await done(...forget)).toContain('101/900001 is forgotten')
    expect(await books(address, person)).toEqual(before)
  })
})

/** What is above the dialects: of one who is forgotten, in a warehouse of which there is an older copy. */
describe.each(warehouses())('$name', (kind) => {
  let here: Here
  let backup: Address
  beforeAll(async () => {
    here = await shop(kind)
    await here.run('sync')
    backup = kind.address()
    const schema = kind.name === 'sqlite' ? [] : ['--to-schema', backup.schema]
    await here.done('copy', '--to', backup.url, ...schema)
    await here.done(...forget)
  })
  afterAll(() => here.sandbox.close())

  it('no command brings anything back, and every verdict is as before', async () => {
    const { person, address, run, done } = here
    for (const isUpdated of sized([true], [false, true])) {
      if (isUpdated) person.update()
      for (const words of sized(ways.slice(1, -1), ways)) {
        const { stderr, stdout, code } = await run(...words)
        expect([0, 1], stderr + stdout).toContain(code)
        expect(await leaks(address), words.join(' ')).toEqual([])
        expect(stderr + stdout).not.toContain('zqmark')
      }
      for (const how of sized([['--sample', '20']], [[], ['--full'], ['--sample', '50']]))
        await done('verify', ...how)
    }
    const proven = JSON.parse((await run('sync', '--json')).stdout) as {
      cursors: { completeness: string; status: string }[]
    }
    expect(new Set(proven.cursors.map(({ completeness }) => completeness))).toEqual(new Set(['proven']))
  })

  it('a copy knows who is forgotten', async () => {
    const { person, address, run, done, on } = here
    const copied = { url: `sqlite:${join(scratch(), 'copy.db')}`, schema: '' }
    await done('copy', '--to', copied.url)
    expect(await leaks(copied)).toEqual([])
    on(copied)
    person.update()
    expect((await run('sync', '--full')).code).toBeLessThan(2)
    expect(await leaks(copied)).toEqual([])
    on(address)
  })

  it('reports a line that the file lacks, and one that it can not read', async () => {
    const { file, run, done } = here
    const whole = readFileSync(file, 'utf8')
    const troubled = async (text: string): Promise<void> => {
      for (const command of ['status', 'check'])
        expect(await run(command), command).toMatchObject({
          code: 1,
          stdout: expect.stringContaining(text),
        })
    }
    expect((await run('check')).code).toBe(0)
    rmSync(file)
    await troubled('lacks customers that the warehouse knows to be forgotten: 101/900001')
    await done(...forget)
    expect((await run('check')).code).toBe(0)
    // What a crash cut off was not begun, and the next line is one of its own.
    writeFileSync(file, `${whole}{"id":"x","tenant_id":101,"cust`)
    expect((await run('check')).code).toBe(0)
    await done(...forget)
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(5)
    writeFileSync(file, `${whole}rubbish\n`)
    await troubled('Line 3 of')
    const { code, stderr } = await run('forget', '--replay', file)
    expect(code).toBe(2)
    expect(stderr).toContain('nobody was forgotten yet')
    writeFileSync(file, whole)
  })

  it('forgets nobody unless that is on disk', async () => {
    const { address, run, file } = here
    const before = await leaks(address, namesake)
    expect(before.length).toBeGreaterThan(10)
    const whole = readFileSync(file, 'utf8')
    rmSync(file)
    mkdirSync(file)
    const refused = await run('forget', '--tenant', '102', '--customer', '900001', '--yes')
    rmSync(file, { recursive: true })
    writeFileSync(file, whole, { mode: 0o600 })
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Nothing is forgotten without it'),
    })
    expect(await leaks(address, namesake)).toEqual(before)
  })

  it('writes a receipt for its owner, and none that names the customer; several share the work', async () => {
    const { sandbox, file, done } = here
    const known = readFileSync(file, 'utf8')
    const two = sandbox.store
      .ids(101, 'customers')
      .filter((id) => Number(id) < 900_000)
      .slice(0, 2)
    const words = ['forget', '--tenant', '101', ...two.flatMap((id) => ['--customer', String(id)])]
    expect(await done(...words, '--dry-run')).toContain(`101/${two[0]}, 101/${two[1]}`)
    await done(...words, '--yes')
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
    const { file, run, done, on } = here
    // The backup under the same configuration.
    on(backup)
    const status = await run('status')
    expect(status.code).toBe(1)
    expect(status.stdout).toContain('101/900001')
    expect(await run('check')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('forget --replay'),
    })
    // As an editor of Windows leaves it.
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('\n', '\r\n'))
    await done('forget', '--replay', file)
    expect(await leaks(backup)).toEqual([])
    expect((await run('status')).stdout).not.toContain('forget --replay')
    expect((await run('why', 'customers', '900001')).stdout).toContain('erased on request')
    await done('forget', '--tenant', '101', '--customer', '900001', '--lift')
    expect((await run('status')).stdout).not.toContain('forget --replay')
    await done('forget', '--replay', file)
    expect((await run('why', 'customers', '900001')).stdout).not.toContain('erased on request')
  })
})
