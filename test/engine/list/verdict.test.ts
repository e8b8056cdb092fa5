/** The verdict for each basis: each situation of docs/guarantees.md, and the law that no doubt improves a verdict. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Balance, type Counted, standingOf } from '../../../src/engine/list/standing.js'
import {
  type Basis,
  type Claim,
  type Evidence,
  movesWatermark,
  type Remembered,
  verdict,
  worstFirst,
} from '../../../src/engine/list/verdict.js'

/** 250 records at first, three that arrived, 253 at the end, and as many seen. */
const balance: Balance = { first: 250, last: 253, distinct: 253, entered: 3, fallen: 0 }
const clear = { isDoubtful: false, hasVanished: false, isLate: false, hasTies: false }
const count = (numbers: Partial<Balance> = {}, doubts: Partial<Counted> = {}): Counted => ({
  balance: { ...balance, ...numbers },
  ...clear,
  ...doubts,
})
const closed = count()
/** One record is counted but wasn't seen. */
const short = count({ distinct: 252 })
/** Two records were deleted meanwhile. */
const fallen = count({ last: 251, fallen: 2 })
const zone = { agrees: true, isRestWhole: true, mayHide: false }

const page: Basis = { by: 'page', missing: 0 }
const books = (own: Counted, given: Partial<Extract<Basis, { by: 'books' }>> = {}): Basis => ({
  by: 'books',
  own,
  joint: own,
  isOverfull: false,
  isSettled: false,
  ...given,
})
const range = (given: Partial<Extract<Basis, { by: 'range' }>> = {}): Basis => ({
  by: 'range',
  seen: 120,
  expected: 120,
  left: 120,
  hasFallen: false,
  hasTies: false,
  isUnordered: false,
  ...given,
})
const ids = (given: Partial<Extract<Basis, { by: 'ids' }>> = {}): Basis => ({
  by: 'ids',
  isSteady: true,
  total: 120,
  shown: 120,
  together: 120,
  twice: 0,
  isSettled: false,
  ...given,
})
const end: Basis = { by: 'end', mayHide: false }
const even: Basis = { by: 'counts', isEven: true }
const nothing = (reason: Claim['reason']): Basis => ({ by: 'nothing', reason })
const hole = { after: '', until: '', records: 1 }

