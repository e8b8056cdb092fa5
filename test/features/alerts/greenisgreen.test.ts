/**
 * While an incident is open, nothing reports that all is well: status, the report, the metrics and the document of
 * status agree, and all of them are well again when it is over.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { StatusReport } from '../../../src/features/health/statusdocument.js'
import { template } from '../../../src/sandbox/index.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { closeAll } from '../../support/harness/server.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { lineOf, receiver } from '../../support/world/alerting.js'

const sandbox = await sandboxOfFile()

afterEach(async () => {
  sandbox.reset()
  await closeAll()
})

describe.each(warehouses())('$name', (kind) => {
  it('all of them report an open incident', async () => {
    sandbox.store.addTenant({ id: 101 })
    const payment = (amount: number, updated: string) => ({
      ...template('payments', 1, updated),
      amount_cents: amount,
    })
    sandbox.store.put(101, 'payments', payment(1200, '2026-01-01T00:00:00Z'))
    const textfile = join(scratch(), 'shopsync.prom')
    const page = join(scratch(), 'report.html')
    const config = configure(sandbox, await kind.viewed(), ['payments'], { metrics: { textfile } })
    const run = (...words: string[]): Promise<Ended> => shopsync([...words, '--config', config])
    const answers = async () => {
      const [shown, told, quiet] = [
        await run('status'),
        await run('status', '--json'),
        await run('status', '--quiet'),
      ]
      await run('report', '--out', page)
      const sentence = /(?:Yes\.|No:|Not entirely:)[^<]*/.exec(readFileSync(page, 'utf8'))?.[0] ?? ''
      const [, open] = /^shopsync_incidents_open\{kind="quarantine"\} (\d+)$/m.exec(
        readFileSync(textfile, 'utf8'),
      ) ?? ['', '']
      return {
        shown,
        told: told.json<StatusReport>(),
        codes: [shown.code, told.code, quiet.code],
        quiet,
        sentence,
        open,
      }
    }
    expect((await run('sync')).code).toBe(0)
    expect((await run('reconcile')).code).toBe(0)
    const before = await answers()
    expect(before.codes).toEqual([0, 0, 0])
    expect(before.shown.stdout).toContain('all fresh')
    expect(before.told).toMatchObject({ healthy: true, incidents: [] })
    expect(before.quiet.stderr).toBe('')
    expect([before.sentence.includes('incident'), before.open]).toEqual([false, '0'])

    // A value that can't be stored doesn't affect the exit code of runs, but is an incident.
    sandbox.store.put(101, 'payments', payment(12.5, new Date().toISOString()))
    expect((await run('sync')).code).toBe(0)
    const during = await answers()
    expect(during.codes).toEqual([1, 1, 1])
    expect(during.shown.stdout).not.toContain('all fresh')
    expect(during.shown.stdout).toContain('1 incident open; every cursor completed')
    expect(during.shown.stdout).toMatch(/✗ quarantine since .*: a value or record could not be stored/)
    expect(during.shown.stdout).toContain('Type shopsync quarantine list --tenant 101 --resource payments')
    expect(during.told).toMatchObject({
      healthy: false,
      incidents: [{ kind: 'quarantine', tenant_id: 101, resource: 'payments' }],
    })
    expect(during.quiet.stderr).toMatch(/status: open: quarantine since .*payments/)
    expect(during.sentence).toMatch(/^Not entirely: .*1 incident is open \(values set aside: payments\)/)
    expect(during.open).toBe('1')
    // Another tenant's list doesn't concern a request for this one only; this one does.
    const other = await run('status', '--resource', 'payments', '--failing')
    expect([other.code, other.stdout.includes('nothing needs attention')]).toEqual([1, false])

    sandbox.store.put(101, 'payments', payment(1250, new Date().toISOString()))
    expect((await run('sync')).code).toBe(0)
    const after = await answers()
    expect(after.codes).toEqual([0, 0, 0])
    expect(after.shown.stdout).toContain('all fresh')
    expect([after.sentence.includes('incident'), after.open]).toEqual([false, '0'])
  })

  it('a run that was killed is over with the next good run, and told once', async () => {
    sandbox.store.addTenant({ id: 101 })
    sandbox.store.put(101, 'payments', template('payments', 1, '2026-01-01T00:00:00Z'))
    const hook = await receiver()
    const alerts = { rules: [{ webhook: hook.url }] }
    const config = configure(sandbox, await kind.viewed(), ['payments'], {
      alerts,
      api: { retry: { attempts: 1 } },
    })
    const run = (...words: string[]): Promise<Ended> => shopsync([...words, '--config', config])
    const kill = async (): Promise<void> => {
      sandbox.script([{ when: { resource: 'payments' }, fault: { kind: 'stall' } }])
      const begun = sandbox.requests.length
      await spawned(['sync', '--full', '--config', config], {
        cwd: scratch(),
        env: {},
        during: async (child) => {
          await expect.poll(() => sandbox.requests.length, { timeout: 60_000 }).toBeGreaterThan(begun + 1)
          child.kill('SIGKILL')
        },
      })
      sandbox.script([])
    }
    expect((await run('reconcile')).code).toBe(0)
    expect((await run('reconcile')).code).toBe(0)
    await kill()
    expect((await run('status')).code).toBe(1)
    expect((await run('sync')).code).toBe(0)
    const status = await run('status')
    expect([status.code, status.stdout.includes('all fresh')]).toEqual([0, true])
    const told = hook.take()
    expect(told.map(lineOf)).toEqual(['opened: failed run', 'resolved: failed run'])
    expect(told[0]?.text).toContain('died without reporting')

    // A run that isn't good makes nothing right.
    await kill()
    sandbox.script([{ when: { resource: 'payments' }, fault: { kind: 'status', status: 500 } }])
    expect((await run('sync')).code).toBe(1)
    sandbox.script([])
    expect(hook.take().map(lineOf)).toEqual(['opened: failed 101/payments, failed run'])
    expect((await run('status')).code).toBe(1)
    expect((await run('sync')).code).toBe(0)
    expect(hook.take().map(lineOf)).toEqual(['resolved: failed 101/payments, failed run'])
    expect((await run('status')).code).toBe(0)
  }, 120_000)
})
