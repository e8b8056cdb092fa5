/** Warnings are for what needs attention. Whatever goes as it should, however odd, is only in the log. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Rule } from '../../src/sandbox/index.js'
import { type Place, viewedPlace } from '../support/harness/place.js'

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ tenants: 1, repairOrders: 120 })
  here.configure({ sync: { resources: ['repair_orders', 'shops', 'notes'] } })
})
afterAll(() => here.remove())

interface Line {
  readonly level: string
  readonly msg: string
}

/** What a run logs at each level, each message once. */
async function logged(rules: Rule[], ...words: string[]): Promise<Record<string, string[]>> {
  here.sandbox.script(rules)
  const { stderr } = await here.run(...words)
  here.sandbox.script([])
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'))
  const messages: Record<string, Set<string>> = {}
  for (const { level, msg } of lines.map((line) => JSON.parse(line) as Line)) {
    messages[level] ??= new Set()
    messages[level].add(msg)
  }
  return Object.fromEntries(Object.entries(messages).map(([level, of]) => [level, [...of]]))
}

const drift =
  'The API sends fields or values that its documentation does not show; they are kept (see sync_drift)'
const back = 'Records were deleted while the list was read: stepping back'

test('unknown fields, deletions on the way and repeated requests cause none', async () => {
  const { info, warn } = await logged(
    [
      { when: { resource: 'repair_orders', page: 2 }, times: 1, before: { kind: 'delete', behind: 1 } },
      { when: { resource: 'notes' }, times: 1, fault: { kind: 'status', status: 503 } },
    ],
    'sync',
  )
  expect(info).toEqual(expect.arrayContaining([drift, back, 'Trying again', 'Run ended']))
  expect(warn).toBeUndefined()
})

test('values that cannot be stored cause one, whatever the pages; so does a cursor that fails', async () => {
  const { info, warn } = await logged(
    [
      { when: { resource: 'repair_orders' }, fault: { kind: 'alter', path: 'id', to: 'x', records: [0] } },
      { when: { resource: 'notes' }, fault: { kind: 'status', status: 403 } },
    ],
    'sync',
    '--full',
  )
  expect(info).toContain('Values could not be stored: see sync_quarantine')
  expect(warn?.toSorted()).toEqual([
    'Cursor failed',
    'Some values could not be stored: see shopsync quarantine list',
  ])
})

test('into a pipe, successes have no lines of their own, and anything about a tenant names it', async () => {
  const usual = await here.run('sync', '--full')
  expect(usual.code).toBe(0)
  expect(usual.stderr).not.toContain('Cursor done')
  const { stderr } = await here.run('sync', '--full', '--log-level', 'debug')
  const lines = stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { msg: string; resource?: string; tenant_id?: number; path?: string })
  const ofTenants = lines.filter(({ resource, path = '/tenants/' }) => resource && path.includes('/tenants/'))
  expect(new Set(ofTenants.map(({ msg }) => msg))).toEqual(new Set(['Request', 'Page', 'Cursor done']))
  expect(ofTenants.filter(({ tenant_id }) => tenant_id === undefined)).toEqual([])
})
