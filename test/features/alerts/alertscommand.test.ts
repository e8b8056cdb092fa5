/**
 * Alerts and heartbeats of the program as cron calls it: what is reported, what is called, and what must never be
 * shown. test/transcripts/check.txt has the test that `check --alerts` sends; scheduledjobs.test.ts a job's own heartbeat.
 */
import { hostname } from 'node:os'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CallOptions, shopsync } from '../../support/harness/call.js'
import { viewedPlace } from '../../support/harness/place.js'
import { httpServer, type Stand } from '../../support/harness/server.js'
import { lineOf, type Receiver, receiver, signingKey } from '../../support/world/alerting.js'

const here = await viewedPlace({ repairOrders: 2 })
let hook: Receiver
let beats: Stand
const tenant = Number(here.sandbox.tenantIds[0])
const said: string[] = []

beforeEach(async () => {
  hook = await receiver()
  beats = await httpServer((_request, response) => response.end())
  here.configure({
    sync: { resources: ['notes', 'statuses'] },
    alerts: {
      rules: [{ webhook: hook.url, secret: signingKey }],
      heartbeat: `${beats.url}/ping/hidden%20uuid?rid=x+y%2Fz#part`,
    },
  })
})
afterEach(() => here.sandbox.script([]))

const fail = (): void =>
  here.sandbox.script([{ when: { tenant, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
const beaten = (): string[] =>
  beats.seen
    .splice(0)
    .map(({ url }) => url)
    .sort()
const told = (): string[] => hook.take().map(lineOf)

async function run(words: string, { env, during }: CallOptions = {}) {
  const all = { API_SECRET: here.sandbox.secret, ...env }
  const ended = await shopsync(words.split(' '), { cwd: here.folder, env: all, during })
  said.push(ended.stdout, ended.stderr)
  return ended.code
}

test("a job reports under its name, so does a run that can't start, and every finished run calls the heartbeat", async () => {
  const ping = '/ping/hidden%20uuid?rid=x+y%2Fz&exit='
  expect(await run('run hourly --log-level trace')).toBe(0)
  expect([told(), beaten()]).toEqual([[], [`${ping}0`]])
  fail()
  expect(await run('run hourly')).toBe(1)
  const [opened] = hook.take()
  const run_id = expect.stringMatching(/^\d{8}T/)
  expect(opened).toMatchObject({ type: 'opened', job: 'hourly', run_id, name: hostname() })
  expect(opened && lineOf(opened)).toBe(`opened: failed ${tenant}/notes`)
  expect(beaten()).toEqual([`${ping}1`])
  here.sandbox.script([])
  expect(await run('sync', { env: { API_SECRET: 'wrong' } })).toBe(3)
  const [refused, ...others] = hook.take()
  expect([refused && lineOf(refused), others]).toEqual(['opened: failed run', []])
  // It gave no report, but it is on record.
  const { runs } = (await here.run('runs', '--last', '1', '--json')).json<{ runs: object[] }>()
  expect(runs).toMatchObject([{ run_id: refused?.run_id, status: 'failed' }])
  expect(beaten()).toEqual([])
  expect(await run('sync')).toBe(0)
  expect(told()).toEqual([`resolved: failed ${tenant}/notes, failed run`])
  expect(await run('sync --resource nonsense')).toBe(2)
  expect([told(), beaten()]).toEqual([[], [`${ping}0`]])
})

test('SIGTERM is no incident, and at once ends a run that is waiting for a silent receiver; the next run reports', async () => {
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'stall' } }])
  const off = here.sandbox.onRequest(({ resource }) => {
    if (resource === 'notes') kill()
  })
  let kill = (): void => {}
  const killed: CallOptions = { during: (call) => (kill = () => call.kill('SIGTERM')) }
  expect(await run('sync --full', killed)).toBe(143)
  off()
  expect([told(), beaten()]).toEqual([[], []])
  fail()
  hook.status = 0
  hook.heard = () => kill()
  expect(await run('sync', killed)).toBe(143)
  expect(said.at(-1)).toMatch(/no answer came before a signal ended the program.*An alert was not accepted/)
  expect(said.at(-1)).not.toContain('in time')
  hook.status = 200
  hook.take()
  await run('sync')
  expect(told()).toEqual([`opened: failed ${tenant}/notes`])
  here.sandbox.script([])
  await run('sync')
})

test('no address, key or secret appears in any output', () => {
  const all = said.join('\n')
  expect(all.length).toBeGreaterThan(1000)
  for (const secret of ['hidden-token', 'hidden%20uuid', 'hidden uuid', signingKey, here.sandbox.secret])
    expect(all).not.toContain(secret)
})
