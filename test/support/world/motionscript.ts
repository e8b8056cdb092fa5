import fc from 'fast-check'
import type { Fault } from '../../../src/sandbox/index.js'

/** Which records a motion moves, counted from the front, from the requested page, or from the end. */
export interface Where {
  readonly from: 'front' | 'pointer' | 'end'
  readonly offset: number
  readonly n: number
}

/** `at`: before the run's nth request for the list is answered; 0 is before the run starts. */
export type Step = { readonly at: number } & (
  | { readonly kind: 'create'; readonly n: number }
  | { readonly kind: 'update'; readonly where: Where }
  | { readonly kind: 'delete'; readonly where: Where }
  /** All of them get the same updated_at. */
  | { readonly kind: 'touch'; readonly where: Where }
  /** Created and deleted between two requests. */
  | { readonly kind: 'flash'; readonly n: number }
  /** Becomes visible now, with an updated_at of `lagMs` ago. */
  | { readonly kind: 'late'; readonly n: number; readonly lagMs: number }
  /** Deleted records come back, changed. */
  | { readonly kind: 'restore'; readonly n: number }
  /** Deleted records come back unchanged, within the overlap. */
  | { readonly kind: 'undelete'; readonly n: number }
  /** Deleted records come back unchanged, whenever they were changed. */
  | { readonly kind: 'bring back'; readonly n: number }
  /** Changed in the past: their updated_at is later than the last one, by this share of the way to now. */
  | { readonly kind: 'backdate'; readonly where: Where; readonly share: number }
  /** The list lacks them for that many requests; they are still there by id. */
  | { readonly kind: 'hide'; readonly where: Where; readonly requests: number }
  /** Their rows vanish from the warehouse, before the run starts. */
  | { readonly kind: 'lose'; readonly where: Where }
  | { readonly kind: 'shuffle'; readonly on: boolean }
  | { readonly kind: 'revoke' }
  | { readonly kind: 'grant' }
  | { readonly kind: 'pause'; readonly ms: number }
  /** The next requests for the list, so many, go wrong. */
  | { readonly kind: 'fail'; readonly fault: Fault; readonly requests: number }
  /** The program's clock is off by so many hours. */
  | { readonly kind: 'clock'; readonly hours: number }
  /** Before the run starts, the warehouse is backed up, or restored from its last backup. */
  | { readonly kind: 'backup' }
  | { readonly kind: 'rewind' }
)

/** The process ends at its nth request for the list: before it is sent, when it is answered, or by a signal. */
export interface Death {
  readonly at: number
  readonly how: 'unsent' | 'unstored' | 'signal'
}

export interface ScriptRun {
  readonly mode: 'sync' | 'full' | 'reconcile'
  readonly steps: readonly Step[]
  readonly death: Death | null
}

/** A whole scenario as plain JSON: printed on failure and read by a replay. */
export interface MotionScript {
  /** Fraction digits that the source prints: whole seconds, milliseconds or microseconds. */
  readonly digits: 0 | 3 | 6
  readonly overlapMs: number
  readonly pageSizes: readonly number[]
  readonly readAhead: number
  /** How much time passes with every request. */
  readonly stepMs: number
  readonly shuffle: boolean
  readonly initial: readonly { readonly n: number; readonly tied: boolean; readonly gapMs: number }[]
  readonly runs: readonly ScriptRun[]
  /** Long enough to be compared by counting: what a comparison draws its cut points from. */
  readonly seed?: number
}

/** The first so many times as often as the other. */
const mostly = <A, B>(times: number, one: fc.Arbitrary<A>, other: fc.Arbitrary<B>): fc.Arbitrary<A | B> =>
  fc.oneof({ weight: times, arbitrary: one }, { weight: 1, arbitrary: other })
const from = (min: number, max: number): fc.Arbitrary<number> => fc.integer({ min, max })

const where: fc.Arbitrary<Where> = fc.record({
  from: fc.constantFrom('front', 'pointer', 'pointer', 'pointer', 'end'),
  offset: from(-9, 12),
  n: mostly(4, from(1, 3), from(4, 22)),
})
const at = fc.oneof(
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: from(1, 9) },
  { weight: 2, arbitrary: from(10, 30) },
)
const few = mostly(4, from(1, 3), from(4, 14))

