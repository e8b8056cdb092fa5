/** `forget --customer`: nothing says anything about the customer any more, whatever comes after, and the books agree. */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { bothWarehouses, claimLease, type Kind } from '../../support/harness/warehouse.js'
import {
  books,
  forgettable,
  keptMark,
  leaks,
  markCustomer,
  nobodysTo,
} from '../../support/world/forgotten.js'
import { type AtDesk, deskWords, Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

const histories = ['customers', 'repair_orders', 'notes', 'integrator_tags']
const forget = 'forget --tenant 101 --customer 900001'
/** The customer of another tenant with the same id. */
const namesake = 'zqsame'

const ofFile = await sandboxOfFile({ tenants: 2, repairOrders: 6, seed: 3 })

/** A source with a marked customer, and a warehouse; nothing is synced yet. */
async function shop(kind: Kind, sandbox: Sandbox, lists: readonly string[] | 'all' = forgettable) {
  const person = markCustomer(sandbox, 101)
  markCustomer(sandbox, 102, namesake)
  nobodysTo(sandbox, 101)
  const resources = Object.fromEntries(histories.map((name) => [name, { history: true }]))
  const desk = new Desk(sandbox, await kind.viewed(), lists, {
    resources,
  })
  /** What the owner is told of who is forgotten. */
  const file = join(dirname(desk.config), 'forgotten.jsonl')
  return { sandbox, person, desk, address: desk.address, file }
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('leaves no byte about the customer, and the books as they were', async () => {
    const { sandbox, person, address, desk } = await shop(
      kind,
      await sandboxOfFile({ tenants: 2, repairOrders: sized(6, 12), seed: 3 }),
      sized<readonly string[] | 'all'>(forgettable, 'all'),
    )
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
    expect(await leaks(address)).toEqual([])
    expect(await books(address, person)).toEqual(before)
    expect(receipts[0]?.tables).toEqual(expect.arrayContaining(counts.tables))
    expect(receipts[0]).toMatchObject({ kept: [{ table: 'vehicles', rows: 1 }], not_looked_at: [] })
    expect(await leaks(address, keptMark)).toEqual([keptMark])
  })
})

/** One who is forgotten, in a warehouse of which there is an older copy. */
interface Forgotten extends AtDesk, Omit<Awaited<ReturnType<typeof shop>>, 'desk'> {
  readonly backup: Address
  /** What the file held before somebody spoiled it. */
  whole: string
}

const leaking = (all: readonly string[]): string =>
  all.length > 9 ? 'more than nine leaks' : all.join(' ') || 'no leak'

const words: WordsOf<Forgotten> = {
  ...deskWords,
  update: ({ person }) => person.update(),
  leaks: async ({ desk }) => leaking(await leaks(desk.address)),
  'leaks of the namesake': async ({ desk }) => leaking(await leaks(desk.address, namesake)),
  'leaks of the backup': async ({ backup }) => leaking(await leaks(backup)),
  verdicts: async ({ desk }) => {
    const { cursors } = (await desk.run('sync --json')).json<{ cursors: { completeness: string }[] }>()
    return [...new Set(cursors.map(({ completeness }) => completeness))].join(' ')
  },
  'the file (is gone|is a folder|has line ends of Windows|ends with .*)': (story, how) => {
    const { file } = story
    story.whole = readFileSync(file, 'utf8')
    rmSync(file)
    if (how === 'is a folder') mkdirSync(file)
    if (how === 'has line ends of Windows') writeFileSync(file, story.whole.replaceAll('\n', '\r\n'))
    if (how?.startsWith('ends with ')) writeFileSync(file, story.whole + how.slice('ends with '.length))
  },
  'the file as it was': ({ file, whole }) => {
    rmSync(file, { recursive: true, force: true })
    writeFileSync(file, whole, { mode: 0o600 })
  },
  lines: ({ file }) => `${readFileSync(file, 'utf8').trimEnd().split('\n').length} lines`,
  receipts: ({ file, whole }) => {
    const text = readFileSync(file, 'utf8')
    const mode = (statSync(file).mode & 0o777).toString(8)
    const all = text.slice(whole.length).trimEnd().split('\n')
    const receipts = all.map((line) => JSON.parse(line) as Record<string, unknown>)
    const told = receipts.map(({ tenant_id, customer_id, done_at, traces_left, elsewhere }) => {
      const where = /ackups/.test(String(elsewhere)) ? ', backups may have them' : ''
      return `${tenant_id}/${customer_id} ${done_at === null ? 'begun' : 'done'}, traces: ${traces_left}${where}`
    })
    const isNamed = /zqmark|zqsame/.test(text)
    return [
      `${mode}, ${isNamed ? 'with' : 'without'} a name`,
      Object.keys(receipts[0]!).join(' '),
      ...told,
    ].join('\n')
  },
  replay: async (story) => {
    const { code, stdout, stderr } = await story.desk.run('forget --replay', story.file)
    story.said = stdout + stderr
    return `exit ${code}`
  },
  'while another writer is at work, \\$ REST': ({ desk }, command) =>
    desk.look(async (warehouse) => {
      const lease = await claimLease(warehouse, { runId: 'another', command: 'sync', leaseMs: 60_000 })
      const { code } = await desk.run(command!)
      await lease.release()
      return `exit ${code}`
    }),
  'the backup under the same configuration': ({ desk, backup }) => desk.on(backup),
}

/** What is above the dialects, in the order in which somebody does it. */
storyTests('test/features/forget/customer.txt', new Steps(words), (kind) => {
  let story: Forgotten
  beforeAll(async () => {
    const here = await shop(kind, ofFile)
    await here.desk.run('sync')
    const backup = kind.address()
    const schema = kind.name === 'sqlite' ? [] : ['--to-schema', backup.schema]
    await here.desk.done('copy --to', backup.url, ...schema)
    await here.desk.done(`${forget} --yes`)
    story = { ...here, backup, said: '', whole: readFileSync(here.file, 'utf8') }
  })
  return () => story
})
