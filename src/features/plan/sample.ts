/*
 * A plan of very many cursors asks some of them, and takes the others to cost the same: asking each would take hours, and
 * use up the requests that the planned run needs. Used by plan/work.ts.
 */
import { type CursorTask, keyOf } from '../../engine/run/tenant.js'
import type { Rate } from '../../engine/source/rate/knownrate.js'
import { type Cursor, cursorName } from '../../engine/warehouse/state/cursors.js'
import type { PlannedCursor } from './cursorcost.js'

/**
 * How many requests a plan may send: as many as the limit lets through in a minute. A window whose length is assumed may
 * be longer than it seems, so it isn't taken for less than a minute.
 */
export function mostAsked({ limit, reserve, window_seconds: seconds, window_known: isKnown }: Rate): number {
  return Math.floor((limit * (1 - reserve) * 60) / (isKnown ? seconds : Math.max(60, seconds)))
}

/** Cursors whose costs are alike: those of one resource, first loads apart from lists that were read before. */
const kindOf = (task: CursorTask, cursors: ReadonlyMap<string, Cursor>): string =>
  `${task.resource.name} ${cursors.get(cursorName(keyOf(task)))?.watermark == null ? 'new' : 'known'}`

function grouped(tasks: readonly CursorTask[], cursors: ReadonlyMap<string, Cursor>) {
  const kinds = new Map<string, CursorTask[]>()
  for (const task of tasks) {
    const kind = kindOf(task, cursors)
    const alike = kinds.get(kind)
    if (alike) alike.push(task)
    else kinds.set(kind, [task])
  }
  return kinds
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, at: random() }))
  return keyed.sort((a, b) => a.at - b.at).map(({ item }) => item)
}

/** The same mean for each, in whole numbers whose sum is right. */
function spread(values: readonly number[]): (i: number) => number {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  const upTo = (i: number): number => Math.round(mean * i)
  return (i) => upTo(i + 1) - upTo(i)
}

export class Sample {
  /** By kind, as they were before any was asked: the state of a list that ended well isn't kept. */
  #kinds: readonly (readonly CursorTask[])[] = []
  /** undefined: all were asked. */
  #picked: readonly CursorTask[] | undefined

  constructor(private readonly random: () => number) {}

  /** At most this many, at random: the same share of each kind, but at least one of each. */
  pick(
    tasks: readonly CursorTask[],
    cursors: ReadonlyMap<string, Cursor>,
    most: number,
  ): readonly CursorTask[] {
    if (tasks.length <= most) return tasks
    const kinds = [...grouped(tasks, cursors).values()]
    const picked = kinds.flatMap((alike) => {
      const share = Math.floor((alike.length * most) / tasks.length)
      return shuffled(alike, this.random).slice(0, Math.max(1, share))
    })
    if (picked.length === tasks.length) return tasks
    this.#kinds = kinds
    this.#picked = picked
    return picked
  }

  /** null: all were asked. */
  get sampled(): {
    readonly asked: number
    readonly of: number
  } | null {
    return this.#picked ? { asked: this.#picked.length, of: this.#kinds.flat().length } : null
  }

  /** What the others cost, if they are like those of their kind that were asked. */
  rest(asked: readonly PlannedCursor[]): PlannedCursor[] {
    const known = new Map(
      asked.map((one) => [cursorName({ tenantId: one.tenant_id, resource: one.resource }), one]),
    )
    return this.#kinds.flatMap((alike) => {
      const told = alike.flatMap((task) => known.get(cursorName(keyOf(task))) ?? [])
      const each = (of: (cursor: PlannedCursor) => number) => spread(told.map(of))
      const requests = each((one) => one.requests)
      const records = each((one) => one.records)
      const checks = each((one) => one.checks)
      const refilled = {
        requests: each((one) => one.refill?.requests ?? 0),
        records: each((one) => one.refill?.records ?? 0),
      }
      const others = alike.filter((task) => !known.has(cursorName(keyOf(task))))
      return others.map(({ tenantId, resource }, i): PlannedCursor => {
        const refill = { requests: refilled.requests(i), records: refilled.records(i) }
        return {
          tenant_id: tenantId,
          resource: resource.name,
          status: 'ok',
          error: null,
          is_estimated: true,
          requests: requests(i),
          records: records(i),
          checks: checks(i),
          refill: refill.requests > 0 ? refill : null,
        }
      })
    })
  }
}
