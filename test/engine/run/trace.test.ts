/**
 * Traces as seen by anyone who attaches an SDK with `node --import`: the spans of real runs, from an in-memory exporter
 * that writes a file when the process ends (test/engine/run/tracing.mjs).
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { viewedPlace } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import { root } from '../../support/harness/tree.js'

interface FinishedSpan {
  readonly name: string
  readonly kind: number
  readonly id: string
  readonly parent: string | undefined
  readonly trace: string
  readonly status: { readonly code: number; readonly message?: string }
  readonly attributes: Readonly<Record<string, unknown>>
}

const here = await viewedPlace({ repairOrders: 2, tenants: 1 })
beforeAll(async () => {
  here.configure({ sync: { resources: ['notes', 'customers'] } })
})

test('a run is one trace: its cursors, their requests and stored pages, with only names, ids and counts; failures are marked', async () => {
  here.sandbox.script([
    { when: { resource: 'customers' }, fault: { kind: 'status', status: 503, body: 'Mrs Hughes is away' } },
  ])
  const env = {
    API_SECRET: here.sandbox.secret,
    NODE_OPTIONS: `--import "${join(root, 'test/engine/run/tracing.mjs')}"`,
  }
  const { stderr } = await spawned(['run', 'hourly'], { cwd: here.folder, env })
  expect(stderr).not.toMatch(/node:internal/)
  const spans = JSON.parse(readFileSync(join(here.folder, 'spans.json'), 'utf8')) as FinishedSpan[]
  const named = (name: string): FinishedSpan[] => spans.filter((span) => span.name === `shopsync.${name}`)
  const [run] = named('run')
  expect(run?.attributes).toEqual({
    'shopsync.run_id': expect.stringMatching(/^\d{8}T/),
    'shopsync.job': 'hourly',
    'shopsync.mode': 'job',
    'shopsync.status': 'partial',
    'shopsync.requests': expect.any(Number),
    'shopsync.cursors': 2,
  })
  expect(new Set(spans.map(({ trace }) => trace)).size).toBe(1)
  const cursors = named('cursor')
  expect(cursors.map(({ parent }) => parent)).toEqual([run?.id, run?.id])
  const [tenant] = here.sandbox.tenantIds
  const notes = cursors.find(({ attributes }) => attributes['shopsync.resource'] === 'notes')
  expect(notes?.attributes).toMatchObject({
    'shopsync.tenant_id': String(tenant),
    'shopsync.status': 'ok',
    'shopsync.completeness': 'proven',
  })
  const below = (name: string): FinishedSpan[] => named(name).filter(({ parent }) => parent === notes?.id)
  expect(below('request')).toHaveLength(Number(notes?.attributes['shopsync.requests']))
  expect(below('request')[0]).toMatchObject({
    kind: 2,
    attributes: { 'http.response.status_code': 200, 'shopsync.purpose': 'incremental', 'shopsync.page': 1 },
  })
  expect(below('store').length).toBeGreaterThan(0)
  expect(named('request')).toHaveLength(Number(run?.attributes['shopsync.requests']))
  // No span contains anything that a customer wrote, or the secret.
  const text = JSON.stringify(spans)
  for (const hidden of [here.sandbox.secret, 'updated_after', 'http://', 'Hughes'])
    expect(text).not.toContain(hidden)
  const known =
    /^(shopsync\.(run_id|job|mode|status|requests|cursors|tenant_id|resource|completeness|reason|records|rows|page|purpose)|http\.request\.(method|resend_count)|http\.response\.status_code|error\.type)$/
  expect(
    spans.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => !known.test(name)),
  ).toEqual([])
  // A retried request is a separate span.
  const failed = spans.filter(({ status }) => status.code === 2)
  expect(failed.map(({ name, status }) => `${name} ${status.message}`).toSorted()).toEqual([
    'shopsync.cursor unreachable',
    'shopsync.request Retry',
    'shopsync.request Retry',
    'shopsync.request Retry',
  ])
  const again = failed.map(({ attributes }) => attributes['http.request.resend_count'])
  expect(again.filter((count) => count !== undefined)).toEqual([1])
})
