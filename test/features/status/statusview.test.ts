/** The parts of a status that people see: everything, what needs attention, some tenants, many tenants. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CursorHealth } from '../../../src/features/health/cursorhealth.js'
import type { StatusReport } from '../../../src/features/health/statusdocument.js'
import { statusText } from '../../../src/features/health/words.js'
import { type Place, place } from '../../support/harness/place.js'

let here: Place
beforeAll(async () => {
  here = await place({ tenants: 2 })
  here.configure({
    sync: { resources: ['notes', 'staffs'] },
    report: { tenantNames: { 101: 'Main Street Auto' } },
  })
  here.sandbox.script([{ when: { tenant: 102, resource: 'notes' }, fault: { kind: 'status', status: 403 } }])
  expect((await here.run('sync')).code).toBe(1)
})
afterAll(() => here.remove())

interface Document {
  readonly healthy: boolean
  readonly cursors: readonly CursorHealth[]
}
const cursorsOf = (document: Document): string[] =>
  document.cursors.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`)

test('--failing shows what needs attention, on the screen and as a document; names are next to ids', async () => {
  const [whole, failing, document] = [
    await here.run('status'),
    await here.run('status', '--failing'),
    await here.run('status', '--failing', '--json'),
  ]
  expect([whole.code, failing.code, document.code]).toEqual([1, 1, 1])
  expect(whole.stdout).toMatch(/^101 Main Street Auto +/m)
  expect(failing.stdout).not.toContain('Main Street Auto')
  expect(failing.stdout).toMatch(/1 of 4 cursors stale or failing/)
  expect(failing.stdout).toMatch(/^102 +/m)
  expect(cursorsOf(document.json<Document>())).toEqual(['102 notes'])
})

test('--tenant and --resource select', async () => {
  const chosen = await here.run('status', '--tenant', '101', '--json')
  expect(chosen.code).toBe(0)
  expect(cursorsOf(chosen.json<Document>())).toEqual(['101 notes', '101 staffs'])
  const well = await here.run('status', '--tenant', '101', '--failing')
  expect(well).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing needs attention') })
  expect(well.stdout).not.toContain('Type shopsync')
})

test('of five hundred tenants, those that need attention come first, and all fit on a screen', async () => {
  const report = (await here.run('status', '--json')).json<StatusReport>()
  const [tenant] = report.tenants
  const [cursor] = report.cursors
  const ids = Array.from({ length: 500 }, (_, i) => i + 1)
  const many: StatusReport = {
    ...report,
    tenants: ids.map((tenant_id) => ({ ...tenant!, tenant_id })),
    cursors: ids.map((tenant_id) => ({
      ...cursor!,
      tenant_id,
      state: tenant_id === 321 ? ('failed' as const) : ('ok' as const),
      deletes_unchecked: false,
    })),
  }
  const lines = statusText(many).split('\n')
  expect(lines.length).toBeLessThan(24)
  const header = lines.findIndex((line) => line.startsWith('tenant '))
  expect(lines[header + 2]).toMatch(/^321 .*failed/)
  expect(lines[header + 3]).toMatch(/^the 499 others .* {2}ok$/)
})

test('deletions checked is the oldest check, as in the report, with how many lists were never checked', async () => {
  const report = (await here.run('status', '--tenant', '101', '--json')).json<StatusReport>()
  const checked = (times: readonly (string | null)[]): string => {
    const [cursor] = report.cursors
    const cursors = times.map((deletes_checked_at, i) => ({
      ...{ ...cursor!, resource: `list${i}`, deletes_checked_at },
      state: i === 3 ? ('unavailable' as const) : ('ok' as const),
    }))
    return statusText({ ...report, cursors })
      .split('\n')
      .find((line) => line.startsWith('101'))!
  }
  const at = (hour: number): string => `2026-11-25T${hour}:00:00.000000Z`
  expect(checked([at(12), null, at(11), null])).toContain('2026-11-25 11:00 (never: list1)')
  expect(checked([at(12), at(11)])).toMatch(/2026-11-25 11:00 {2}/)
  expect(checked([null, null])).toMatch(/ - {2}/)
})

test('a list that is unavailable is named, and fails nothing', async () => {
  const report = (await here.run('status', '--tenant', '101', '--json')).json<StatusReport>()
  const [cursor] = report.cursors
  const cursors = (['ok', 'unavailable'] as const).map((state) => ({ ...cursor!, resource: state, state }))
  const text = statusText({ ...report, cursors, healthy: true, incidents: [] })
  expect(text).toContain('all fresh; every cursor but 1 unavailable completed')
  expect(text).toContain('1 of 2 lists unavailable, because the API answers 404: unavailable.')
})
