/*
 * The probe of `shopsync check`: asks how the source behaves, on one list, in 15 requests at most. It doesn't try what
 * the API documentation forbids (a stamp without a zone, a page of more than 100). The answers are kept in sync_source.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Skip } from '../../engine/base/errors.js'
import { parseId } from '../../engine/base/int64.js'
import { isJsonObject } from '../../engine/base/jsonkind.js'
import { toJson } from '../../engine/base/printjson.js'
import { addMicros, canonical, fromMicros } from '../../engine/base/timestamp.js'
import { unixEpoch } from '../../engine/list/cutpoint.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import { beginnings } from '../../engine/run/wholelists.js'
import type { Shown, Source } from '../../engine/source/source.js'

/** The answers, one short word each; null: this list couldn't show it, or the list changed meanwhile. */
export interface ProbeAnswers {
  readonly order: 'newest_first' | 'other' | null
  readonly beyond_end: 'empty' | 'refused' | 'records' | null
  readonly updated_after: 'strict' | 'inclusive' | 'other' | null
  readonly precision: 'seconds' | 'milliseconds' | 'microseconds' | null
  /** Whether `updated_after` has more digits than are printed, or fewer. */
  readonly filter: 'as_printed' | 'finer' | 'coarser' | null
  readonly totals: 'equal' | 'more_without_filter' | 'fewer_without_filter' | 'missing' | null
  readonly ties: 'stable' | 'unstable' | null
  readonly by_id: 'works' | 'hides_what_is_there' | 'shows_what_is_not_there' | null
  readonly etag: 'stays' | 'changes' | 'none' | null
  readonly rate_headers: 'sent' | 'missing' | null
  readonly date_skew: 'agrees' | 'differs' | 'missing' | null
  readonly gzip: 'sent' | 'not_sent' | null
}

/** The column `probe` of sync_source, and part of the document of `check`. */
export interface Probe {
  readonly tenant_id: Int64
  readonly resource: string
  readonly records: number
  readonly asked_at: string
  readonly requests: number
  /** How many milliseconds this machine is ahead of the API. */
  readonly skew_ms: number | null
  readonly answers: ProbeAnswers
}

export interface ProbeTarget {
  readonly source: Source
  readonly tenantId: Int64
  readonly resource: ResourceModel
  readonly nowMicros: () => bigint
  readonly signal: AbortSignal
}

/** Requests of a probe, retries included. */
const mostRequests = 15
/** One question may take two attempts. */
const attempts = 2
const tolerableSkew = 120_000

const unknown: ProbeAnswers = {
  order: null,
  beyond_end: null,
  updated_after: null,
  precision: null,
  filter: null,
  totals: null,
  ties: null,
  by_id: null,
  etag: null,
  rate_headers: null,
  date_skew: null,
  gzip: null,
}

/** A list's page, as far as the questions need it. */
interface Glimpse {
  readonly total: number | undefined
  readonly records: readonly {
    readonly id: Int64 | undefined
    readonly at: string
    readonly printed: string
  }[]
}

function glimpse({ value }: Shown): Glimpse | undefined {
  if (!isJsonObject(value) || !Array.isArray(value.results)) return undefined
  const { results, total_count: total } = value
  return {
    total: typeof total === 'number' ? total : undefined,
    records: results.map((record: unknown) => {
      const { id, updated_at: at } = isJsonObject(record) ? record : {}
      const printed = typeof at === 'string' ? at : ''
      return { id: parseId(id), at: canonical(printed) ?? '', printed }
    }),
  }
}

/** Sends requests and counts them. */
class Asker {
  readonly source: Source

  constructor(private readonly target: ProbeTarget) {
    this.source = target.source.tagged()
  }

  get perPage(): number {
    return this.target.source.pageSize
  }

  get requests(): number {
    return this.source.stats().requests
  }