type PartsOf<K extends Step['kind']> = Omit<Extract<Step, { kind: K }>, 'at' | 'kind'>

/** A kind of step, as often as its weight says. */
const step = <K extends Step['kind']>(
  weight: number,
  kind: K,
  parts: { readonly [P in keyof PartsOf<K>]: fc.Arbitrary<PartsOf<K>[P]> },
  when = at,
): { readonly weight: number; readonly arbitrary: fc.Arbitrary<Step> } => ({
  weight,
  arbitrary: fc.record({ at: when, kind: fc.constant(kind), ...parts }) as unknown as fc.Arbitrary<Step>,
})

/** Records come late within the overlap, and never without one: nothing else is promised. */
const steps = (overlapMs: number): fc.Arbitrary<Step> =>
  fc.oneof(
    step(6, 'create', { n: few }),
    step(7, 'update', { where }),
    step(8, 'delete', { where }),
    step(4, 'touch', { where }),
    step(2, 'flash', { n: few }),
    step(overlapMs > 0 ? 3 : 0, 'late', { n: few, lagMs: from(1, Math.max(1, overlapMs - 1)) }),
    step(3, 'restore', { n: few }),
    step(overlapMs > 0 ? 1 : 0, 'undelete', { n: few }),
    step(1, 'shuffle', { on: fc.boolean() }),
    step(1, 'revoke', {}),
    step(1, 'grant', {}),
    step(1, 'pause', { ms: fc.constantFrom(1, 700, 60_000) }),
  )

/** Between two responses, something is deleted and something comes late: the totals agree. */
export const exchange = (overlapMs: number): fc.Arbitrary<Step[]> =>
  fc
    .record({ at, where, lag: fc.integer({ min: 1, max: Math.max(1, overlapMs - 1) }), isOld: fc.boolean() })
    .map(({ at, where, lag, isOld }) => [
      { at, kind: 'delete', where: { ...where, n: 1 } },
      isOld ? { at, kind: 'undelete', n: 1 } : { at, kind: 'late', n: 1, lagMs: lag },
    ])

const death: fc.Arbitrary<Death> = fc.record({
  at: from(1, 14),
  how: fc.constantFrom('unsent', 'unstored', 'signal'),
})

const run = (overlapMs: number): fc.Arbitrary<ScriptRun> =>
  fc.record({
    mode: fc.constantFrom('sync', 'sync', 'sync', 'full'),
    steps: fc
      .array(
        fc.oneof(
          { weight: 9, arbitrary: steps(overlapMs).map((step) => [step]) },
          { weight: overlapMs > 0 ? 2 : 0, arbitrary: exchange(overlapMs) },
        ),
        { maxLength: 8 },
      )
      .map((some) => some.flat()),
    death: mostly(3, fc.constant(null), death),
  })

/** Scenarios in every shape that the walk must survive; the first run of each is a first load. */
export const scripts: fc.Arbitrary<MotionScript> = fc.constantFrom(0, 5000, 300_000).chain((overlapMs) =>
  fc.record({
    digits: fc.constantFrom(0, 3, 6, 6),
    overlapMs: fc.constant(overlapMs),
    pageSizes: fc.constantFrom([5, 4, 3], [3, 4, 5], [4, 3, 5, 2], [7, 5, 3]),
    readAhead: fc.constantFrom(0, 0, 1, 4),
    stepMs: fc.constantFrom(0, 4, 40, 900, 20_000),
    shuffle: fc.boolean(),
    initial: fc.array(
      fc.record({
        n: mostly(3, from(1, 12), from(13, 40)),
        tied: mostly(3, fc.constant(false), fc.constant(true)),
        gapMs: fc.constantFrom(0.001, 10, 1000, 3_600_000),
      }),
      { maxLength: 4 },
    ),
    runs: fc.array(run(overlapMs), { minLength: 1, maxLength: 3 }),
  }),
)

const hours = 3_600_000
const now = fc.constant(0)

/** What happens to the source's answers, to a clock and to the warehouse in the course of weeks. */
const mishap = fc.oneof(
  step(4, 'fail', {
    fault: fc.constantFrom<Fault[]>(
      { kind: 'status', status: 500 },
      { kind: 'drop' },
      { kind: 'html' },
      { kind: 'cut', fraction: 0.7 },
      { kind: 'page', page: 'previous', claim: 'asked' },
      { kind: 'skew', seconds: 3600 },
      { kind: 'skew', seconds: -3600 },
    ),
    requests: fc.constantFrom(1, 2, 30),
  }),
  step(2, 'clock', { hours: fc.constantFrom(-3, 0, 3) }, now),
  step(2, 'backup', {}, now),
  step(2, 'rewind', {}, now),
)

