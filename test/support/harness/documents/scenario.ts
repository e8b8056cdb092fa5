/**
 * What the commands print with `--json`, one after the other, on one warehouse and a sandbox with unchanging data: the
 * documents that users' scripts read. Called by test/shell/documents.test.ts.
 */
import { writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createSandbox, type Sandbox } from '../../../../src/sandbox/index.js'
import type { Ended } from '../call.js'
import { scratch } from '../scratch.js'
import { inLines, lastStamp, type Replacement, Stabilizer } from './stable.js'

export interface Warehouse {
  readonly url: string
  readonly schema: string
}

type Run = (
  words: readonly string[],
  options: { readonly cwd: string; readonly env: Record<string, string> },
) => Promise<Ended>

interface Called {
  /** The documents that are wanted, if not all: of the other commands, those that change nothing are left out. */
  readonly only?: ReadonlySet<string>
  /** The folder where the program is installed. */
  readonly program: string
  readonly run: Run
}

interface World {
  readonly folder: string
  readonly sandbox: Sandbox
  readonly tenant: number
  /** Writes config.json, with these settings over the usual ones. */
  configure(more?: Record<string, object>): void
}

interface Step {
  /** The name of the document; the command's name if that is enough. */
  readonly name: string
  readonly words: readonly string[]
  readonly before?: (world: World) => void
}

/** Enough to have nested rows, totals, a list of strings, and a resource that the sandbox refuses by id. */
const resources = ['repair_orders', 'customers', 'vehicles', 'notes', 'payment_transactions', 'shops']

const step = (name: string, ...words: string[]): Step => ({ name, words })
const after = (before: (world: World) => void, name: string, ...words: string[]): Step => ({
  name,
  words,
  before,
})

/** One record with a value that fits no column, one new record, one deleted record. */
function change({ sandbox: { store }, tenant }: World): void {
  const [transaction] = store.all(tenant, 'payment_transactions')
  store.put(tenant, 'payment_transactions', { ...transaction, amount_cents: 12.5, updated_at: lastStamp })
  const [note, other] = store.all(tenant, 'notes')
  store.put(tenant, 'notes', { ...note, id: 4711, updated_at: lastStamp })
  store.remove(tenant, 'notes', Number(other?.id))
}

/** A customer with a stamp that every walk has passed: only reconcile finds it. */
function hideCustomer({ sandbox: { store }, tenant }: World): void {
  const [customer] = store.all(tenant, 'customers')
  store.put(tenant, 'customers', { ...customer, id: 4712, updated_at: '2025-12-01T00:00:00Z' })
}

const steps: readonly Step[] = [
  step('status-nothing', 'status'),
  step('plan-first', 'plan', 'sync'),
  step('check', 'check'),
  step('sync-first', 'sync'),
  step('plan', 'plan', 'reconcile'),
  step('status', 'status'),
  after(change, 'sync', 'sync'),
  step('quarantine', 'quarantine', 'list'),
  step('why', 'why', 'payment_transactions', 'TRANSACTION', '--tenant', 'TENANT'),
  step('verify', 'verify'),
  step('reconcile', 'reconcile'),
  step('backfill', 'backfill', '--from', '2025-06-01', '--to', '2025-12-01'),
  after(hideCustomer, 'verify-differs', 'verify', '--resource', 'customers'),
  step('quarantine-replay', 'quarantine', 'replay'),
  step('run', 'run', 'nightly'),
  step('snapshot', 'snapshot'),
  step('jobs', 'jobs', 'list'),
  step('jobs-show', 'jobs', 'show', 'nightly'),
  step('jobs-validate', 'jobs', 'validate'),
  step('runs', 'runs'),
  step('runs-last', 'runs', '--last', '1'),
  step('runs-failed', 'runs', '--failed'),
  step('report', 'report'),
  after(({ configure }) => configure(promoted), 'migrate', 'migrate'),
  step('sync-refill', 'sync', '--tenant', 'TENANT'),
  step('copy', 'copy', '--to', 'sqlite:./copy.db'),
  after(
    ({ sandbox, configure }) => configure({ ...promoted, api: { baseUrl: elsewhere(sandbox) } }),
    'adopt-needed',
    'sync',
  ),
  step('adopt', 'adopt', '--same-data', '--yes'),
  step('forget', 'forget', '--tenant', 'TENANT', '--yes'),
  step('forget-again', 'sync', '--tenant', 'TENANT'),
  step('forget-lift', 'forget', '--tenant', 'TENANT', '--lift'),
  after(
    ({ sandbox }) =>
      sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }]),
    'sync-fails',
    'sync',
  ),
  step('status-fails', 'status', '--failing'),
  step('completion', 'completion', 'bash'),
  step('error-usage', 'sync', '--resource', 'note'),
  step('error-tenant', 'sync', '--tenant', '999'),
  after(({ configure }) => configure({ api: { secret: 'wrong' } }), 'error-credentials', 'sync'),
  after(({ configure }) => configure({ sync: { overlap: 'soon' } }), 'error-configuration', 'sync'),
  step('dictionary', 'dictionary', '--format', 'json'),
  step(
    'init',
    'init',
    '--base-url',
    'SOURCE',
    '--partner-id',
    '42',
    '--secret-file',
    'secret',
    '--yes',
    '--force',
  ),
]

