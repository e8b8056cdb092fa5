/**
 * SIGTERM and SIGINT, as cron, systemd and people send them to the real program: work in progress is committed, the
 * lock is released, stderr shows where the next run continues, and that one starts immediately.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { bothWarehouses, reopen, rowsOf } from '../support/harness/warehouse.js'

const records = 950
const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const sandbox = await sandboxOfFile()

function fill(): void {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= records; id++) sandbox.store.put(1, 'notes', template('notes', id, time(id)))
}

/** Before the program's fifth request for notes, something happens, and the response waits for it. */
function atFifth(happens: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let lists = 0
    const off = sandbox.onRequest(async ({ resource }) => {
      if (resource !== 'notes' || ++lists !== 5) return
      off()
      await happens().then(resolve, reject)
    })
  })
}

const [sqlite, postgres] = bothWarehouses()

it.each([
  ['SIGTERM', 143, sqlite!],
  ['SIGINT', 130, postgres!],
] as const)(
  '%s ends a run with exit code %i, and the next one continues immediately',
  async (signal, code, kind) => {
    fill()
    const address = await kind.viewed()
    const config = configure(sandbox, address, ['notes', 'categories'], { sync: { concurrency: 1 } })
    const sent = atFifth(async () => {
      run.kill(signal)
      await sleep(300)
    })
    const run = new Program(program, ['sync', '--config', config, '--json'])
    const ended = await run.ended
    await sent
    expect(ended, ended.stderr).toMatchObject({ code, signal: null })
    expect(ended.json()).toMatchObject({ error: { exit_code: code } })
    expect(ended.stderr).toContain('Stopping after the current transaction')
    expect(ended.stderr).toMatch(/the next run resumes at\n\s+tenant 1, notes: record \d+ of 950/)
    const warehouse = await reopen(address)
    const stored = await rowsOf(warehouse, 'notes')
    expect(stored.length).toBeGreaterThan(0)
    expect(stored.length).toBeLessThan(records)
    expect(await rowsOf(warehouse, 'sync_lease')).toMatchObject([{ owner: null }])
    const why = { reason: 'interrupted' }
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([{ status: 'interrupted', ...why }])
    expect(await rowsOf(warehouse, 'sync_run_cursors')).toMatchObject([
      { resource: 'categories', status: 'skipped', ...why },
      { resource: 'notes', status: 'skipped', ...why },
    ])
    const pages: unknown[] = []
    const off = sandbox.onRequest(({ resource, page, perPage }) => {
      if (resource === 'notes' && perPage === 100) pages.push(page)
    })
    const next = await shopsync(['sync', '--config', config, '--json'])
    off()
    expect(next.code, next.stderr).toBe(0)
    expect(await rowsOf(warehouse, 'notes')).toHaveLength(records)
    // It continued, and didn't start over.
    expect(pages).toContain(10)
    expect(pages).not.toContain(2)
  },
)

it('a second signal ends the program immediately', async () => {
  fill()
  const address = await sqlite!.viewed()
  const config = configure(sandbox, address, ['notes'])
  let ended = false
  const sent = atFifth(async () => {
    run.kill('SIGTERM')
    await sleep(300)
    run.kill('SIGTERM')
    // The response never comes while it lives, so only the second signal can have ended it.
    for (let i = 0; i < 100 && !ended; i++) await sleep(50)
  })
  const run = new Program(program, ['sync', '--config', config])
  const { code } = await run.ended
  ended = true
  await sent
  expect(code).toBe(143)
  // Its lease may be left behind, but a holder whose process is gone doesn't keep it.
  const next = await shopsync(['sync', '--config', config])
  expect(next.code, next.stderr).toBe(0)
  const warehouse = await reopen(address)
  expect(await rowsOf(warehouse, 'notes')).toHaveLength(records)
})

it('a wait of more than a minute is reported on stderr, and a signal ends it', async () => {
  fill()
  sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 429, retryAfter: 90 } }])
  const config = configure(sandbox, await sqlite!.viewed(), ['notes'])
  const { code, stderr } = await shopsync(['sync', '--config', config], {
    during: (call) => call.onText((text) => text.includes('Trying again') && call.kill('SIGTERM')),
  })
  expect(code, stderr).toBe(143)
  expect(stderr).toMatch(/Waiting 1 min 30 s \(.*notes.*\): the API asks for it/)
})