/** Weeks of a list: many runs, hours apart, some of which are reconciles. */
export const histories: fc.Arbitrary<MotionScript> = fc.constantFrom(5000, 300_000).chain((overlapMs) =>
  fc.record({
    digits: fc.constantFrom(0, 3, 6),
    overlapMs: fc.constant(overlapMs),
    pageSizes: fc.constantFrom([7, 5, 3], [4, 3, 5, 2]),
    readAhead: fc.constantFrom(0, 4),
    stepMs: fc.constantFrom(40, 900),
    shuffle: fc.boolean(),
    initial: fc.array(
      fc.record({ n: from(1, 15), tied: fc.boolean(), gapMs: fc.constantFrom(10, 1000, hours) }),
      { maxLength: 3 },
    ),
    runs: fc.array(
      fc
        .record({
          mode: fc.constantFrom<ScriptRun['mode'][]>('sync', 'sync', 'sync', 'sync', 'full', 'reconcile'),
          pause: step(1, 'pause', { ms: fc.constantFrom(1, 700, hours, 24 * hours) }, now).arbitrary,
          changes: fc.array(steps(overlapMs), { maxLength: 4 }),
          mishaps: fc.array(mishap, { maxLength: 1 }),
          death: mostly(4, fc.constant(null), death),
        })
        .map(({ mode, pause, changes, mishaps, death }) => ({
          mode,
          steps: [pause, ...mishaps, ...changes],
          death,
        })),
      { minLength: 4, maxLength: 14 },
    ),
  }),
)

const anywhere: fc.Arbitrary<Where> = fc.record({
  from: fc.constant('front'),
  offset: from(0, 1500),
  n: from(1, 3),
})
const early = fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 9, arbitrary: from(1, 40) })
/** What no sync can find later, too: only a comparison. */
const unseen: fc.Arbitrary<Step> = fc.oneof(
  step(12, 'update', { where: anywhere }, early),
  step(8, 'create', { n: few }, early),
  step(10, 'delete', { where: anywhere }, early),
  step(2, 'restore', { n: few }, early),
  step(2, 'bring back', { n: few }, early),
  step(2, 'late', { n: fc.constant(1), lagMs: from(1, 80 * hours) }, early),
  step(4, 'backdate', { where: anywhere, share: fc.double({ min: 0, max: 1, noNaN: true }) }, early),
  step(8, 'hide', { where: anywhere, requests: from(1, 60) }, early),
  step(1, 'revoke', {}, early),
  step(1, 'grant', {}, early),
)
const lost = step(1, 'lose', { where: anywhere }, fc.constant(0)).arbitrary
const undying = { death: null } as const

/**
 * A list that is long enough to be compared by counting, which moves while it is compared: there is always something
 * to find, and something to be wrong about.
 */
export const comparisons: fc.Arbitrary<MotionScript> = fc.record({
  digits: fc.constantFrom(0, 3, 6),
  overlapMs: fc.constant(1000),
  pageSizes: fc.constant([100, 97, 89]),
  readAhead: fc.constantFrom(0, 1, 4),
  stepMs: fc.constant(40),
  shuffle: fc.boolean(),
  seed: fc.nat(),
  initial: fc.array(
    fc.record({
      n: from(100, 500),
      tied: mostly(4, fc.constant(false), fc.constant(true)),
      gapMs: fc.constantFrom(0.001, 1000, 20_000, 120_000),
    }),
    { minLength: 2, maxLength: 5 },
  ),
  runs: fc
    .tuple(
      fc.array(lost, { maxLength: 3 }),
      fc.array(unseen, { maxLength: 25 }),
      fc.array(unseen, { maxLength: 25 }),
    )
    .map(([vanished, first, second]) => [
      { ...undying, mode: 'sync' as const, steps: [] },
      { ...undying, mode: 'reconcile' as const, steps: [...vanished, ...first] },
      { ...undying, mode: 'reconcile' as const, steps: second },
    ]),
})