  /** undefined if nothing comes back, or no request is left. */
  async show(query: Record<string, string | number>, more: { id?: Int64; gzip?: boolean } = {}) {
    if (this.requests + attempts > mostRequests) return undefined
    const { tenantId, resource, signal } = this.target
    const words = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))
    try {
      return await this.source.ask({ tenantId, path: resource.path, query: words, signal, ...more })
    } catch (error) {
      if (error instanceof Skip && !signal.aborted) return undefined
      throw error
    }
  }

  list(page: number, more: { gzip?: boolean } = {}) {
    return this.show({ updated_after: unixEpoch, page, per_page: this.perPage }, more)
  }

  /** How many records are newer; all records if no time is given. */
  async total(after?: string): Promise<number | undefined> {
    const filter = after === undefined ? {} : { updated_after: after }
    const shown = await this.show({ ...filter, page: 1, per_page: 1 })
    return shown && glimpse(shown)?.total
  }
}

function orderOf({ records }: Glimpse): ProbeAnswers['order'] {
  if (records.length < 2) return null
  return records.every(({ at }, i) => i === 0 || at <= (records[i - 1]?.at ?? '')) ? 'newest_first' : 'other'
}

function tiesOf(first: Glimpse, again: Glimpse): ProbeAnswers['ties'] {
  const times = (page: Glimpse): string => page.records.map(({ at }) => at).join()
  const ids = (page: Glimpse): string => page.records.map(({ id }) => id).join()
  const hasTies = new Set(first.records.map(({ at }) => at)).size < first.records.length
  if (!hasTies || times(first) !== times(again)) return null
  return ids(first) === ids(again) ? 'stable' : 'unstable'
}

/** How many digits the fraction of a printed second has. */
const digits = (printed: string): number => /[.,](\d+)/.exec(printed)?.[1]?.length ?? 0

function precisionOf({ records }: Glimpse): ProbeAnswers['precision'] {
  if (records.length === 0) return null
  const most = Math.max(...records.map(({ printed }) => digits(printed)))
  return most === 0 ? 'seconds' : most <= 3 ? 'milliseconds' : 'microseconds'
}

/** A group of records with the same time that is completely on the page, and how many are newer. */
function groupOf({ records }: Glimpse): { at: string; newer: number; size: number } | undefined {
  for (let newer = 0; newer < records.length; ) {
    const at = records[newer]?.at ?? ''
    const size = records.filter((record) => record.at === at).length
    if (at !== '' && newer + size < records.length) return { at, newer, size }
    newer += size
  }
  return undefined
}

const microsOf: Record<string, bigint> = { seconds: 1_000_000n, milliseconds: 1000n, microseconds: 1n }

/** Whether `updated_after` excludes the time it names, and how many digits of it count. */
async function filterOf(
  asker: Asker,
  page: Glimpse,
): Promise<Pick<ProbeAnswers, 'updated_after' | 'filter'>> {
  const group = groupOf(page)
  if (!group || orderOf(page) !== 'newest_first') return { updated_after: null, filter: null }
  const { at, newer, size } = group
  const unit = microsOf[precisionOf(page) ?? ''] ?? 1n
  const here = await asker.total(at)
  const before = await asker.total(addMicros(at, -1n))
  const after = unit === 1n ? here : await asker.total(addMicros(at, unit - 1n))
  if (here === undefined || before === undefined || after === undefined)
    return { updated_after: null, filter: null }
  const updated_after =
    after === newer ? 'strict' : after === newer + size && here === after ? 'inclusive' : 'other'
  const filter = here > after ? 'finer' : before === newer + size ? 'as_printed' : 'coarser'
  return { updated_after, filter }
}

async function beyondEnd(asker: Asker, total: number): Promise<ProbeAnswers['beyond_end']> {
  const shown = await asker.list(Math.ceil(total / asker.perPage) + 1)
  if (!shown) return null
  if (shown.status !== 200) return 'refused'
  return (glimpse(shown)?.records.length ?? 0) === 0 ? 'empty' : 'records'
}

/**
 * If the counts differ, it asks again: a record may have come or gone between the two requests. Also, a record stamped
 * before 1970 is included by a filter that begins earlier, as on a first load.
 */