export const documentNames = steps.map(({ name }) => name)

const changesNothing =
  /^(status|plan|why|verify|quarantine list|jobs|runs|report|copy|completion|dictionary|init)\b/

const promoted = { resources: { vehicles: { columns: { color: 'text' } } } }

/** The same sandbox at another address: a different source, as far as the program can tell. */
const elsewhere = ({ url }: Sandbox): string => url.replace('127.0.0.1', 'localhost')

async function open({ url, schema }: Warehouse): Promise<World> {
  const folder = scratch()
  const sandbox = await createSandbox({
    tenants: 2,
    repairOrders: 6,
    seed: 3,
    until: '2026-01-01T00:00:00Z',
    // Where a window ends while a plan asks, the plan knows its length, and its document says so.
    rate: { window: 31_536_000 },
  })
  const configure = (more: Record<string, object> = {}): void => {
    const usual: Record<string, object> = {
      api: {
        baseUrl: sandbox.url,
        partnerId: sandbox.partnerId,
        secret: sandbox.secret,
        concurrency: 1,
        retry: { attempts: 1, base: 'PT0.01S', max: 'PT0.02S' },
      },
      warehouse: url.startsWith('sqlite:') ? { url } : { url, schema },
      sync: { resources },
    }
    const names = new Set([...Object.keys(usual), ...Object.keys(more)])
    const merged = [...names].map((name) => [name, { ...usual[name], ...more[name] }])
    writeFileSync(join(folder, 'config.json'), JSON.stringify(Object.fromEntries(merged)), { mode: 0o600 })
  }
  configure()
  writeFileSync(join(folder, 'secret'), sandbox.secret)
  const [tenant = 0] = sandbox.tenantIds
  return { folder, sandbox, tenant, configure }
}

/** What differs between warehouses and between machines. */
const replacementsOf = (
  { url, schema }: Warehouse,
  program: string,
  { folder, sandbox }: World,
): readonly Replacement[] => {
  const { host, pathname } = new URL(url)
  return [
    [folder, '<folder>'],
    [program, '<program>'],
    [`user: "${process.getuid?.()}:${process.getgid?.()}"`, 'user: "<user>"'],
    [`User=${userInfo().username}`, 'User=<user>'],
    // init leaves it out where the program or its folder is in /tmp: it depends on where the tests run.
    ['PrivateTmp=yes\n', ''],
    [url, '<warehouse>'],
    [url.slice('sqlite:'.length), '<warehouse>'],
    ...(host === '' ? [] : [[`postgres://${host}${pathname} (schema ${schema})`, '<warehouse>'] as const]),
    [sandbox.url, '<source>'],
    [elsewhere(sandbox), '<other source>'],
    [new URL(sandbox.url).host, '<source host>'],
    [new URL(elsewhere(sandbox)).host, '<other source host>'],
  ]
}

/** The documents by name, with the exit code of each command. */
export async function documents(
  warehouse: Warehouse,
  { program, run, only }: Called,
): Promise<ReadonlyMap<string, string>> {
  const world = await open(warehouse)
  const stable = new Stabilizer(replacementsOf(warehouse, program, world))
  const { folder: cwd, sandbox, tenant } = world
  const [transaction] = sandbox.store.all(tenant, 'payment_transactions')
  const given: Record<string, string> = {
    TENANT: String(tenant),
    TRANSACTION: String(transaction?.id),
    SOURCE: sandbox.url,
  }
  const found = new Map<string, string>()
  try {
    const left = new Set(only ?? documentNames)
    for (const { name, words, before } of steps) {
      if (left.size === 0) break
      left.delete(name)
      before?.(world)
      if (only && !only.has(name) && changesNothing.test(words.join(' '))) continue
      const ended = await run([...words.map((word) => given[word] ?? word), '--json'], { cwd, env: {} })
      let document: unknown
      try {
        document = ended.json()
      } catch {
        document = ended.stdout
      }
      const kept = { command: words.join(' '), exit_code: ended.code, document }
      const lines = inLines(stable.value(kept, name !== 'dictionary'))
      // Other tests have warehouses in the same database.
      const text = lines.replaceAll(/(There is no warehouse yet: ).*?(; writable|"[,}\n])/g, '$1<why>$2')
      found.set(name, `${text}\n`)
    }
    return found
  } finally {
    await sandbox.close()
  }
}