type Case = readonly [what: string, evidence: Evidence, memory?: Remembered]
/** By verdict and reason, the situations that end in them. */
const groups: Readonly<Record<string, readonly Case[]>> = {
  proven: [
    ['one page shows the whole list', { basis: page }],
    ['the books of one reading close', { basis: books(closed) }],
    ['the same, remembered as a list like any other', { basis: books(closed) }, {}],
    ['a range holds as many as were counted', { basis: range() }],
    ['the counts of both sides agree', { basis: even }, {}],
    ['looks that agree', { basis: { by: 'looks', looks: [{ basis: even }, { basis: page }] } }, {}],
  ],
  'repaired read_again': [
    ['doubtful places were read again', { basis: books(closed), isReadAgain: true }],
    ['records were deleted, and the walk stepped back', { basis: books(fallen), isReadAgain: true }, {}],
    ['the late zone was read again and agrees', { basis: books(count({}, { zone })) }, {}],
    ['a range of which records were deleted', { basis: range({ hasFallen: true, seen: 118, left: 118 }) }],
    ['a backfill that went on', { basis: range(), isReadAgain: true }],
  ],
  'repaired ties': [
    ['joined ties were read again', { basis: books(short, { joint: closed }), isReadAgain: true }, {}],
  ],
  'proven future_stamps': [
    ['stamps ahead of the source’s clock', { basis: books(closed), isAhead: true }, {}],
  ],
  'repaired future_stamps': [
    ['the same, read again', { basis: books(closed), isReadAgain: true, isAhead: true }, {}],
  ],
  'unproven totals_disagree': [
    ['stamps ahead say nothing where something may be missing', { basis: books(short), isAhead: true }, {}],
    ['the books do not close', { basis: books(short) }, {}],
    ['nothing tells whether a record entered', { basis: books(count({}, { isDoubtful: true })) }, {}],
    ['a record vanished that no total misses', { basis: books(count({}, { hasVanished: true })) }, {}],
    ['the late zone does not agree', { basis: books(count({}, { zone: { ...zone, agrees: false } })) }, {}],
    [
      'records may hide behind the zone',
      { basis: books(count({}, { zone: { ...zone, isRestWhole: false, mayHide: true } })) },
      {},
    ],
    ['a range of which not all was seen', { basis: range({ seen: 119 }) }],
    ['the counts of both sides differ', { basis: { by: 'counts', isEven: false } }, {}],
    ['what keeps the watermark is worse than what does not', { basis: books(short), holes: 1 }, {}],
    [
      'of several looks, the worst',
      { basis: { by: 'looks', looks: [{ basis: even }, { basis: books(short) }] } },
      {},
    ],
  ],
  'repaired order': [
    ['one page that is not newest first', { basis: page, isUnordered: true }, {}],
    ['all ids agree with a steady total', { basis: ids() }, {}],
    ['the ids of all readings agree with it', { basis: ids({ shown: 118, together: 120 }) }, {}],
    [
      'ids listed twice, in two',
      { basis: ids({ shown: 118, together: 118, twice: 2, isSettled: true }) },
      {},
    ],
    ['a range of a list without order', { basis: range({ isUnordered: true }) }],
    ['a list known to have no order', { basis: books(closed) }, { isUnordered: true }],
  ],
  'unproven order': [
    ['the total moved', { basis: ids({ isSteady: false }) }, {}],
    ['fewer ids than the total', { basis: ids({ shown: 119, together: 119 }) }, {}],
    ['ids listed twice, in one reading', { basis: ids({ shown: 118, together: 118, twice: 2 }) }, {}],
    ['that moved', { basis: range({ isUnordered: true, left: 119 }) }],
  ],
  'repaired listed_twice': [
    ['an id listed twice', { basis: books(short, { isSettled: true }), twice: 1 }, {}],
    ['an id that one page shows twice', { basis: page, twice: 1 }, {}],
    ['a place remembered', { basis: books(closed) }, { twice: 1 }],
    ['of two alike, the more particular', { basis: books(closed), isReadAgain: true, twice: 1 }, {}],
  ],
  'unproven counted_not_shown': [
    ['counted and never shown, by the walk itself', { basis: books(short, { isSettled: true }), hidden: 1 }],
    [
      'after one search',
      { basis: books(short, { isSettled: true }), hidden: 1 },
      { surplus: { searches: 1, total: 100, shown: 99 } },
    ],
    ['while it is remembered', { basis: books(closed) }, { surplus: { searches: 1, total: 100, shown: 99 } }],
    ['one page that lacks what its total counts', { basis: page, hidden: 2 }],
  ],
  'listed counted_not_shown': [
    [
      'after a second one',
      { basis: books(short, { isSettled: true }), hidden: 1 },
      { surplus: { searches: 2, total: 100, shown: 99 } },
    ],
  ],
  'listed no_count': [
    ['no true total', { basis: end }, {}],
    ['remembered', { basis: page }, { isUncounted: true }],
    ['of two reasons, that of the worse verdict', { basis: page, twice: 1 }, { isUncounted: true }],
  ],
  'unproven ties': [
    ['and ties that may hide records', { basis: { by: 'end', mayHide: true } }, {}],
    ['ties keep them open', { basis: books(count({ distinct: 252 }, { hasTies: true })) }, {}],
    [
      'records were deleted, and ties may hide others',
      { basis: books(count(fallen.balance, { hasTies: true })) },
      {},
    ],
    [
      'more places than the total, and ties',
      { basis: books(count({}, { hasTies: true }), { isOverfull: true }) },
      {},
    ],
    ['whose ties may hide it', { basis: range({ seen: 119, hasTies: true }) }],
  ],
  'unproven unreadable': [
    ['a page that never answers', { basis: books(closed), holes: 1 }],
    ['remembered, until it answers', { basis: books(closed) }, { holes: [hole] }],
    ['by what no page answers', { basis: { by: 'counts', isEven: false } }, { holes: [hole] }],
  ],
  'unproven moving': [['the list kept changing', { basis: nothing('moving') }, {}]],
  unproven: [
    ['one page of a range that lacks a record', { basis: { by: 'page', missing: 1 } }],
    ['never read', { basis: nothing(null) }],
    ['no look at all', { basis: { by: 'looks', looks: [] } }, {}],
  ],
  'unproven record_unstorable': [
    ['a record that cannot be stored', { basis: books(closed), unstorable: 1 }, {}],
  ],
  'unproven answers_differ': [['by id and in the list it differs', { basis: even, differing: 1 }, {}]],
  'unproven before_all': [['larger without the filter', { basis: even, beforeAll: 3 }, {}]],
  'unproven source_went_back': [
    ['versions went back, and the warehouse keeps its own', { basis: books(closed), keptNewer: 1 }, {}],
  ],
  'repaired source_went_back': [
    ['versions went back, and reconcile followed', { basis: even, followedBack: 1 }, {}],
  ],
  'unproven loss_suspected': [['more vanished than is believed', { basis: nothing('loss_suspected') }]],
  'unproven gone': [['404 after it answered once', { basis: nothing('gone') }]],
  'unproven unreachable': [['the API does not answer', { basis: nothing('unreachable') }]],
  'unproven revoked': [['revoked', { basis: nothing('revoked') }]],
  'unproven interrupted': [['a signal', { basis: nothing('interrupted') }]],
}
const rows = Object.entries(groups).flatMap(([name, cases]) => {
  const [verdict, reason = null] = name.split(' ')
  return cases.map(([what, evidence, memory]) => ({ what, evidence, memory, verdict, reason }))
})

