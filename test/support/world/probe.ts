/** What `check` asks a source, and what it finds out about one that follows the API documentation. */
import { checkApi, checkWays } from '../../../src/features/check/work.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { depsOf, known } from '../harness/runs.js'
import type { Warehouse } from '../harness/warehouse.js'
import { replacing } from './between.js'

export const usualWays = {
  order: 'newest_first',
  beyond_end: 'empty',
  updated_after: 'strict',
  precision: 'microseconds',
  filter: 'as_printed',
  totals: 'equal',
  ties: 'stable',
  by_id: 'works',
  etag: 'stays',
  rate_headers: 'sent',
  date_skew: 'agrees',
  gzip: 'not_sent',
} as const

/** The API as it answers if it refuses times before a year. */
const refusing = (first: string) =>
  replacing((its) => ({
    ask: async (question) => {
      const { updated_after: after = first } = question.query ?? {}
      if (after >= first) return its.ask(question)
      const { value: _, ...shown } = await its.ask({ ...question, query: {} })
      return { ...shown, status: 422, value: undefined }
    },
  }))

/** What is found out about the notes of tenant 1. `first`: the earliest time that the API accepts. */
export async function probed(sandbox: Sandbox, warehouse: Warehouse, first = '') {
  const { deps, close } = await depsOf(sandbox, warehouse)
  const { signal, clock } = deps
  const resource = known.byName.get('notes')
  if (!resource) throw new Error('no notes')
  sandbox.resetRequests()
  const source = refusing(first)(deps.source)
  const [trial] = await checkWays(
    { source, tenantId: 1, resource, nowMicros: () => clock.nowMicros(), signal },
    undefined,
  )
  await close()
  if (trial?.of !== 'probe') throw new Error('the list did not answer')
  const { answers, requests } = trial.probe
  return { answers, requests, exitCode: trial.exitCode }
}

/** Whether its clock is found to agree with one that is ahead of this machine's by so many microseconds. */
export async function clockAgrees(sandbox: Sandbox, warehouse: Warehouse, ahead: () => bigint) {
  const { deps, close } = await depsOf(sandbox, warehouse)
  const model = { ...known, list: known.list.filter(({ resource }) => resource.name === 'notes') }
  const nowMicros = (): bigint => deps.clock.nowMicros() + ahead()
  const choice = { tenants: null, except: [], observer: {}, model, nowMicros }
  const { trials } = await checkApi({ ...choice, source: deps.source, signal: deps.signal })
  await close()
  return trials.find(({ of }) => of === 'clock')?.exitCode === 0
}
