/**
 * Alerts and heartbeats of the program as cron calls it: what is reported, what is called, and what must never be
 * shown.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import { closeAll, httpServer, type Stand } from '../../support/harness/server.js'
import { lineOf, type Receiver, receiver, signingKey } from '../../support/world/alerting.js'

let here: Place
let hook: Receiver
let beats: Stand
const said: string[] = []

beforeAll(async () => {
  here = await viewedPlace({ repairOrders: 2 })
  mkdirSync(join(here.folder, 'jobs'))
})
afterAll(() => here.remove())
beforeEach(async () => {
  hook = await receiver()
  beats = await httpServer((_request, response) => response.end())
  configure()
})
afterEach(async () => {
  here.sandbox.script([])
  await closeAll()
})

function configure(more: object[] = [], resources = ['notes', 'statuses']): void {
  here.configure({
    sync: { resources },
    alerts: {
      rules: [{ webhook: hook.url, secret: signingKey }, ...more],
      heartbeat: `${beats.url}/ping/hidden-uuid?rid=1`,
    },
  })
}

async function run(words: string[], env: Record<string, string> = {}): Promise<number | null> {
  const all = { API_SECRET: here.sandbox.secret, ...env }
  const { code, stdout, stderr } = await shopsync(words, { cwd: here.folder, env: all })
  said.push(stdout, stderr)
  return code
}
const beating = () => ({
  description: 'A job that calls somebody',
  heartbeat: `${beats.url}/job/hidden-token`,
  steps: [{ command: 'sync', resources: ['notes'] }],
})
const beaten = (): string[] => beats.seen.splice(0).map(({ url }) => url)

test("a job reports under its name, so does a run that can't start, and every finished run calls the heartbeat", async () => {
  expect(await run(['run', 'hourly', '--log-level', 'trace'])).toBe(0)
  expect([hook.take(), beaten()]).toEqual([[], ['/ping/hidden-uuid?rid=1&exit=0']])
  const [tenant] = here.sandbox.tenantIds
  here.sandbox.script([
    { when: { tenant: Number(tenant), resource: 'notes' }, fault: { kind: 'status', status: 500 } },
  ])
  expect(await run(['run', 'hourly'])).toBe(1)
  const [opened] = hook.take()
  expect(opened).toMatchObject({ type: 'opened', job: 'hourly', run_id: expect.stringMatching(/^\d{8}T/) })
  expect(opened && lineOf(opened)).toBe(`opened: failed ${tenant}/notes`)
  expect(beaten()).toEqual(['/ping/hidden-uuid?rid=1&exit=1'])
  here.sandbox.script([])
  expect(await run(['sync'], { API_SECRET: 'wrong' })).toBe(3)
  const [refused, ...others] = hook.take()
  expect([refused && lineOf(refused), others]).toEqual(['opened: failed run', []])
  // It gave no report, but it is on record.
  const last = await here.run('runs', '--last', '1', '--json')
  const { runs } = last.json<{ runs: { run_id: string; status: string }[] }>()
  expect(runs).toMatchObject([{ run_id: refused?.run_id, status: 'failed' }])
  expect(beaten()).toEqual([])
  expect(await run(['sync'])).toBe(0)
  expect(hook.take().map(lineOf)).toEqual([`resolved: failed ${tenant}/notes, failed run`])
  expect(await run(['sync', '--resource', 'nonsense'])).toBe(2)
  expect([hook.take(), beaten()]).toEqual([[], ['/ping/hidden-uuid?rid=1&exit=0']])
})

test('a job calls its own heartbeat and the configured one, once each, whether it succeeded or failed', async () => {
  writeFileSync(join(here.folder, 'jobs', 'beating.json'), JSON.stringify(beating()))
  const tenant = Number(here.sandbox.tenantIds[0])
  expect(await run(['run', 'beating'])).toBe(0)
  expect(beaten().sort()).toEqual(['/job/hidden-token?exit=0', '/ping/hidden-uuid?rid=1&exit=0'])
  here.sandbox.script([{ when: { tenant, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
  expect(await run(['run', 'beating'])).toBe(1)
  expect(beaten().sort()).toEqual(['/job/hidden-token?exit=1', '/ping/hidden-uuid?rid=1&exit=1'])
  const since = expect.stringMatching(/^20.*Z$/)
  const { incidents } = (await here.run('status', '--json')).json<{ incidents: object[] }>()
  expect(incidents).toMatchObject([{ kind: 'failed', tenant_id: tenant, resource: 'notes', since }])
  expect((await here.run('status')).stdout).toMatch(
    new RegExp(`Open: 1 incident\\n +✗ failed since 20.* UTC \\(.*\\): tenant ${tenant}, notes: `),
  )
  here.sandbox.script([])
  await run(['run', 'beating'])
  expect(hook.take().map(lineOf)).toEqual([
    `opened: failed ${tenant}/notes`,
    `resolved: failed ${tenant}/notes`,
  ])
})

test('a run ended by SIGKILL calls nobody, and the next one reports it; one ended by SIGTERM is not an incident', async () => {
  const endWith = async (signal: NodeJS.Signals): Promise<void> => {
    here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'stall' } }])
    here.sandbox.resetRequests()
    const ended = spawned(['sync', '--full'], {
      cwd: here.folder,
      env: { API_SECRET: here.sandbox.secret },
      during: async (child) => {
        await expect.poll(() => here.sandbox.requests.length, { timeout: 20_000 }).toBeGreaterThan(1)
        child.kill(signal)
      },
    })
    await ended
    here.sandbox.script([])
  }
  await endWith('SIGTERM')
  expect([hook.take(), beaten()]).toEqual([[], []])
  await endWith('SIGKILL')
  expect([hook.take(), beaten()]).toEqual([[], []])
  await run(['sync'])
  const told = hook.take()
  expect(told.map(lineOf)).toEqual(['opened: failed run', 'resolved: failed run'])
  expect(told[0]?.incidents).toMatchObject([
    {
      kind: 'failed',
      tenant_id: null,
      resource: null,
      message: expect.stringContaining('died without reporting'),
    },
  ])
  await run(['sync'])
  expect(hook.take()).toEqual([])
})

test('SIGTERM at once ends a run that is waiting for a silent receiver; the next run reports the incident', async () => {
  const [tenant] = here.sandbox.tenantIds
  here.sandbox.script([
    { when: { tenant: Number(tenant), resource: 'notes' }, fault: { kind: 'status', status: 500 } },
  ])
  hook.status = 0
  const { code, stderr } = await spawned(['sync'], {
    cwd: here.folder,
    env: { API_SECRET: here.sandbox.secret },
    during: async (child) => {
      await expect.poll(() => hook.got.length, { timeout: 20_000 }).toBe(1)
      child.kill('SIGTERM')
    },
  })
  expect(code).toBe(143)
  expect(stderr).toMatch(/no answer came before a signal ended the program.*An alert was not accepted/)
  expect(stderr).not.toContain('in time')
  hook.status = 200
  hook.take()
  await run(['sync'])
  expect(hook.take().map(lineOf)).toEqual([`opened: failed ${tenant}/notes`])
  here.sandbox.script([])
  await run(['sync'])
  hook.take()
  beaten()
})

test('when a tenant is forgotten, anyone notified of its revocation is told that it is over', async () => {
  // Drift belongs to the tenant that showed it first, whichever that was: without that tenant, it is news again.
  configure([], ['notes'])
  const tenant = Number(here.sandbox.tenantIds.at(-1))
  await run(['sync'])
  here.sandbox.store.revoke(tenant)
  await run(['sync'])
  expect(hook.take().map(lineOf)).toEqual([`opened: revoked ${tenant}`])
  expect(await run(['forget', '--tenant', String(tenant), '--yes'])).toBe(0)
  expect(hook.take().map(lineOf)).toEqual([`resolved: revoked ${tenant}`])
  expect(await run(['sync'])).toBe(0)
  expect(hook.take()).toEqual([])
})

test("check --alerts sends a test to every receiver, and shows who didn't accept it", async () => {
  expect(await run(['check'])).toBe(0)
  expect([hook.take(), beaten()]).toEqual([[], []])
  writeFileSync(join(here.folder, 'jobs', 'beating.json'), JSON.stringify(beating()))
  expect(await run(['check', '--alerts'])).toBe(0)
  const text = said.at(-2)
  expect(text).toMatch(/✓ {2}alerts\.rules\[0\] \(webhook\) +accepted the test: it answered 200/)
  expect(text).toMatch(/✓ {2}alerts\.heartbeat +accepted the test/)
  expect(text).toMatch(/✓ {2}heartbeat of beating +accepted the test/)
  expect(hook.take()).toMatchObject([
    { type: 'opened', incidents: [], text: expect.stringContaining('a test') },
  ])
  expect(beaten().sort()).toEqual(['/job/hidden-token?exit=0', '/ping/hidden-uuid?rid=1&exit=0'])
  writeFileSync(join(here.folder, 'jobs', 'broken.json'), '{"description": "Broken", "steps": [}')
  writeFileSync(join(here.folder, 'tell.sh'), 'cat >/dev/null; echo "no $API_SECRET mail" >&2; exit 7')
  configure([{ command: ['sh', 'tell.sh'] }])
  hook.status = 404
  expect(await run(['check', '--alerts'])).toBe(1)
  expect(said.at(-2)).toMatch(/✗ alerts\.rules\[0\] \(webhook\): did not accept the test: it answered 404/)
  expect(said.at(-2)).toMatch(
    /✗ alerts\.rules\[1\] \(command\): did not accept the test: exit code 7: no {2}mail/,
  )
  expect(said.at(-2)).toMatch(/✗ job broken: .*broken\.json/)
  // Nothing to test is no success.
  rmSync(join(here.folder, 'jobs'), { recursive: true })
  here.configure({ sync: { resources: ['notes'] } })
  expect(await run(['check', '--alerts'])).toBe(1)
  expect(said.at(-2)).toMatch(/✗ alerts: not tried: there is neither a rule nor a heartbeat/)
})

test('no address, key or secret appears in any output', () => {
  const all = said.join('\n')
  expect(all.length).toBeGreaterThan(1000)
  for (const secret of ['hidden-token', 'hidden-uuid', signingKey, here.sandbox.secret])
    expect(all).not.toContain(secret)
})