describe('the verdict', () => {
  it.each(rows)('$what', ({ what: _, evidence, memory, ...expected }) => {
    expect(verdict(evidence, memory)).toEqual(expected)
  })

  it('lets the watermark pass what is counted but never shown, and nothing else that is unproven', () => {
    const moving = rows
      .map(({ evidence, memory }) => verdict(evidence, memory))
      .filter((claim) => movesWatermark(claim))
    const passing = moving.filter((claim) => claim.verdict === 'unproven').map(({ reason }) => reason)
    expect(new Set(passing)).toEqual(new Set(['counted_not_shown', 'unreadable', 'before_all']))
  })

  it('adding doubt never improves a verdict', () => {
    fc.assert(
      fc.property(evidences, memories, doubts, remembered, (evidence, memory, doubt, more) => {
        const before = verdict(evidence, memory)
        expect(rank(verdict({ ...evidence, ...doubt }, memory))).toBeLessThanOrEqual(rank(before))
        if (memory) expect(rank(verdict(evidence, { ...memory, ...more }))).toBeLessThanOrEqual(rank(before))
        const looks: Basis = { by: 'looks', looks: [evidence, { basis: even, ...doubt }] }
        expect(rank(verdict({ basis: looks }, memory))).toBeLessThanOrEqual(rank(before))
      }),
    )
  })

  it('adding doubt never closes books', () => {
    const worse = ['open', 'complete', 'closed']
    fc.assert(
      fc.property(counts, doubtsOfBooks, (counted, doubt) => {
        const standing = standingOf({ ...counted, ...doubt })
        expect(worse.indexOf(standing)).toBeLessThanOrEqual(worse.indexOf(standingOf(counted)))
      }),
    )
  })

  it('calls books closed only if T0 plus the entered records, and the seen ones, equal T1', () => {
    fc.assert(
      fc.property(counts, (counted) => {
        const { first, last, distinct, entered, fallen: falls } = counted.balance
        if (standingOf(counted) !== 'closed') return
        expect([first + entered, distinct, falls]).toEqual([last, last, 0])
      }),
    )
  })
})

const rank = (claim: Claim): number => worstFirst.indexOf(claim.verdict)

const few = fc.integer({ min: 0, max: 3 })
const some = fc.integer({ min: 1, max: 3 })
const counts: fc.Arbitrary<Counted> = fc.record(
  {
    balance: fc.record({ first: few, last: few, distinct: few, entered: few, fallen: few }),
    isDoubtful: fc.boolean(),
    hasVanished: fc.boolean(),
    isLate: fc.boolean(),
    hasTies: fc.boolean(),
    zone: fc.record({ agrees: fc.boolean(), isRestWhole: fc.boolean(), mayHide: fc.boolean() }),
  },
  { requiredKeys: ['balance', 'isDoubtful', 'hasVanished', 'isLate', 'hasTies'] },
)
const doubtsOfBooks: fc.Arbitrary<Partial<Counted>> = fc.constantFrom(
  { isDoubtful: true },
  { hasVanished: true },
  { isLate: true },
  { hasTies: true },
)
const bases: fc.Arbitrary<Basis> = fc.oneof(
  few.map((missing): Basis => ({ by: 'page', missing })),
  fc.record({
    by: fc.constant('books' as const),
    own: counts,
    joint: counts,
    isOverfull: fc.boolean(),
    isSettled: fc.boolean(),
  }),
  fc.record({
    by: fc.constant('range' as const),
    seen: few,
    expected: few,
    left: few,
    hasFallen: fc.boolean(),
    hasTies: fc.boolean(),
    isUnordered: fc.boolean(),
  }),
  fc.record({
    by: fc.constant('ids' as const),
    total: few,
    shown: few,
    together: few,
    twice: few,
    isSteady: fc.boolean(),
    isSettled: fc.boolean(),
  }),
  fc.boolean().map((mayHide): Basis => ({ by: 'end', mayHide })),
  fc.boolean().map((isEven): Basis => ({ by: 'counts', isEven })),
  fc.constant(nothing('unreachable')),
)
const doubts: fc.Arbitrary<Partial<Evidence>> = fc.record(
  {
    isReadAgain: fc.constant(true),
    isUnordered: fc.constant(true),
    isAhead: fc.constant(true),
    twice: some,
    hidden: some,
    holes: some,
    beforeAll: some,
    unstorable: some,
    keptNewer: some,
    followedBack: some,
    differing: some,
  },
  { requiredKeys: [] },
)
const evidences: fc.Arbitrary<Evidence> = fc
  .tuple(bases, doubts)
  .map(([basis, doubt]): Evidence => ({ ...doubt, basis }))
const remembered: fc.Arbitrary<Remembered> = fc.record(
  {
    surplus: fc.constant({ searches: 1, total: 100, shown: 99 }),
    twice: some,
    isUnordered: fc.constant(true),
    isUncounted: fc.constant(true),
    holes: fc.constant([hole]),
  },
  { requiredKeys: [] },
)
const memories: fc.Arbitrary<Remembered | undefined> = fc.option(remembered, { nil: undefined })