async function totalsOf(asker: Asker, filtered: number | undefined): Promise<ProbeAnswers['totals']> {
  if (filtered === undefined) return 'missing'
  let all = await asker.total()
  let some: number | undefined = filtered
  if (all !== undefined && all !== some) {
    some = (await asker.total(beginnings[0])) ?? (await asker.total(unixEpoch))
    all = await asker.total()
  }
  if (all === undefined || some === undefined) return null
  return all === some ? 'equal' : all > some ? 'more_without_filter' : 'fewer_without_filter'
}

/** An id far below those on the page: reconcile takes 404 as proof that a record is gone. */
async function byId(asker: Asker, { records }: Glimpse): Promise<ProbeAnswers['by_id']> {
  const ids = records.flatMap(({ id }) => (id === undefined ? [] : [BigInt(id)]))
  const [known] = ids
  if (known === undefined) return null
  const found = await asker.show({}, { id: known })
  const missing = await asker.show({}, { id: ids.reduce((a, b) => (a > b ? a : b)) + 1_000_000n })
  if (!found || !missing) return null
  if (found.status !== 200) return 'hides_what_is_there'
  return missing.status === 404 ? 'works' : 'shows_what_is_not_there'
}

const etagOf = (first: Shown, again: Shown): ProbeAnswers['etag'] =>
  first.etag === undefined ? 'none' : first.etag === again.etag ? 'stays' : 'changes'

function skewOf({ date }: Shown, nowMicros: bigint): number | null {
  return date === undefined ? null : Number(nowMicros - date) / 1000
}

async function answersTo(asker: Asker, first: Shown, skew: number | null): Promise<ProbeAnswers> {
  const page = glimpse(first)
  const headers: ProbeAnswers = {
    ...unknown,
    rate_headers: first.hasRate ? 'sent' : 'missing',
    date_skew: skew === null ? 'missing' : Math.abs(skew) < tolerableSkew ? 'agrees' : 'differs',
  }
  const again = await asker.list(1)
  if (!page || !again) return headers
  const second = glimpse(again)
  const gzipped = await asker.list(1, { gzip: true })
  return {
    ...headers,
    order: orderOf(page),
    beyond_end: page.total === undefined ? null : await beyondEnd(asker, page.total),
    ...(await filterOf(asker, page)),
    precision: precisionOf(page),
    totals: await totalsOf(asker, page.total),
    ties: second ? tiesOf(page, second) : null,
    by_id: await byId(asker, page),
    // If the list changed between the two answers, its tag changes with good reason.
    etag: second && toJson(again.value) === toJson(first.value) ? etagOf(first, again) : null,
    gzip: gzipped ? (gzipped.encoding?.includes('gzip') ? 'sent' : 'not_sent') : null,
  }
}

/** undefined if the list doesn't answer. */
export async function probeSource(target: ProbeTarget): Promise<Probe | undefined> {
  const asker = new Asker(target)
  const first = await asker.list(1)
  if (first?.status !== 200) return undefined
  const asked = target.nowMicros()
  const skew = skewOf(first, asked)
  const answers = await answersTo(asker, first, skew)
  return {
    tenant_id: target.tenantId,
    resource: target.resource.name,
    records: glimpse(first)?.total ?? 0,
    asked_at: fromMicros(asked),
    requests: asker.requests,
    skew_ms: skew === null ? null : Math.round(skew),
    answers,
  }
}

/** A behavior of the source that has changed since the last probe. */
export interface ProbeChange {
  readonly question: keyof ProbeAnswers
  readonly before: string
  readonly now: string
}

/** What both probes could tell but answered differently. */
export function changesBetween(before: ProbeAnswers, now: ProbeAnswers): ProbeChange[] {
  const questions = Object.keys(unknown) as (keyof ProbeAnswers)[]
  return questions.flatMap((question) => {
    const [was, is] = [before[question] ?? null, now[question]]
    return was === null || is === null || was === is ? [] : [{ question, before: was, now: is }]
  })
}
