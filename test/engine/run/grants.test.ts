/** The stories of grants.txt. */
import { type Fault, type Rule, template } from '../../../src/sandbox/index.js'
import { carryOut, forget } from '../../support/harness/commands.js'
import { type RunOptions, readAuthorizations, syncInOrder } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { type Kept, kept, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'
import { actionOf, fieldsOf, idsOf, plain, wordsOf } from '../../support/world/liststory.js'
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()

interface Grants {
  readonly place: Kept
  warehouse: Warehouse
  rules: Rule[]
  notices: NonNullable<RunOptions['notices']>
  errors: string[]
}

const asked = (): number => sandbox.requests.filter(({ resource }) => resource === 'authorizations').length
const listed = (ids: Iterable<unknown>): string => [...new Set(ids)].toSorted().join(' ')

/** How the run ended, how often the authorizations were asked for, and what became of whose lists. */
async function run(grants: Grants, options: RunOptions): Promise<string> {
  sandbox.resetRequests()
  grants.notices = []
  const { warehouse, notices } = grants
  const usual = { resources: ['notes', 'vehicles'], notices }
  const { status, reason, cursors } = await syncInOrder(sandbox, warehouse, { ...usual, ...options })
  grants.errors = cursors.flatMap(({ error }) => error ?? [])
  const ends = new Map<string, unknown[]>()
  for (const { tenant_id, ...cursor } of cursors) {
    const end = wordsOf(`${cursor.status} ${cursor.reason ?? ''}`).join(' ')
    ends.set(end, [...(ends.get(end) ?? []), tenant_id])
  }
  const told = [...ends].map(
    ([end, tenants]) => `${tenants.length} ${end}${end === 'ok' ? '' : ` of ${listed(tenants)}`}`,
  )
  const tenants = await rowsOf(warehouse, 'tenants')
  const revoked = tenants.filter((row) => row.revoked_at !== null).map((row) => row.tenant_id)
  const asks = `${sandbox.requests.length} requests, ${asked()} for authorizations`
  return `${wordsOf(`${status} ${reason ?? ''}`).join(' ')}, ${asks}: ${told.join(', ') || 'no lists'}; revoked: ${listed(revoked) || 'none'}`
}

/** Pages of authorizations of 20, and of 5. */
const sizes: Record<string, RunOptions> = {
  few: { resources: ['statuses'], pageSize: 20 },
  small: { resources: ['statuses'], pageSize: 5 },
}

const words: WordsOf<Grants> = {
  '2 tenants[ and N more]': async (grants, more = '0') => {
    grants.rules = []
    grants.warehouse = await grants.place.open()
    sandbox.reset()
    sandbox.store.shuffleTies = false
    for (let id = 101; id <= 102 + Number(more); id++) sandbox.store.addTenant({ id })
    for (const tenant of [101, 102])
      for (const resource of ['notes', 'vehicles'])
        sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
  },
  'run[ REST]': (grants, how = '') =>
    run(grants, sizes[how] ?? fieldsOf(wordsOf(how))).catch((error: Error) => `stops: ${error.message}`),
  'read authorizations': async ({ warehouse }) => {
    const { total } = await carryOut(sandbox, warehouse, readAuthorizations)
    return `${total} after ${asked()} requests`
  },
  'fault TEXT[ @ REST]': (grants, faults, more = '') => {
    const { times, ...when } = fieldsOf(wordsOf(more))
    const fault = faults!.split(' + ').map(actionOf) as Fault[]
    const often = times === undefined ? {} : { times: Number(times) }
    grants.rules.push({ when: { resource: 'authorizations', ...when }, ...often, fault })
    sandbox.script(grants.rules)
  },
  'no rules': (grants) => {
    grants.rules = []
    sandbox.script([])
  },
  shuffled: () => Object.assign(sandbox.store, { shuffleTies: true }),
  'in order': () => Object.assign(sandbox.store, { shuffleTies: false }),
  'revoke IDS': (_, ids) => {
    for (const id of idsOf(ids!)) sandbox.store.revoke(id)
  },
  'grant IDS': (_, ids) => {
    for (const id of idsOf(ids!)) sandbox.store.grant(id)
  },
  'revoked when its vehicles are asked for': () => {
    sandbox.onRequest(({ tenant, resource }) => {
      if (tenant === 101 && resource === 'vehicles') sandbox.store.revoke(101)
    })
  },
  'WORD (on|off) for N': (_, resource, how, id) =>
    how === 'on'
      ? sandbox.store.switchOn(resource!, Number(id))
      : sandbox.store.switchOff(resource!, Number(id)),
  'forget N': async ({ warehouse }, id) => {
    await forget(sandbox, warehouse, Number(id))
  },
  'what it says': ({ errors }) => errors.join(' / '),
  notices: ({ notices }) => notices.map(([text, fields]) => `${text} ${plain(fields)}`).join(' / '),
  'on record': async ({ warehouse }) => {
    const runs = await rowsOf(warehouse, 'sync_runs')
    const notes = (await rowsOf(warehouse, 'notes')).length
    return `${runs.length} runs, the last ${runs.at(-1)?.status} ${runs.at(-1)?.reason}; ${notes} notes`
  },
  'cursors of N': async ({ warehouse }, id) => {
    const rows = (await rowsOf(warehouse, 'sync_cursors')).filter((row) => row.tenant_id === Number(id))
    const told = rows.map(
      (row) => `${row.resource} ${row.status} ${row.reason} ${row.completeness} ${row.watermark}`,
    )
    return told.join(', ')
  },
  drift: async ({ warehouse }) => {
    const rows = await rowsOf(warehouse, 'sync_drift')
    return rows.map(({ resource, path, kind }) => `${resource} ${path} ${kind}`).join(', ')
  },
  quarantine: async ({ warehouse }) => {
    const rows = await rowsOf(warehouse, 'sync_quarantine')
    return rows.map(({ tenant_id, path, value }) => `${tenant_id} ${path} ${value}`).join(', ') || 'nothing'
  },
}

storyTests('test/engine/run/grants.txt', new Steps(words), (kind) => {
  const place = kept(kind)
  return async () => ({ place, warehouse: await place.open(), rules: [], notices: [], errors: [] })
})
