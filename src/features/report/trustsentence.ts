/*
 * Whether the figures can be trusted, in one sentence: a verdict, and its reasons. Used for the report's first answer
 * and for its comparison of businesses.
 */
import { count, plural } from '../../engine/base/format.js'
import type { TrustAnswer } from './data.js'
import { ageInWords, percentOfAll, unknownMark } from './numberwords.js'

/** `good`: nothing to do. `watch`: worth a look. `bad`: needs attention. */
export type Tone = 'good' | 'watch' | 'bad'

/** What is called a list elsewhere, in owners' words. */
const sets = (lists: number): string => `${plural(lists, 'set')} of records`

/** Whether a list may lack something, or was never read to its end and isn't about to be. */
const doubtful = ({ verdicts, failing, isLoading }: TrustAnswer): number =>
  Math.max(verdicts.unproven + (isLoading ? 0 : verdicts.none), failing)

/** Payments show whether the totals are read as the shops mean them: at least this percentage has to agree. */
const leastAgreeing = 98

/** Worst first: whose data it is, what may be missing, what is wrong, what is old, what nobody has checked. */
function doubtsOf(
  trust: TrustAnswer,
  madeAt: string,
): readonly { readonly is: boolean; readonly words: string; readonly tone: Exclude<Tone, 'good'> }[] {
  const { lists, completeThrough, isStale, revoked, totals, deletesUnchecked, incidents } = trust
  const { foreign, late, refilling } = trust
  const checked = totals.equal + totals.rounding + totals.more
  const agreeing = totals.equal + totals.rounding
  const [first = '', ...others] = revoked
  const more = others.length > 0 ? ` and ${plural(others.length, 'other')}` : ''
  return [
    {
      is: foreign !== null,
      words: `the data is from ${foreign}, but the configuration names a different source, so nothing is updated`,
      tone: 'bad',
    },
    {
      is: doubtful(trust) > 0,
      words: `${count(doubtful(trust))} of ${sets(lists)} may be incomplete`,
      tone: 'bad',
    },
    {
      is: revoked.length > 0,
      words: `${first}${more} no longer ${others.length > 0 ? 'grant' : 'grants'} access, but ${others.length > 0 ? 'their' : 'its'} old figures are still in every sum`,
      tone: 'bad',
    },
    {
      is: checked > 0 && 100 * agreeing < leastAgreeing * checked,
      words: `payments match the total on only ${percentOfAll(agreeing, checked)} of ${plural(checked, 'paid invoice')}`,
      tone: 'bad',
    },
    {
      is: refilling.lists > 0,
      words: `${count(refilling.lists)} of ${sets(lists)} must be read again in full and may be missing rows until shopsync sync has done that`,
      tone: 'watch',
    },
    {
      is: completeThrough === null,
      words: trust.isLoading
        ? 'the first load is under way, and not every set of records has been read yet'
        : 'not every set of records has been read to its end',
      tone: 'watch',
    },
    {
      is: isStale,
      words: `some of the data is ${completeThrough === null ? unknownMark : ageInWords(completeThrough, madeAt)} old`,
      tone: 'watch',
    },
    { is: late !== '', words: late, tone: 'watch' },
    {
      is: deletesUnchecked > 0,
      words: `deletions in ${count(deletesUnchecked)} of ${sets(lists)} have not been checked recently`,
      tone: 'watch',
    },
    {
      is: incidents.open > 0,
      words: `${plural(incidents.open, 'incident')} ${incidents.open === 1 ? 'is' : 'are'} open (${incidents.kinds.map((kind) => kind.replaceAll('_', ' ').replace(/^quarantine\b/, 'values set aside')).join('; ')})`,
      tone: 'watch',
    },
  ]
}

/** `madeAt`: when the report was made. */
export function trustSentence(
  trust: TrustAnswer,
  madeAt: string,
): { readonly sentence: string; readonly tone: Tone } {
  const doubts = doubtsOf(trust, madeAt).filter(({ is }) => is)
  const [worst] = doubts
  if (trust.lists === 0 && worst === undefined)
    return { sentence: 'No: nothing behind the figures has been read.', tone: 'bad' }
  if (worst === undefined) {
    const age = trust.completeThrough === null ? unknownMark : ageInWords(trust.completeThrough, madeAt)
    const absent =
      trust.unavailable > 0 ? `, without ${sets(trust.unavailable)} that the source doesn’t offer` : ''
    return { sentence: `Yes. The data is complete up to ${age} before this report${absent}.`, tone: 'good' }
  }
  const words = doubts.map((doubt) => doubt.words).join('; ')
  return { sentence: `Not entirely: ${words}. For details, run shopsync status.`, tone: worst.tone }
}
