/** The stories of verdict.txt: the verdict for each basis; and the law that no doubt improves a verdict. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Counted, standingOf } from '../../../src/engine/list/standing.js'
import {
  type Basis,
  type Claim,
  type Evidence,
  movesWatermark,
  type Remembered,
  verdict,
  worstFirst,
} from '../../../src/engine/list/verdict.js'
import { fieldsOf, Steps, storiesAsTests, wordsOf } from '../../support/world/stories.js'

/** 250 records at first, three that arrived, 253 at the end, and as many seen: the books close, unless numbers say otherwise. */
function countOf(fields: Record<string, unknown>): Counted {
  const { isDoubtful = false, vanished = 0, isLate = false, hasTies = false, zone, ...numbers } = fields
  const balance = { first: 250, last: 253, distinct: 253, entered: 3, fallen: 0, ...numbers }
  const counted = { balance, isDoubtful, vanished, isLate, hasTies } as Counted
  const hides = zone === 'hides'
  if (zone === undefined) return counted
  return { ...counted, zone: { agrees: zone !== 'differs', isRestWhole: !hides, mayHide: hides } }
}

/** What is known of a list that gives no reason to doubt, by what the claim rests on. */
const usual: Readonly<Record<Exclude<Basis['by'], 'books' | 'looks'>, Omit<Basis, 'by'>>> = {
  page: { missing: 0 },
  range: { seen: 120, expected: 120, left: 120, hasFallen: false, hasTies: false, isUnordered: false },
  ids: { isSteady: true, total: 120, shown: 120, together: 120, twice: 0, isSettled: false },
  end: { mayHide: false },
  counts: { isEven: true },
  nothing: { reason: null },
}

/** `books distinct=252 jointly closed + isReadAgain holes=1` */
function evidenceOf(text: string): Evidence {
  const [basis = '', found = ''] = text.split(' + ')
  const [by = '', ...words] = wordsOf(basis.replace(' jointly closed', ''))
  const { isOverfull = false, isSettled = false, ...fields } = fieldsOf(words)
  const own = countOf(fields)
  const joint = basis.includes('jointly closed') ? countOf({}) : own
  const books = { by, own, joint, isOverfull, isSettled }
  const other = { by, ...usual[by as 'page'], ...fieldsOf(words) }
  return { ...fieldsOf(wordsOf(found)), basis: (by === 'books' ? books : other) as Basis }
}

const said = (evidence: Evidence, memory: Remembered | undefined): string => {
  const claim = verdict(evidence, memory)
  const moves = claim.verdict === 'unproven' && movesWatermark(claim) ? ', which moves the watermark' : ''
  return `${claim.verdict}${claim.reason === null ? '' : ` ${claim.reason}`}${moves}`
}

const steps = new Steps<null>({
  // What is remembered of the list is JSON.
  '(?:looks (.*)|(.*?))(?: remembering (.*))?': (_, looks, one, memory) => {
    const all = looks?.split(' | ').map(evidenceOf)
    const evidence: Evidence = all ? { basis: { by: 'looks', looks: all } } : evidenceOf(one!)
    return said(evidence, memory === undefined ? undefined : JSON.parse(memory))
  },
})
storiesAsTests('test/engine/list/verdict.txt', steps, () => null)

const even: Basis = { by: 'counts', isEven: true }

describe('the verdict', () => {
  it('lets the watermark pass what is counted but never shown, and nothing else that is unproven', () => {
    const passing = new Set<Claim['reason']>(['counted_not_shown', 'unreadable', 'before_all'])
    fc.assert(
      fc.property(evidences, memories, (evidence, memory) => {
        const claim = verdict(evidence, memory)
        if (claim.verdict === 'unproven') expect(movesWatermark(claim)).toBe(passing.has(claim.reason))
      }),
    )
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
      fc.property(counts, fc.constantFrom(...Object.keys(doubtsOfBooks)), (counted, doubt) => {
        const standing = standingOf({
          ...counted,
          [doubt]: doubt === 'vanished' ? counted.vanished + 1 : true,
        })
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

/** Records like this one: small numbers, and any booleans. */
const like = (values: object): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        if (value === null) return [name, fc.constant(value)]
        return [name, typeof value === 'number' ? fc.integer({ min: 0, max: 3 }) : fc.boolean()]
      }),
    ),
  )
const some = fc.integer({ min: 1, max: 3 })
const doubtsOfBooks = { isDoubtful: true, vanished: 1, isLate: true, hasTies: true }
const zones = fc.option(like({ agrees: true, isRestWhole: true, mayHide: true }), { nil: undefined })
const counts = fc
  .tuple(like({ first: 0, last: 0, distinct: 0, entered: 0, fallen: 0 }), like(doubtsOfBooks), zones)
  .map(([balance, found, zone]) => ({ balance, ...found, zone }) as Counted)
const books = fc
  .tuple(counts, counts, like({ isOverfull: true, isSettled: true }))
  .map(([own, joint, found]) => ({ by: 'books', own, joint, ...found }) as Basis)
const others = Object.entries(usual).map(([by, values]) =>
  like(values).map((found) => ({ by, ...found }) as Basis),
)
const numbers = [
  'twice',
  'hidden',
  'holes',
  'beforeAll',
  'unstorable',
  'keptNewer',
  'followedBack',
  'differing',
]
const flags = ['isReadAgain', 'isUnordered', 'isAhead']
const doubts: fc.Arbitrary<Partial<Evidence>> = fc.record(
  Object.fromEntries([
    ...flags.map((name) => [name, fc.constant(true)] as const),
    ...numbers.map((name) => [name, some] as const),
  ]),
  { requiredKeys: [] },
)
const evidences: fc.Arbitrary<Evidence> = fc
  .tuple(fc.oneof(books, ...others), doubts)
  .map(([basis, doubt]): Evidence => ({ ...doubt, basis }))
const remembered: fc.Arbitrary<Remembered> = fc.record(
  {
    surplus: fc.constant({ searches: 1, total: 100, shown: 99 }),
    twice: some,
    isUnordered: fc.constant(true),
    isUncounted: fc.constant(true),
    holes: fc.constant([{ after: '', until: '', records: 1 }]),
  },
  { requiredKeys: [] },
)
const memories: fc.Arbitrary<Remembered | undefined> = fc.option(remembered, { nil: undefined })
