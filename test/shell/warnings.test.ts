/** The log of a run, into a pipe: what goes as it should, however odd, needs no attention. What does: the transcripts. */
import { expect, test } from 'vitest'
import { viewedPlace } from '../support/harness/place.js'

interface Line {
  readonly level: string
  readonly msg: string
  readonly resource?: string
  readonly tenant_id?: number
  readonly path?: string
}
const linesOf = (stderr: string): Line[] =>
  stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))

test('unknown fields, deletions on the way and repeated requests cause no warning; anything about a tenant names it', async () => {
  const here = await viewedPlace({ tenants: 1, repairOrders: 120 })
  here.configure({ sync: { resources: ['repair_orders', 'shops', 'notes'] } })
  here.sandbox.script([
    { when: { resource: 'repair_orders', page: 2 }, times: 1, before: { kind: 'delete', behind: 1 } },
    { when: { resource: 'notes' }, times: 1, fault: { kind: 'status', status: 503 } },
  ])
  const odd = linesOf((await here.run('sync')).stderr)
  expect(new Set(odd.map(({ level }) => level))).toEqual(new Set(['info']))
  const said = odd.map(({ msg }) => msg)
  for (const message of [
    'The API sends fields or values that its documentation does not show; they are kept (see sync_drift)',
    'Records were deleted while the list was read: stepping back',
    'Trying again',
    'Run ended',
  ])
    expect(said).toContain(message)
  // Successes have no lines of their own.
  expect(said).not.toContain('Cursor done')
  const lines = linesOf((await here.run('sync', '--full', '--log-level', 'debug')).stderr)
  const ofTenants = lines.filter(({ resource, path = '/tenants/' }) => resource && path.includes('/tenants/'))
  expect(new Set(ofTenants.map(({ msg }) => msg))).toEqual(new Set(['Request', 'Page', 'Cursor done']))
  expect(ofTenants.filter(({ tenant_id }) => tenant_id === undefined)).toEqual([])
})
