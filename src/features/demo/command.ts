import type { Sandbox } from '../../sandbox/index.js'
import type { Command, Invocation } from '../../shell/command.js'

const file = 'demo/warehouse.db'
const page = 'demo/report.html'
/**
 * A shop with more than fourteen months of history, so that its last month has one a year before to compare with, and two
 * shops that have been open for three months. With one technician a shop, a long history takes few orders.
 */
const tenants = [
  { id: 101, shops: 1, technicians: 1, repairOrders: 1250 },
  { id: 102, shops: 2, technicians: 1, repairOrders: 560 },
]
const thingsThatHappen = 200

export const demoCommand: Command = {
  name: 'demo',
  group: 'Try it',
  summary: 'sandbox, sync and report in one command; nothing to configure',
  help: `
Starts the sandbox, syncs ${tenants.length} tenants into ${file} (an older one is removed first), lets the shops work, syncs
again, finds what was deleted, receives one change as an event, and shows the report's answers; the whole report goes to
${page}. Takes about fifteen seconds and needs no network.`,
  examples: [['shopsync demo', 'everything, in this folder']],
  run: async (invocation) => {
    const { createSandbox } = await import('../../sandbox/index.js')
    const sandbox = await createSandbox({ tenants, seed: 1 })
    try {
      return await rehearse(invocation, sandbox)
    } finally {
      await sandbox.close()
    }
  },
}

async function rehearse(invocation: Invocation, sandbox: Sandbox): Promise<number> {
  const [
    { withConfig },
    { configurationOf },
    { execute, exitCodeOfRun },
    text,
    { pageAt, writeReport },
    { beginReconcile },
    { beginSync },
  ] = await Promise.all([
    import('../../shell/commandcontext.js'),
    import('../../shell/configuration.js'),
    import('../../shell/execute.js'),
    import('./words.js'),
    import('../report/work.js'),
    import('../reconcile/work.js'),
    import('../sync/work.js'),
  ])
  const { out, signals, io } = invocation
  const config = await configurationOf(documentOf(sandbox), 'the demo', invocation)
  await removeOlder(io.workingDirectory)
  return withConfig(quieter(invocation), config, async (context) => {
    const all = { job: null, tenants: null, resources: null } as const
    const request = { ...all, mode: 'sync', begin: beginSync({ mode: 'sync' }) } as const
    out.print(text.opening(sandbox.url, sandbox.tenantIds))
    const warehouse = await context.open('create', { tables: 'as they are' })
    const first = await execute(context, request)
    if (signals.signal.aborted) return 1
    out.print(text.afterSync(first))
    const changes = sandbox.work(thingsThatHappen)
    out.print(text.work(changes))
    const second = await execute(context, request)
    if (signals.signal.aborted) return 1
    out.print(text.sideBySide(first, second, out.terminal))
    const checked = await execute(context, { ...all, mode: 'reconcile', begin: beginReconcile({}) })
    if (signals.signal.aborted) return 1
    out.print(text.afterReconcile(checked))
    const { hearChange } = await import('./hear.js')
    out.print(text.heard(await hearChange(context, sandbox)))
    if (signals.signal.aborted) return 1
    // A file to look at and to pass on: erasing nothing rewrites it without the gaps in its pages.
    await warehouse.dialect.erase([], async () => {})
    const report = await writeReport(context, pageAt(io.workingDirectory, page), null)
    out.print(text.answers(report.data, out.terminal))
    out.print(text.closing(file, page, out.terminal))
    out.printAsIs(text.queries(file))
    out.print(text.farewell)
    if (out.json)
      await out.document({
        warehouse: file,
        runs: [first, second, checked],
        changes: changes.length,
        report: report.document,
      })
    return Math.max(...[first, second, checked].map(exitCodeOfRun))
  })
}

const documentOf = (sandbox: Sandbox) => {
  const { url: baseUrl, partnerId, secret } = sandbox
  return {
    api: { baseUrl, partnerId, secret },
    warehouse: { url: `sqlite:${file}` },
    report: { tenantNames: namesOf(sandbox) },
  }
}

/** The API sends no tenant names: a business is named after its shops, up to the place name. */
const namesOf = ({ store, tenantIds }: Sandbox): Record<string, string> =>
  Object.fromEntries(
    tenantIds.map((id) => {
      const [shop] = store.all(id, 'shops')
      const [name = ''] = typeof shop?.name === 'string' ? shop.name.split(' – ') : []
      return [id, name === '' ? `Business ${id}` : name]
    }),
  )

async function removeOlder(folder: string): Promise<void> {
  const [{ rm }, { join }] = await Promise.all([import('node:fs/promises'), import('node:path')])
  for (const name of [
    ...['', '-wal', '-shm', '.events', '.events-wal', '.events-shm'].map((end) => `${file}${end}`),
    page,
  ])
    await rm(join(folder, name), { force: true })
}

/** Logs only errors: other entries would appear between the lines of the demo. */
const quieter = (invocation: Invocation): Invocation => ({
  ...invocation,
  globals: { ...invocation.globals, logLevel: invocation.globals.logLevel ?? 'error' },
})
