/** What the probe of `check` finds out about sources that behave differently, and what it costs. */
import { afterAll, expect, it } from 'vitest'
import { changesBetween, mostRequests, type Probe } from '../../../src/features/check/probe.js'
import { checkApi, checkWays } from '../../../src/features/check/work.js'
import { createSandbox, type Sandbox, type SandboxOptions, template } from '../../../src/sandbox/index.js'
import { depsOf, known, type PlainRequest, type Shown, type Source } from '../../support/harness/runs.js'
import { open, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { usualWays } from '../../support/world/probe.js'

const made: Sandbox[] = []
afterAll(() => Promise.all(made.map((sandbox) => sandbox.close())))

/** 150 notes, three for each time, with fractions of a second that aren't zero. */
async function source(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox({ data: 'none', ...options })
  made.push(sandbox)
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= 150; id++) {
    const second = String(Math.floor(id / 3)).padStart(2, '0')
    sandbox.store.put(1, 'notes', template('notes', id, `2026-01-01T00:00:${second}.654321Z`))
  }
  return sandbox
}

/** The API as it answers if it refuses times before a year. */
class Refusing extends Between {
  constructor(
    private readonly real: Source,
    private readonly first: string,
  ) {
    super(real, (_, ask) => ask())
  }

  override async ask(question: PlainRequest): Promise<Shown> {
    const { updated_after: after = this.first } = question.query ?? {}
    if (after >= this.first) return this.real.ask(question)
    const { value: _, ...shown } = await this.real.ask({ ...question, query: {} })
    return { ...shown, status: 422, value: undefined }
  }

  override tagged(): Source {
    return new Refusing(this.real.tagged(), this.first)
  }
}

/** `first`: the earliest time that the API accepts. */
async function probe(sandbox: Sandbox, first = ''): Promise<Probe & { readonly exitCode: number }> {
  const [kind] = warehouses()
  if (!kind) throw new Error('no warehouse')
  const warehouse = await open(kind)
  const { deps, close } = await depsOf(sandbox, warehouse)
  const resource = known.byName.get('notes')
  if (!resource) throw new Error('no notes')
  const { signal, clock } = deps
  sandbox.resetRequests()
  const nowMicros = (): bigint => clock.nowMicros()
  const asked = { source: new Refusing(deps.source, first), tenantId: 1, resource, nowMicros, signal }
  const [trial] = await checkWays(asked, undefined)
  await close()
  await warehouse.close()
  if (trial?.of !== 'probe') throw new Error('the list did not answer')
  const found = trial.probe
  expect(sandbox.requests.length).toBeLessThanOrEqual(mostRequests)
  expect(found.requests).toBe(sandbox.requests.length)
  // What the document forbids isn't tried.
  for (const { per_page, updated_after } of sandbox.requests) {
    expect(per_page ?? 1).toBeLessThanOrEqual(100)
    if (updated_after !== null) expect(updated_after).toMatch(/(Z|[+-]\d\d:\d\d)$/)
  }
  return { ...found, exitCode: trial.exitCode }
}

it('finds the documented behavior', async () => {
  expect(await probe(await source())).toMatchObject({ answers: usualWays, exitCode: 0 })
})

it.each([
  ['seconds', { timestamps: { digits: 0 } }, { precision: 'seconds', filter: 'finer' }],
  ['milliseconds', { timestamps: { digits: 3 } }, { precision: 'milliseconds', filter: 'finer' }],
  ['compressed answers', { gzip: true }, { gzip: 'sent' }],
] as const)('finds %s', async (_name, options, expected) => {
  expect((await probe(await source(options))).answers).toEqual({ ...usualWays, ...expected })
})

it('finds a list in a different order, and one without a total', async () => {
  const sandbox = await source()
  sandbox.script([{ when: { kind: 'list' }, before: { kind: 'order', by: 'oldest' } }])
  const reversed = (await probe(sandbox)).answers
  expect(reversed).toMatchObject({ order: 'other', updated_after: null })
  sandbox.script([
    { when: { kind: 'list' }, before: { kind: 'heal' }, fault: { kind: 'total', remove: true } },
  ])
  expect((await probe(sandbox)).answers).toMatchObject({ totals: 'missing', order: 'newest_first' })
  expect(changesBetween(reversed, usualWays)).toContainEqual({
    question: 'order',
    before: 'other',
    now: 'newest_first',
  })
})

it('finds records that updated_after never shows, and ids that give no 404', async () => {
  const sandbox = await source()
  sandbox.store.put(1, 'notes', template('notes', 500, '1969-01-01T00:00:00Z'))
  // A filter that begins before year 1 shows it, if the API accepts one.
  expect(await probe(sandbox)).toMatchObject({ answers: { totals: 'equal' }, exitCode: 0 })
  expect(await probe(sandbox, '1970')).toMatchObject({
    answers: { totals: 'more_without_filter' },
    exitCode: 1,
  })
  sandbox.script([{ when: { kind: 'item', id: 1_000_150 }, fault: { kind: 'status', status: 403 } }])
  expect((await probe(await source())).answers.by_id).toBe('works')
  const other = await probe(sandbox)
  expect(other.answers.by_id).not.toBe('works')
  expect(other.exitCode).toBe(1)
})

it('stops asking when every second response fails, and reports what it could not find out', async () => {
  const sandbox = await source()
  sandbox.script([{ when: { every: 2 }, fault: { kind: 'status', status: 500 } }])
  const { requests } = await probe(sandbox)
  expect(requests).toBeGreaterThan(10)
})

it('compares the clocks before it tries the tenants, which takes minutes if there are many', async () => {
  const sandbox = await source()
  const [kind] = warehouses()
  if (!kind) throw new Error('no warehouse')
  const warehouse = await open(kind)
  const { deps, close } = await depsOf(sandbox, warehouse)
  let late = 0n
  sandbox.onRequest(({ resource }) => {
    if (resource === 'notes') late += 300_000_000n
  })
  const nowMicros = (): bigint => deps.clock.nowMicros() + late
  const model = { ...known, list: known.list.filter(({ resource }) => resource.name === 'notes') }
  const choice = { tenants: null, except: [], observer: {} }
  const { trials } = await checkApi({ ...choice, source: deps.source, signal: deps.signal, model, nowMicros })
  await close()
  await warehouse.close()
  expect(late).toBeGreaterThan(0n)
  expect(trials.find(({ of }) => of === 'clock')).toMatchObject({ exitCode: 0 })
})
